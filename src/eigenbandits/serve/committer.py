"""Group commit: a thread that writes all the batches that wait in one transaction, and then answers their jobs."""

from __future__ import annotations

import logging
import threading
import time

from eigenbandits.serve.batch import Batch, write
from eigenbandits.serve.errors import StorageError, unavailable
from eigenbandits.serve.jobs import refuse
from eigenbandits.serve.journal import Journal
from eigenbandits.serve.logs import tell
from eigenbandits.serve.metrics import Metrics
from eigenbandits.serve.storage import Database

AWAY = "its storage is not there or full"
# Batches that may be ahead of the disk; the writer waits before it makes more.
_DEPTH = 8


class Committer:
    """Writes batches in the order in which they were sent.

    While one transaction is on its way to the disk the next batches are chosen and learned; they share the next one.
    After a failure nothing is written until `begin` is called again, since later batches build on the one that failed.
    """

    def __init__(self, database: Database, metrics: Metrics) -> None:
        self._database = database
        self._metrics = metrics
        self._changed = threading.Condition()
        self._waiting: list[Batch] = []
        self._writing: list[Batch] = []
        self._journal: Journal | None = None
        self._error: Exception | None = None
        self._failed: list[Batch] = []
        self._closing = False
        self._begun: float | None = None
        self._thread = threading.Thread(target=self._run, name="committer", daemon=True)

    # For the writer

    def begin(self, journal: Journal) -> None:
        """Start, or start again, with a connection that nobody else uses while something is in flight."""
        self._journal, self._error = journal, None
        if not self._thread.ident:
            self._thread.start()

    def send(self, batch: Batch) -> None:
        """Have a batch committed; raise what has kept an earlier one from it."""
        with self._changed:
            self._changed.wait_for(lambda: self._error or len(self._waiting) < _DEPTH)
            self._raise()
            self._waiting.append(batch)
            self._changed.notify_all()

    def in_flight(self) -> list[Batch]:
        """Return the batches that may not be committed yet; raise what has kept one from it."""
        with self._changed:
            self._raise()
            return [*self._writing, *self._waiting]

    @property
    def failed(self) -> bool:
        """Whether something could not be written, and nothing will be until it begins again."""
        return self._error is not None

    def busy_for(self) -> float:
        """Return for how many seconds the present transaction has been on its way."""
        begun = self._begun
        return 0.0 if begun is None else time.monotonic() - begun

    def land(self) -> None:
        """Wait until everything that was sent is on disk; raise what kept it from getting there."""
        with self._changed:
            self._changed.wait_for(lambda: self._error or not (self._writing or self._waiting))
            self._raise()

    def abandon(self) -> list[Batch]:
        """Give up what is in flight and return it: whether it has arrived only the log can tell."""
        with self._changed:
            self._error = self._error or StorageError("given up")
            self._changed.wait_for(lambda: not self._writing)
            lost, self._waiting = self._waiting, []
            failed, self._failed = self._failed, []
        refuse((job for batch in lost for job, _ in batch.outcomes), unavailable(AWAY))
        return failed + lost

    def close(self) -> None:
        """End the thread."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        if self._thread.ident:
            self._thread.join()

    def _raise(self) -> None:
        if self._error is not None:
            raise StorageError(str(self._error)) from self._error

    # The thread

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._closing or (self._waiting and self._error is None))
                if self._closing and not (self._waiting and self._error is None):
                    return
                self._writing, self._waiting = self._waiting, []
            self._begun = time.monotonic()
            error = self._write(self._writing)
            self._begun = None
            with self._changed:
                if error is not None:
                    self._error, self._failed = error, self._writing
                self._writing = []
                self._changed.notify_all()

    def _write(self, batches: list[Batch]) -> Exception | None:
        assert self._journal is not None
        begun = time.perf_counter()
        try:
            with self._journal.connection.transaction():
                write(batches, self._journal)
            self._metrics.commit_seconds.observe(time.perf_counter() - begun)
            for batch in batches:
                batch.finish()
        except Exception as error:
            refuse((job for batch in batches for job, _ in batch.outcomes), unavailable(AWAY))
            return error
        self._settle()
        return None

    def _settle(self) -> None:
        """Let the database put itself in order where it asked for a moment in which nothing is written."""
        assert self._journal is not None
        try:
            self._database.settle(self._journal.connection)
        except StorageError as error:
            tell("the database could not be tidied", logging.WARNING, reason=str(error))
