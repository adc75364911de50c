"""Group commit: a thread that writes all waiting batches in one transaction and then resolves their commands."""

import logging
import threading
import time

from eigenbandits.serve.errors import DamagedError, StorageError, damaged, unavailable
from eigenbandits.serve.logs import log_event
from eigenbandits.serve.metrics import Metrics
from eigenbandits.serve.storage import Database
from eigenbandits.serve.storage.journal import Journal
from eigenbandits.serve.writer.batch import Batch
from eigenbandits.serve.writer.commands import reject

NO_STORAGE = "its storage is not available or full"
# Batches that may wait for the disk; at this number, the writer waits before it makes more.
DEPTH = 8


class _TrialOnly(Exception):  # noqa: N818 - never leaves this module
    """Rolls back a transaction that was only a trial."""


class Committer:
    """Commits batches in the order in which they were submitted.

    While one transaction is on its way to disk, the next batches are chosen and learned; they share the next one. After
    a failure, nothing is written until `start` is called again, since later batches build on the failed one.
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
        # Policies whose rows could not be written while those of others could.
        self._damaged: set[int] = set()
        self._closing = False
        self._started: float | None = None
        self._thread = threading.Thread(target=self._run, name="committer", daemon=True)

    # For the writer

    def start(self, journal: Journal) -> None:
        """Start, or restart, with a connection that nothing else uses while batches are in flight."""
        self._journal, self._error = journal, None
        if not self._thread.ident:
            self._thread.start()

    def submit(self, batch: Batch) -> None:
        """Submit a batch for commit; raise if an earlier one failed."""
        with self._changed:
            self._changed.wait_for(lambda: self._error or len(self._waiting) < DEPTH)
            self._raise_if_failed()
            self._waiting.append(batch)
            self._changed.notify_all()

    def in_flight(self) -> list[Batch]:
        """Return the batches that may not be committed yet; raise if one failed."""
        with self._changed:
            self._raise_if_failed()
            return [*self._writing, *self._waiting]

    @property
    def full(self) -> bool:
        """Whether the next `submit` would have to wait, or fail."""
        return self._error is not None or len(self._waiting) >= DEPTH

    @property
    def failed(self) -> bool:
        """Whether a batch failed, so that nothing is written until the next start."""
        return self._error is not None

    @property
    def damaged(self) -> set[int]:
        """The policies whose part of the database is damaged; nothing of theirs is written until `readmit`."""
        return set(self._damaged)

    def readmit(self, policies: set[int]) -> None:
        """Resume writing for these policies, whose memory matches the log again."""
        self._damaged -= policies

    def busy_for(self) -> float:
        """Return how many seconds the current transaction has taken so far."""
        started = self._started
        return 0.0 if started is None else time.monotonic() - started

    def flush(self) -> None:
        """Wait until everything submitted is on disk; raise if it failed."""
        with self._changed:
            self._changed.wait_for(lambda: self._error or not (self._writing or self._waiting))
            self._raise_if_failed()

    def abort(self) -> list[Batch]:
        """Abandon the batches in flight and return them: only the log can tell whether they were written."""
        with self._changed:
            self._error = self._error or StorageError("given up")
            self._changed.wait_for(lambda: not self._writing)
            lost, self._waiting = self._waiting, []
            failed, self._failed = self._failed, []
        reject((command for batch in lost for command, _ in batch.results), unavailable(NO_STORAGE))
        return failed + lost

    def close(self) -> None:
        """Stop the thread."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        if self._thread.ident:
            self._thread.join()

    def _raise_if_failed(self) -> None:
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
            self._started = time.monotonic()
            error = self._commit(self._writing)
            self._started = None
            with self._changed:
                if error is not None:
                    self._error, self._failed = error, self._writing
                self._writing = []
                self._changed.notify_all()

    def _write(self, batches: list[Batch]) -> None:
        assert self._journal is not None
        with self._journal.connection.transaction():
            batches[0].write(batches, self._journal)

    def _drop_damaged(self, batches: list[Batch]) -> None:
        if self._damaged:
            for batch in batches:
                reject(batch.drop(self._damaged), damaged())

    def _culprits(self, batches: list[Batch]) -> set[int]:
        """Return the policies whose rows cannot be written even on their own; nothing is committed."""
        assert self._journal is not None
        culprits = set()
        for id_ in {id_ for batch in batches for id_ in batch.heads}:
            others = {other for batch in batches for other in batch.heads} - {id_}
            alone = [batch.copy() for batch in batches]
            for batch in alone:
                batch.drop(others)
            try:
                with self._journal.connection.transaction():
                    alone[0].write(alone, self._journal)
                    raise _TrialOnly
            except _TrialOnly:
                continue
            except DamagedError:
                culprits.add(id_)
        return culprits

    def _commit(self, batches: list[Batch]) -> Exception | None:
        assert self._journal is not None
        started = time.perf_counter()
        try:
            self._drop_damaged(batches)
            try:
                self._write(batches)
            except DamagedError as error:
                # One or more policies are to blame; write the rows of the others.
                log_event("the database is damaged", logging.ERROR, reason=str(error))
                self._damaged |= self._culprits(batches)
                self._drop_damaged(batches)
                self._write(batches)
            self._metrics.commit_seconds.observe(time.perf_counter() - started)
            for batch in batches:
                batch.acknowledge()
        except Exception as error:
            reject((command for batch in batches for command, _ in batch.results), unavailable(NO_STORAGE))
            return error
        try:
            started = time.perf_counter()
            if self._database.finish_checkpoint(self._journal.connection):
                self._metrics.checkpoint_seconds.observe(time.perf_counter() - started)
        except StorageError as error:
            log_event("checkpoint failed", logging.WARNING, reason=str(error))
        return None
