"""Jobs keep their order, tell how far they are, and use one BLAS thread per process."""

from __future__ import annotations

import math
import os

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
