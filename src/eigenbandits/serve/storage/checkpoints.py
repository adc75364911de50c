"""Checkpoints: SQLite's write-ahead log is moved into the database while others write."""

from __future__ import annotations

import logging
import threading
import time
from abc import abstractmethod
from collections.abc import Callable

from eigenbandits.serve.errors import StorageError
from eigenbandits.serve.logs import log_event
from eigenbandits.serve.storage.base import Connection

# Bytes from which the write-ahead log is made to start over, and the bytes of its file that are kept: the commit that
# starts over truncates a larger one, which takes a hundred milliseconds from 128 MiB on. Four times as many are kept,
# so that the log of ordinary traffic is never truncated. `python -m benchmarks.serve.pieces` prints the times.
LARGE_WAL, KEPT_WAL = 16 * 2**20, 64 * 2**20
# Bytes of blobs after which the log is moved. A commit waits for the disk while the database is synced, the longer the
# more has been moved: decision sets sent with their requests fill a hundred megabytes per second.
PIECE = 4 * 2**20
# A checkpoint is repeated until it takes less than this many seconds, but at most this many times.
_PASSES, _SHORT = 10, 0.005
# Bytes of a page.
_PAGE = 4096


class LogConnection(Connection):
    """A connection to a database with a write-ahead log."""

    @abstractmethod
    def restart_log(self) -> None:
        """Move the rest of the log and make it start over; give up if another connection reads for long."""


class Checkpoints:
    """Moves the log in a thread of its own: when asked to, and after a few megabytes have been written.

    The log starts over only once all of it has been moved, which never happens while a busy writer keeps adding to it.
    So this moves most of a large log, then what was added in the meantime, and so on until a pass takes almost no time.
    `finish`, for which the writer pauses, moves the rest. If several processes use the database, some of them always
    reads the log, so that it would never start over: before it gets too large, all writers wait for a moment.

    Parameters
    ----------
    connect
        Returns a new connection.
    """

    def __init__(self, connect: Callable[[], LogConnection]) -> None:
        self._connect = connect
        self._connection: LogConnection | None = None
        self._wanted = threading.Event()
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()
        self._written = 0
        self._unfinished = self._closing = False

    def note(self, written: int) -> None:
        """Take note of how many bytes a transaction has written; may be called in any thread."""
        self._written += written
        if self._written >= PIECE:
            self.start()

    def start(self) -> None:
        """Start a checkpoint, and do not wait for it; may be called in any thread."""
        self._written = 0
        self._wanted.set()
        with self._lock:
            if self._thread is None and not self._closing:
                self._thread = threading.Thread(target=self._run, name="checkpoints", daemon=True)
                self._thread.start()

    def _run(self) -> None:
        while self._wanted.wait() and not self._closing:
            self._wanted.clear()
            try:
                self.move()
            except StorageError as error:
                log_event("checkpoint failed", logging.WARNING, reason=str(error))

    def move(self) -> None:
        """Move most of the log; in one thread at a time."""
        if self._connection is None:
            self._connection = self._connect()
        large, pages = True, 0
        for _ in range(_PASSES):
            started = time.perf_counter()
            ((_, pages, _),) = self._connection.execute("PRAGMA wal_checkpoint(PASSIVE)")
            large = pages * _PAGE > LARGE_WAL
            if not large or time.perf_counter() - started < _SHORT:
                break
        self._unfinished = large
        if pages * _PAGE > KEPT_WAL // 2:
            self._connection.restart_log()

    def finish(self, connection: Connection) -> bool:
        """Move the rest of a large log while nothing is being written; return whether there was any."""
        if not self._unfinished:
            return False
        self._unfinished = False
        connection.execute("PRAGMA wal_checkpoint(PASSIVE)")
        return True

    def close(self) -> None:
        """End the thread and close its connection."""
        with self._lock:
            self._closing = True
            self._wanted.set()
        if self._thread is not None:
            self._thread.join()
        if self._connection is not None:
            self._connection.close()
            self._connection = None
