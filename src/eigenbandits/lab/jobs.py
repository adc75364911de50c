"""Many independent jobs, one after the other or over several processes, with word of each that ends."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from multiprocessing import get_context, parent_process
from threading import Thread
from typing import TypeVar

from eigenbandits.inputs import whole
from eigenbandits.lab.engines.threads import ONE_THREAD

Job = TypeVar("Job")
Result = TypeVar("Result")
Progress = Callable[[int, int], object]


def spread(
    function: Callable[[Job], Result],
    jobs: Sequence[Job],
    workers: int = 1,
    progress: Progress | None = None,
) -> list[Result]:
    """Return ``[function(job) for job in jobs]``, worked out by `workers` processes.

    Parameters
    ----------
    function
        With more than one worker it must be defined at the top of a module, so that other processes find it.
    jobs
        What it is called with.
    workers
        How many processes; 1 works here and starts none.
    progress
        Called with the number of jobs that are done and the number of all, each time that one ends.

    Examples
    --------
    >>> spread(abs, [-1, 2, -3])
    [1, 2, 3]
    """
    tell = progress if progress is not None else (lambda done, total: None)
    if min(whole(workers, "workers"), len(jobs)) <= 1:
        results = []
        for job in jobs:
            results.append(function(job))
            tell(len(results), len(jobs))
        return results
    # Fresh processes, not forks: BLAS reads how many threads it may use when it is loaded.
    with (
        _one_blas_thread(),
        ProcessPoolExecutor(min(workers, len(jobs)), get_context("spawn"), _prepare) as pool,
    ):
        futures = [pool.submit(function, job) for job in jobs]
        try:
            for done, future in enumerate(as_completed(futures), start=1):
                future.result()  # a job that failed ends all of them now, not when its turn comes
                tell(done, len(jobs))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return [future.result() for future in futures]


def _prepare() -> None:
    """Leave Ctrl-C to the process that started this one, and end with it, even if it is killed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = parent_process()

    def leave() -> None:
        if parent is not None:
            parent.join()
        os._exit(1)

    Thread(target=leave, daemon=True).start()


@contextmanager
def _one_blas_thread() -> Iterator[None]:
    """Let processes started meanwhile use one thread each: the matrices are small, and the processes many."""
    before = {name: os.environ.get(name) for name in ONE_THREAD}
    os.environ.update(ONE_THREAD)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
