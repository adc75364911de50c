"""One process, many and a cluster give the same bytes; a worker that dies costs its own cell."""

from collections import Counter

import pytest

import eigenbandits as eb
from eigenbandits.lab.errors import LabError

# A policy that notes every start, and kills its process in the middle of the run of seed 1 as long as it is armed.
DEADLY = """
import os, signal
from pathlib import Path
import eigenbandits as eb
from threadpoolctl import threadpool_info

class Deadly(eb.OFUL):
    def __init__(self, *, notes, noise=0.5, seed=None):
        super().__init__(noise=noise, seed=seed)
        self.notes = notes

    def choose(self, actions):
        folder = Path(self.notes)
        if self.round == 0:
            with (folder / "starts").open("a") as file:
                file.write(f"{self.seed}\\n")
        if self.seed == 1 and self.round == 30 and list(folder.glob("armed*")):
            (folder / "armed once").unlink(missing_ok=True)
            os.kill(os.getpid(), signal.SIGKILL)
        return super().choose(actions)

    def diagnostics(self):
        return {"threads": max(pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas")}
"""


@pytest.fixture
def deadly(tmp_path):
    """An experiment of eight cells, one of which kills its worker if it is armed."""
    (tmp_path / "deadly_policies.py").write_text(DEADLY)
    (tmp_path / "notes").mkdir()
    path = tmp_path / "deadly.toml"
    path.write_text(
        f"""name = "deadly"\nrounds = 60\nseeds = 4
        [policies.Deadly]\nkind = "deadly_policies:Deadly"\nnotes = "{tmp_path / "notes"}"
        [policies.PSLB]\nnoise = 0.5
        [environments.plain]\nkind = "LowRank"\ndim = 6\nrank = 2\narms = 4"""
    )
    return eb.Experiment.read(path)


def starts(tmp_path):
    return Counter((tmp_path / "notes" / "starts").read_text().split())


@pytest.mark.parametrize("engine", ["processes", "dask"])
def test_every_engine_gives_the_same_bytes_and_a_killed_worker_costs_one_cell(deadly, tmp_path, engine, capfd):
    serial = deadly.run(tmp_path / "serial", progress="none")
    assert (serial.final("threads")[0] == 1.0).all()  # more BLAS threads would change the last bits
    (tmp_path / "notes" / "starts").unlink()
    (tmp_path / "notes" / "armed once").touch()
    deadly.run(tmp_path / engine, engine, workers=2, progress="none")
    assert not (tmp_path / "notes" / "armed once").exists()
    assert starts(tmp_path) == {"0": 1, "1": 2, "2": 1, "3": 1}
    told = capfd.readouterr().err
    assert "orker" in told
    assert "died" in told
    assert "Deadly on plain (seed 1)" in told
    one, other = ((tmp_path / folder / "results.parquet").read_bytes() for folder in ("serial", engine))
    assert one == other


def test_a_cell_that_kills_every_worker_is_given_up_and_the_others_are_kept(deadly, tmp_path):
    (tmp_path / "notes" / "armed for ever").touch()
    with pytest.raises(LabError, match=r"1 of 8 cells failed.*Deadly on plain \(seed 1\) \(its worker died 3 times\)"):
        deadly.run(tmp_path / "out", "processes", workers=2, progress="none")
    assert starts(tmp_path) == {"0": 1, "1": 3, "2": 1, "3": 1}
    assert len(list((tmp_path / "out" / "cells").glob("*.parquet"))) == 7


def test_a_scheduler_that_does_not_answer_is_told(small, tmp_path, monkeypatch):
    monkeypatch.setattr("eigenbandits.lab.experiments.engines.cluster._CONNECT_SECONDS", 0.2)
    with pytest.raises(LabError, match=r"no Dask scheduler answers at 'tcp://127.0.0.1:9'"):
        small().run(tmp_path, "dask", scheduler="tcp://127.0.0.1:9", progress="none")


def test_classes_of_the_script_itself_are_for_this_process_only(small, tmp_path, monkeypatch):
    monkeypatch.setattr(_Here, "__module__", "__main__")
    monkeypatch.setattr("__main__._Here", _Here, raising=False)
    with pytest.raises(LabError, match=r"_Here is defined in the script itself.*or use the engine 'serial'"):
        small(policies={"here": _Here()}).run(tmp_path, "processes")
    small(policies={"here": _Here()}).run(tmp_path, "serial", progress="none")


class _Here(eb.Greedy):
    pass
