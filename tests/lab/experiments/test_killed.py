"""Killed with -9 at random moments and started again, an experiment ends with the very table of one left alone."""

import os
import random
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

import eigenbandits as eb

MANY = """
name = "many"
rounds = 400
seeds = 4
record = {points = 10}
[policies]
PSLB = {noise = 0.5}
OFUL = {noise = 0.5}
[environments]
plain = {kind = "LowRank", dim = 20, rank = 2, arms = 5}
mean = {kind = "LowRank", dim = 20, rank = 2, arms = 5, mean = 1.0}
"""


def start(path, out, engine="serial"):
    run = f"run({str(out)!r}, {engine!r}, workers=2, progress='none')"
    script = f"import eigenbandits as eb; eb.Experiment.read({str(path)!r}).{run}"
    return subprocess.Popen([sys.executable, "-c", script], start_new_session=True)


def count(out):
    return len(list((out / "cells").glob("*.parquet")))


def wait_for_another_cell(process, out, patience=60.0):
    had, end = count(out), time.monotonic() + patience
    while count(out) == had and process.poll() is None and time.monotonic() < end:
        time.sleep(0.002)


def children(pid):
    """The processes that have this one as parent."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            if int(stat.read_text().rpartition(")")[2].split()[1]) == pid:
                found.append(int(stat.parent.name))
    return found


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc to see who is left")
def test_workers_leave_with_the_process_that_started_them(tmp_path):
    """With 10,000,000 rounds to go they would stay for minutes."""
    path = tmp_path / "many.toml"
    path.write_text(MANY.replace("rounds = 400", "rounds = 10_000_000"))
    process = start(path, tmp_path / "out", "processes")
    end = time.monotonic() + 60.0
    while not (tmp_path / "out" / ".rounds").exists() or not any((tmp_path / "out" / ".rounds").read_bytes()):
        assert time.monotonic() < end
        time.sleep(0.05)
    left = children(process.pid)
    assert len(left) >= 2
    process.kill()
    process.wait(timeout=60)
    while any(Path(f"/proc/{pid}").exists() for pid in left):
        assert time.monotonic() < end
        time.sleep(0.05)


def test_killed_twice_the_table_is_the_same_bit_for_bit(tmp_path):
    path = tmp_path / "many.toml"
    path.write_text(MANY)
    eb.Experiment.read(path).run(tmp_path / "alone", progress="none")
    out, kills = tmp_path / "killed", 0
    moments = random.Random(0)
    for _ in range(2):
        process = start(path, out)
        wait_for_another_cell(process, out)
        time.sleep(moments.uniform(0.0, 0.1))
        if process.poll() is None:
            os.kill(process.pid, signal.SIGKILL)
            kills += 1
        process.wait(timeout=60)
    assert kills >= 1
    assert 1 <= count(out) < 16
    assert start(path, out).wait(timeout=120) == 0
    assert (out / "results.parquet").read_bytes() == (tmp_path / "alone" / "results.parquet").read_bytes()


def test_ctrl_c_on_a_cluster_is_one_sentence(tmp_path):
    pytest.importorskip("distributed")
    pytest.importorskip("typer")
    (tmp_path / "many.toml").write_text(MANY.replace("400", "40000"), encoding="utf-8")
    out = tmp_path / "out"
    code = "from eigenbandits.cli import main; main()"
    command = ["run", str(tmp_path / "many.toml"), "--out", str(out), "--engine", "dask", "--workers", "1"]
    process = subprocess.Popen(
        [sys.executable, "-c", code, *command], stderr=subprocess.PIPE, start_new_session=True, text=True
    )
    wait_for_another_cell(process, out)
    # As a terminal does: every process of the group receives it.
    os.killpg(process.pid, signal.SIGINT)
    said = process.communicate(timeout=60)[1]
    assert process.returncode == 130
    *progress, last = said.splitlines()
    assert last.startswith("Stopped. Finished cells are kept")
    assert all(" of 16 cells" in line for line in progress), said
