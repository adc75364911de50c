"""Cells in several processes, each its own joblib (loky) worker: one that dies loses its own cell and no other."""

import os
import signal
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import BrokenExecutor
from contextlib import suppress
from pathlib import Path
from queue import Queue
from threading import Event, Thread
from time import sleep
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eigenbandits.lab.experiments.cells import PlannedCell
from eigenbandits.lab.experiments.engines.base import (
    ATTEMPTS,
    ONE_THREAD,
    Engine,
    Listener,
    Outcome,
    attempt,
    collect,
    one_thread,
    put_off,
)

_WATCH_SECONDS = 0.5
_KILL = getattr(signal, "SIGKILL", signal.SIGTERM)


class Processes(Engine):
    """Run cells in several processes of this machine, by default one per processor.

    A pool of several workers breaks when one of them is killed, and loses the cells of all. So each worker is a pool of
    one, fed by a thread that restarts it when it dies. `scratch` is the folder of a small file with each worker's
    progress.
    """

    def __init__(self, scratch: Path, workers: int | None = None) -> None:
        self.scratch = scratch
        self.workers = workers or os.cpu_count() or 1

    def run(self, cells: Sequence[PlannedCell], listener: Listener) -> Iterator[Outcome]:
        """Run the cells in as many lanes as there are workers."""
        waiting, outcomes, stop = deque(cells), Queue[Outcome](), Event()
        path = self.scratch / ".rounds"
        beats = _open_beats(path, min(self.workers, len(cells)))
        lanes = [_Lane(waiting, outcomes, stop, listener, beats, place) for place in range(len(beats))]
        with put_off():
            for lane in lanes:
                lane.start()
        try:
            yield from collect(outcomes, len(cells), lambda: int(beats.sum()), listener)
        finally:
            stop.set()
            for lane in lanes:
                lane.end()
            path.unlink(missing_ok=True)


class _Lane(Thread):
    """A thread that feeds one worker."""

    def __init__(
        self,
        waiting: deque[PlannedCell],
        outcomes: Queue[Outcome],
        stop: Event,
        listener: Listener,
        beats: Any,
        place: int,
    ) -> None:
        super().__init__(daemon=True)
        self.waiting, self.outcomes, self.stop, self.listener = waiting, outcomes, stop, listener
        self.beats, self.place = beats, place
        self.worker: Any = None
        self.process = 0

    def run(self) -> None:
        while not self.stop.is_set():
            try:
                cell = self.waiting.popleft()
            except IndexError:
                return
            outcome = self._outcome(cell)
            self.beats[self.place] = 0
            self.outcomes.put(outcome)

    def end(self) -> None:
        """Stop the worker at once, in the middle of its cell; the pool treats this like any other death."""
        while self.is_alive():
            if self.process:
                with suppress(ProcessLookupError):
                    os.kill(self.process, _KILL)
            self.join(timeout=0.1)
        if self.worker is not None:
            self.worker.shutdown(wait=True)

    def _outcome(self, cell: PlannedCell) -> Outcome:
        for tries_left in reversed(range(ATTEMPTS)):
            try:
                if self.worker is None:
                    self.worker = _start_worker()
                    self.process = self.worker.submit(os.getpid).result()
                task = self.worker.submit(_work, cell.as_text(), getattr(self.beats, "filename", None), self.place)
                return Outcome(cell, *task.result())
            except Exception as error:  # how a pool reports that its worker is gone depends on its version
                if self.stop.is_set():
                    break
                if not isinstance(error, BrokenExecutor):
                    return Outcome(cell, None, f"{type(error).__name__}: {error}")
                self.worker, self.process = None, 0
                again = "it is run again" if tries_left else "it is given up"
                self.listener.note(f"The worker of {cell.name} died; only this cell is lost, and {again}.")
        return Outcome(cell, None, f"its worker died {ATTEMPTS} times.")


def _start_worker() -> Any:
    from joblib.externals.loky import ProcessPoolExecutor

    return ProcessPoolExecutor(
        max_workers=1, timeout=None, initializer=_prepare, initargs=(os.getpid(),), env=ONE_THREAD
    )


def _prepare(parent: int) -> None:
    Thread(target=_leave_with, args=(parent,), daemon=True).start()
    one_thread()


def _leave_with(parent: int) -> None:
    """End this worker when the process that started it is gone, even by kill -9: its results have no use."""
    while os.getppid() == parent:
        sleep(_WATCH_SECONDS)
    os._exit(1)


def _open_beats(path: Path, workers: int) -> NDArray[np.int64]:
    """Return the progress of each worker, in a file shared with them; if the disk is full, it is not shared."""
    try:
        return np.memmap(path, dtype=np.int64, mode="w+", shape=(workers,))
    except OSError:
        return np.zeros(workers, dtype=np.int64)


def _work(text: str, beats: Path | None, place: int) -> tuple[bytes | None, str, str]:
    rounds_done = np.zeros(place + 1) if beats is None else np.memmap(beats, dtype=np.int64, mode="r+")

    def heartbeat(rounds: int) -> None:
        rounds_done[place] = rounds

    return attempt(text, heartbeat)
