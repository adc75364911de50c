"""Files that are cut short, disks that fill up, folders in use: one sentence each, and nothing is lost."""

import errno
import os
import shutil
from pathlib import Path

import numpy as np
import pytest

import eigenbandits as eb
from eigenbandits.lab import Results, write_report
from eigenbandits.lab.errors import LabError
from eigenbandits.lab.experiments import parquet
from eigenbandits.lab.experiments.store import Store


@pytest.fixture
def done(small, tmp_path):
    """A folder with finished results, and the bytes of its table."""
    small().run(tmp_path, progress="none")
    return tmp_path, (tmp_path / "results.parquet").read_bytes()


def cell_files(folder):
    return sorted((folder / "cells").glob("*.parquet"))


@pytest.mark.parametrize("left", [0, 5, 100, -1])
def test_a_cell_that_is_cut_short_is_told_kept_aside_and_run_again(small, done, capfd, left):
    folder, table = done
    victim = cell_files(folder)[3]
    whole = victim.read_bytes()
    victim.write_bytes(whole[:left])
    small().run(folder, progress="none")
    told = capfd.readouterr().err.strip()
    assert told == f"{victim} is truncated or damaged; it is kept as {victim.stem}.damaged, and its cell is run again."
    assert (folder / "cells" / f"{victim.stem}.damaged").read_bytes() == whole[:left]
    assert (folder / "results.parquet").read_bytes() == table
    assert len(cell_files(folder)) == 12


def test_a_cell_with_a_flipped_byte_is_run_again(small, done, capfd):
    folder, table = done
    victim = cell_files(folder)[0]
    content = bytearray(victim.read_bytes())
    content[60] ^= 0xFF  # within the first page of numbers, after the magic and the page's header
    victim.write_bytes(content)
    small().run(folder, progress="none")
    assert "its cell is run again" in capfd.readouterr().err
    assert (folder / "results.parquet").read_bytes() == table


@pytest.mark.parametrize("name", ["results.parquet", "timing.parquet", "experiment.json"])
def test_tables_that_are_cut_short_are_refused_and_built_again_from_the_cells(small, done, name):
    folder, table = done
    path = folder / name
    path.write_bytes(path.read_bytes()[:50])
    with pytest.raises(LabError, match=f"{name} is .*damaged.*`eigenbandits run` (rebuilds|writes) it"):
        Results.open(folder)
    small().run(folder, progress="none")
    assert (folder / "results.parquet").read_bytes() == table
    assert Results.open(folder).policies == ["PSLB", "OFUL"]


def test_a_folder_without_results_is_told(tmp_path):
    with pytest.raises(
        LabError, match=r"holds no results.parquet; expected the folder of an experiment that has been run"
    ):
        Results.open(tmp_path)


def test_a_full_disk_stops_the_run_and_loses_nothing(small, done, tmp_path, monkeypatch):
    _, table = done
    other = tmp_path / "other"
    sync = os.fsync
    written: list[int] = []

    def full_after_five(handle):
        if len(written) == 5:
            raise OSError(errno.ENOSPC, "No space left on device")
        written.append(handle)
        sync(handle)

    with monkeypatch.context() as disk:
        disk.setattr(os, "fsync", full_after_five)
        with pytest.raises(LabError) as stopped:
            small().run(other, progress="none")
    assert str(stopped.value) == (
        f"the disk of {other} is full; all finished cells are kept: free some space and run it again."
    )
    assert len(cell_files(other)) == 5
    assert all(parquet.read(path) for path in cell_files(other))
    assert not list((other / "cells").glob(".*"))
    small().run(other, progress="none")
    assert (other / "results.parquet").read_bytes() == table


def test_a_folder_that_cannot_be_made_is_told(small, tmp_path):
    (tmp_path / "file").write_text("here is a file")
    with pytest.raises(LabError, match=r"cannot be written to .*; choose another folder with --out"):
        small().run(tmp_path / "file" / "folder", progress="none")


def test_a_folder_in_use_is_told(small, tmp_path):
    with Store(tmp_path).locked(), pytest.raises(LabError, match="another run is using"):
        small().run(tmp_path, progress="none")
    small().run(tmp_path, progress="none")


def test_what_a_killed_run_had_begun_to_write_is_swept_away(small, done):
    folder, _ = done
    (folder / "cells" / ".abc.parquet.123").write_bytes(b"half")
    cell_files(folder)[0].unlink()
    small().run(folder, progress="none")
    assert not list((folder / "cells").glob(".*"))


def test_a_table_that_others_made_is_refused(tmp_path):
    import pyarrow
    import pyarrow.parquet

    pyarrow.parquet.write_table(pyarrow.table({"a": [1]}), tmp_path / "results.parquet")
    with pytest.raises(LabError, match="not written by this lab"):
        Results.open(tmp_path)


def test_a_store_written_before_the_lab_had_folders_still_loads_and_resumes(tmp_path, monkeypatch):
    """Cells keep their hashes although two of the classes have moved; nothing is run again."""
    monkeypatch.setattr(eb, "__version__", "0.1.0")  # a part of the hash
    folder = tmp_path / "before"
    shutil.copytree(Path(__file__).parent / "stores" / "before", folder)
    results = Results.open(folder)
    assert (results.policies, results.environments, results.seeds) == (["Random", "OFUL R²d"], ["half", "tenth"], [0])
    before = results.final("regret")
    again = eb.Experiment.read(folder / "experiment.json")
    planned = {plan.hash for plan in again.plan(Store(folder))}
    assert planned == {path.stem for path in (folder / "cells").glob("*.parquet")}
    cells = {path: path.read_bytes() for path in (folder / "cells").iterdir()}
    np.testing.assert_array_equal(again.run(folder, progress="none").final("regret"), before)
    assert {path: path.read_bytes() for path in (folder / "cells").iterdir()} == cells
    assert "OFUL R²d" in write_report(results).read_text()
