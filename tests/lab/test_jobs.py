"""Jobs keep their order, tell how far they are, and use one BLAS thread per process."""

from __future__ import annotations

import math
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from eigenbandits.lab.jobs import spread


@pytest.mark.parametrize("workers", [1, 2])
def test_results_come_in_the_order_of_the_jobs_and_each_end_is_told(workers):
    told = []
    found = spread(math.sqrt, [9.0, 4.0, 16.0], workers, lambda done, total: told.append((done, total)))
    assert found == [3.0, 2.0, 4.0]
    assert told == [(1, 3), (2, 3), (3, 3)]


def test_other_processes_get_one_blas_thread_and_this_one_keeps_its_own(monkeypatch):
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "7")
    monkeypatch.delenv("MKL_NUM_THREADS", raising=False)
    names = ["OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"]
    assert spread(os.getenv, names, workers=2) == ["1", "1", "1"]
    assert os.environ["OPENBLAS_NUM_THREADS"] == "7"
    assert "MKL_NUM_THREADS" not in os.environ


@pytest.mark.parametrize("workers", [1, 2])
def test_a_job_that_fails_is_heard_of(workers):
    with pytest.raises(ValueError, match=r"math domain error|nonnegative"):
        spread(math.sqrt, [4.0, -1.0], workers)


def test_no_workers_are_refused():
    with pytest.raises(ValueError, match="workers is 0; expected a whole number of at least 1"):
        spread(math.sqrt, [4.0], workers=0)


def state_of(pid):
    """R, S, Z and so on, or nothing where there is no such process."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return ""


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc to see who is left")
def test_workers_leave_with_a_process_that_is_killed(tmp_path):
    (tmp_path / "sleeper.py").write_text(
        "import os, sys, time\n"
        "from eigenbandits.lab.jobs import spread\n"
        "def sleep(folder):\n"
        "    open(os.path.join(folder, f'{os.getpid()}.pid'), 'w').close()\n"
        "    time.sleep(600)\n"
        "if __name__ == '__main__':\n"
        "    spread(sleep, [sys.argv[1]] * 2, workers=2)\n"
    )
    parent = subprocess.Popen([sys.executable, tmp_path / "sleeper.py", tmp_path])
    try:
        wait_until(lambda: len(list(tmp_path.glob("*.pid"))) == 2)
    finally:
        parent.kill()
        parent.wait()
    # Whoever takes orphans in may leave a dead one listed as a zombie.
    wait_until(lambda: all(state_of(found.stem) in ("", "Z") for found in tmp_path.glob("*.pid")))


def wait_until(true, seconds=60.0):
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        time.sleep(0.05)
