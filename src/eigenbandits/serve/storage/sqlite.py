"""SQLite in one folder: the default that needs nothing."""

from __future__ import annotations

import fcntl
import os
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any

from eigenbandits.files import write_whole
from eigenbandits.serve.errors import StorageError
from eigenbandits.serve.storage.base import Connection, Database, InUseError, Row, prepare

WORDS = {"INT": "INTEGER", "REAL8": "REAL", "BYTES": "BLOB"}
# From this size on the write-ahead log is made to start over.
LARGE_WAL = 8 * 2**20


class SqliteConnection(Connection):
    """One connection to the file."""

    def __init__(self, path: Path) -> None:
        try:
            # The service itself sees to it that one thread at a time uses a connection.
            self._raw = sqlite3.connect(path, isolation_level=None, timeout=10.0, check_same_thread=False)
            self._raw.execute("PRAGMA journal_mode = WAL")
            # FULL: a commit has reached the disk, not only the operating system, before it returns.
            self._raw.execute("PRAGMA synchronous = FULL")
            self._raw.execute("PRAGMA wal_autocheckpoint = 0")
        except sqlite3.Error as error:
            raise StorageError(str(error)) from error

    def execute(self, sql: str, values: Sequence[Any] = ()) -> list[Row]:
        """Run one statement."""
        try:
            # Taking the write lock at once keeps a transaction from failing halfway on another process's write.
            return self._raw.execute("BEGIN IMMEDIATE" if sql == "BEGIN" else sql, values).fetchall()
        except sqlite3.Error as error:
            raise StorageError(str(error)) from error

    def many(self, sql: str, rows: Sequence[Sequence[Any]]) -> None:
        """Run one statement for many rows."""
        try:
            self._raw.executemany(sql, rows)
        except sqlite3.Error as error:
            raise StorageError(str(error)) from error

    def rollback(self) -> None:
        """End the open transaction."""
        try:
            if self._raw.in_transaction:
                self._raw.execute("ROLLBACK")
        except sqlite3.Error:
            self.close()

    def close(self) -> None:
        """Close."""
        self._raw.close()


class SqliteDatabase(Database):
    """A folder with the database, the lock and the snapshots.

    Parameters
    ----------
    folder
        Made where it is missing.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._prepared = False
        self._lock: IO[bytes] | None = None
        self._tidying: Connection | None = None
        self._unsettled = False

    @property
    def path(self) -> Path:
        """The file of the database."""
        return self.folder / "eigenbandits.sqlite"

    def connect(self) -> Connection:
        """Open the file, and create it where it is missing."""
        try:
            # For nobody else on this machine: it holds the log and the hashes of the keys.
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            (self.folder / "snapshots").mkdir(exist_ok=True)
        except OSError as error:
            raise StorageError(f"the folder cannot be made ({error.strerror})") from error
        connection = SqliteConnection(self.path)
        if not self._prepared:
            prepare(connection, WORDS)
            self._prepared = True
        return connection

    def claim(self, connection: Connection) -> None:
        """Lock a file, which the operating system unlocks when this process ends, however it ends."""
        if self._lock is not None:
            return
        lock = (self.folder / "lock").open("ab")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            lock.close()
            raise InUseError(f"another server writes to {self.folder}; stop it first.") from None
        self._lock = lock
        for left in (self.folder / "snapshots").glob(".*.eb.*"):
            left.unlink(missing_ok=True)  # of a server that was killed while it wrote

    def release(self) -> None:
        """Unlock."""
        if self._tidying is not None:
            self._tidying.close()
            self._tidying = None
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def _snapshot_files(self, policy: int) -> list[tuple[int, Path]]:
        found = [(int(file.stem.split("-")[1]), file) for file in (self.folder / "snapshots").glob(f"{policy}-*.eb")]
        return sorted(found, reverse=True)

    def put_snapshot(self, policy: int, position: int, content: bytes) -> None:
        """Write a file; keep the last two."""
        try:
            folder = self.folder / "snapshots"
            write_whole(folder / f"{policy}-{position}.eb", content)
            # Its name must be on disk before an older one goes.
            handle = os.open(folder, os.O_RDONLY)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)
            for _, file in self._snapshot_files(policy)[2:]:
                file.unlink(missing_ok=True)
        except OSError as error:
            raise StorageError(str(error.strerror)) from error

    def snapshots(self, connection: Connection, policy: int) -> Iterator[tuple[int, bytes]]:
        """Read the files."""
        for position, file in self._snapshot_files(policy):
            try:
                yield position, file.read_bytes()
            except OSError as error:
                raise StorageError(str(error.strerror)) from error

    def drop_snapshots(self, connection: Connection, policy: int, after: int = -1) -> None:
        """Remove the files."""
        for position, file in self._snapshot_files(policy):
            if position > after:
                file.unlink(missing_ok=True)

    def tidy(self) -> None:
        """Move what the write-ahead log holds into the database, beside the writer.

        The log starts over only once all of it has been moved, which under load never happens beside a writer that
        goes on writing. So this moves most of it, and `settle` the little that has come in meanwhile.
        """
        if self._tidying is None:
            self._tidying = SqliteConnection(self.path)
        wal = self.path.with_name(self.path.name + "-wal")
        size = os.stat(wal).st_size if wal.exists() else 0  # noqa: PTH116 - follows no link either way
        self._tidying.execute("PRAGMA wal_checkpoint(PASSIVE)")
        self._unsettled = size > LARGE_WAL

    def settle(self, connection: Connection) -> None:
        """Move the rest, while nothing is being written."""
        if self._unsettled:
            self._unsettled = False
            connection.execute("PRAGMA wal_checkpoint(PASSIVE)")
