"""What an engine does: take jobs, give outcomes as they come, and survive the death of a worker."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, Queue
from traceback import format_exception
from typing import Protocol

from eigenbandits.extras import need
from eigenbandits.inputs import whole
from eigenbandits.lab.cells import Beat, play
from eigenbandits.lab.words import LabError, unknown

ENGINES = ("serial", "processes", "dask")
# A cell whose workers died this often is given up: it would kill every worker that it meets.
ATTEMPTS = 3
# How often the listener hears how many rounds are under way, in seconds.
BEAT = 0.3


@dataclass(frozen=True)
class Job:
    """A cell that is to be run.

    Attributes
    ----------
    hash, text : str
        What the cell is known by, and what it is run from.
    name : str
        What people call it.
    rounds : int
        How long it is.
    """

    hash: str
    text: str
    name: str
    rounds: int


@dataclass(frozen=True)
class Outcome:
    """What became of a job: the content of its file, or a sentence on why there is none, and where that happened."""

    job: Job
    content: bytes | None
    error: str = ""
    trace: str = ""


class Listener(Protocol):
    """Who is told what happens meanwhile."""

    def note(self, text: str) -> None:
        """Hear a sentence that a person should read."""

    def beat(self, rounds: int) -> None:
        """Hear how many rounds of unfinished cells are over."""


class Engine(ABC):
    """Base of the engines."""

    @abstractmethod
    def run(self, jobs: Sequence[Job], listener: Listener) -> Iterator[Outcome]:
        """Run the jobs and give the outcome of each as soon as it is known; closing the iterator stops them."""


def attempt(text: str, beat: Beat) -> tuple[bytes | None, str, str]:
    """Run a cell; what goes wrong inside it is told in words, so that it can travel between processes."""
    try:
        return play(text, beat), "", ""
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
    """Give `count` outcomes from a queue, and tell the listener how far the others are while waiting.

    `feed` is called before each wait, to start what there is room for.
    """
    while count:
        feed()
        try:
            yield outcomes.get(timeout=BEAT)
            count -= 1
        except Empty:
            listener.beat(rounds_under_way())


def make_engine(name: str, scratch: Path, workers: int | None = None, scheduler: str | None = None) -> Engine:
    """Return an engine by its name.

    Parameters
    ----------
    name : {"serial", "processes", "dask"}
        This process; many processes (joblib); a cluster (Dask).
    scratch : Path
        A folder for a small file while cells run.
    workers : int, optional
        How many processes; one per processor unless told. A cluster that is already running has its own.
    scheduler : str, optional
        The address of a Dask scheduler; None starts a cluster on this machine.
    """
    if name not in ENGINES:
        raise unknown("engine", name, ENGINES)
    if scheduler is not None and name != "dask":
        raise LabError(f"a scheduler is given, but the engine is {name!r}; expected the engine 'dask'.")
    need("lab", "threadpoolctl", "pyarrow", what="Running an experiment")
    count = None if workers is None else whole(workers, "workers")
    if name == "processes":
        need("lab", "joblib", what="The engine 'processes'")
        from eigenbandits.lab.engines.processes import Processes

        return Processes(scratch, count)
    if name == "dask":
        need("lab", "distributed", what="The engine 'dask'")
        from eigenbandits.lab.engines.cluster import Cluster

        return Cluster(count, scheduler)
    from eigenbandits.lab.engines.serial import Serial

    return Serial()
