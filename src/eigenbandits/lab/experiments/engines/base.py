"""Engines take cells, yield outcomes as they arrive, and survive the death of a worker."""

import signal
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import resource_tracker
from queue import Empty, Queue
from traceback import format_exception
from typing import Any, Protocol

from eigenbandits.lab.errors import LabError
from eigenbandits.lab.experiments.cells import Heartbeat, PlannedCell, run_cell

# A cell whose workers died this often is given up: it would kill every worker.
ATTEMPTS = 3
# Seconds between updates of the number of rounds under way.
HEARTBEAT_SECONDS = 0.3
# Read by the BLAS libraries when they are loaded.
ONE_THREAD = dict.fromkeys(
    ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS", "VECLIB_MAXIMUM_THREADS", "BLIS_NUM_THREADS"), "1"
)


@dataclass(frozen=True)
class Outcome:
    """The outcome of a cell: the content of its file, or one sentence about the error and its traceback."""

    cell: PlannedCell
    content: bytes | None
    error: str = ""
    trace: str = ""


class Listener(Protocol):
    """Receives news while cells run."""

    def note(self, text: str) -> None:
        """Receive a sentence for the user."""

    def heartbeat(self, rounds: int) -> None:
        """Receive how many rounds of unfinished cells are done."""


class Engine(ABC):
    """Base of the engines."""

    @abstractmethod
    def run(self, cells: Sequence[PlannedCell], listener: Listener) -> Iterator[Outcome]:
        """Run the cells and yield the outcome of each as soon as it is known; closing the iterator stops them."""


def attempt(text: str, heartbeat: Heartbeat) -> tuple[bytes | None, str, str]:
    """Run a cell; an error is returned as text, so that it can travel between processes."""
    try:
        return run_cell(text, heartbeat), "", ""
    except Exception as error:
        sentence = str(error).strip() or "no message"
        if isinstance(error, LabError):
            return None, sentence, ""
        return None, f"{type(error).__name__}: {sentence}", "".join(format_exception(error))


def collect(
    outcomes: Queue[Outcome],
    count: int,
    rounds_under_way: Callable[[], int],
    listener: Listener,
    feed: Callable[[], object] = lambda: None,
) -> Iterator[Outcome]:
    """Yield `count` outcomes from a queue, and report the progress of the others to the listener while waiting.

    `feed` is called before each wait, to start as many cells as there is room for.
    """
    while count:
        feed()
        try:
            yield outcomes.get(timeout=HEARTBEAT_SECONDS)
            count -= 1
        except Empty:
            listener.heartbeat(rounds_under_way())


def one_thread() -> Any:
    """Limit BLAS in this process to one thread, until the end or as a context."""
    import numpy.linalg  # the libraries must be loaded to be limited
    import scipy.linalg
    from threadpoolctl import threadpool_limits

    assert numpy.linalg and scipy.linalg
    return threadpool_limits(1)


@contextmanager
def put_off() -> Iterator[None]:
    """Put Ctrl-C off until the end of the block; threads that start in it, and their processes, never see it.

    A thread that blocks a signal hands this on to the threads and processes that it starts.
    """
    if sys.platform == "win32":
        yield
        return
    # Whoever spawns the first process also starts the tracker of its resources, which unblocks the signal.
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
