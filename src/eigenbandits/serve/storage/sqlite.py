"""SQLite in one folder: the default, which needs no other software."""

from __future__ import annotations

import fcntl
import logging
import os
import re
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any

from eigenbandits.files import write_whole
from eigenbandits.serve.errors import DamagedError, InUseError, StorageError
from eigenbandits.serve.logs import log_event
from eigenbandits.serve.storage import checkpoints
from eigenbandits.serve.storage.base import Connection, Database, prepare
from eigenbandits.serve.storage.checkpoints import Checkpoints, LogConnection
from eigenbandits.serve.storage.table import Row
from eigenbandits.serve.storage.turn import Turn

SQL_TYPES = {int: "INTEGER", float: "REAL", str: "TEXT", bytes: "BLOB"}
# A database of an earlier version up to this many bytes is rewritten once, so that it can shrink from then on.
_REWRITTEN = 256 * 2**20
# Pages returned to the operating system at a time.
_PAGES = 256
# Seconds a transaction waits for its turn, and milliseconds that a log which starts over waits for those who read it.
_PATIENCE, _READERS = 10.0, 50
# Beliefs kept per policy: a decider may be about to read the one before the latest.
_BELIEFS = 4
# The name of a snapshot, with its position, or of a belief, with its version.
_FILE = re.compile(r"\d+-(?P<number>\d+)\.eb")


class SqliteConnection(LogConnection):
    """One connection to the file.

    Parameters
    ----------
    path
        The file.
    note
        Told how many bytes of blobs each transaction has written.
    """

    def __init__(self, path: Path, note: Callable[[int], None] | None = None) -> None:
        self._note, self._written = note, 0
        try:
            # The service itself makes sure that only one thread at a time uses a connection.
            self._raw = sqlite3.connect(path, isolation_level=None, timeout=_PATIENCE, check_same_thread=False)
            # Must be set before the first table exists: lets free pages be returned to the operating system.
            self._raw.execute("PRAGMA auto_vacuum = INCREMENTAL")
            self._raw.execute("PRAGMA journal_mode = WAL")
            # FULL: when a commit returns, it has reached the disk, not just the operating system.
            self._raw.execute("PRAGMA synchronous = FULL")
            self._raw.execute("PRAGMA wal_autocheckpoint = 0")
            self._raw.execute(f"PRAGMA journal_size_limit = {checkpoints.KEPT_WAL}")
            self._turn = Turn(path.with_name("turn"), _PATIENCE)
        except sqlite3.Error as error:
            raise _failure(error) from error

    def execute(self, sql: str, values: Sequence[Any] = ()) -> list[Row]:
        """Run one statement."""
        if sql == "BEGIN":
            # Taking the write lock up front keeps a transaction from failing halfway because another process wrote.
            sql = "BEGIN IMMEDIATE"
            self._turn.take()
        try:
            return self._raw.execute(sql, values).fetchall()
        except sqlite3.Error as error:
            raise _failure(error) from error
        finally:
            if self._turn.taken and not self._raw.in_transaction:
                self._turn.end()
                if self._note is not None and self._written:
                    self._note(self._written)
                    self._written = 0

    def many(self, sql: str, rows: Sequence[Sequence[Any]]) -> None:
        """Run one statement for each row."""
        try:
            self._raw.executemany(sql, rows)
        except sqlite3.Error as error:
            raise _failure(error) from error
        self._written += sum(len(value) for row in rows for value in row if type(value) is bytes)

    def vacuum(self, pages: int) -> None:
        """Return free pages to the operating system; call it outside of a transaction."""
        try:
            # As a script: sqlite3 steps a statement without columns only once, which frees one page.
            self._raw.executescript(f"PRAGMA incremental_vacuum({pages})")
        except sqlite3.Error as error:
            raise _failure(error) from error

    def restart_log(self) -> None:
        """Move the rest of the log and make it start over; give up if another connection reads for long."""
        self.execute(f"PRAGMA busy_timeout = {_READERS}")
        # Without its turn, SQLite would look for a moment in which nobody writes, for seconds under load.
        self._turn.take()
        self.execute("PRAGMA wal_checkpoint(RESTART)")

    def columns(self, table: str) -> set[str]:
        """Return the names of the columns."""
        return {row[1] for row in self.execute(f"PRAGMA table_info({table})")}

    def rollback(self) -> None:
        """Roll back the open transaction, if there is one."""
        try:
            if self._raw.in_transaction:
                self._raw.execute("ROLLBACK")
            self._turn.end()
        except sqlite3.Error:
            self.close()

    def close(self) -> None:
        """Close."""
        self._raw.close()
        self._turn.close()


def _failure(error: sqlite3.Error) -> StorageError:
    # The low byte of an extended result code is the primary result code.
    damaged = getattr(error, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
    return DamagedError(str(error)) if damaged else StorageError(str(error))


class SqliteDatabase(Database):
    """A folder with the database, the lock and the snapshots.

    Parameters
    ----------
    folder
        Created if missing.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._prepared = False
        self._lock: IO[bytes] | None = None
        # The locked file of each lane that this process holds.
        self._lanes: dict[int, IO[bytes]] = {}
        self._administration: IO[bytes] | None = None
        self._checkpoints = self._new_checkpoints()

    @property
    def path(self) -> Path:
        """The database file."""
        return self.folder / "eigenbandits.sqlite"

    @property
    def exists(self) -> bool:
        """Whether the database file exists."""
        return self.path.exists()

    def connect(self) -> Connection:
        """Open the database file; create it if missing."""
        if not self._prepared:
            self._create()
        connection = SqliteConnection(self.path, self._checkpoints.note)
        if not self._prepared:
            try:
                prepare(connection, SQL_TYPES)
                self._let_shrink(connection)
            except BaseException:
                connection.close()
                raise
            self._prepared = True
        return connection

    def _create(self) -> None:
        """Create the folder and the file, private to this user: they hold the log and the hashes of the keys.

        This matters in a folder that everyone may read, too. SQLite gives its side files the database's permissions.
        """
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            (self.folder / "snapshots").mkdir(mode=0o700, exist_ok=True)
            for path in (self.path, self.folder / "lock"):
                path.touch(mode=0o600)
            for path in (self.path, self.folder / "lock", *self.folder.glob("*.sqlite-*"), self.folder / "snapshots"):
                if path.stat().st_mode & 0o077 and path.stat().st_uid == os.getuid():
                    path.chmod(0o700 if path.is_dir() else 0o600)
        except OSError as error:
            raise StorageError(f"cannot create the folder or the database ({error.strerror})") from error

    def _let_shrink(self, connection: Connection) -> None:
        """Rewrite a database of an earlier version once, so that its free pages can be returned to the system."""
        if connection.execute("PRAGMA auto_vacuum")[0][0] != 0:
            return
        if self.path.stat().st_size > _REWRITTEN:
            message = "the database will not shrink; to change that, stop the service and run VACUUM with sqlite3"
            log_event(message, logging.WARNING, path=str(self.path))
            return
        connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
        connection.execute("VACUUM")

    def claim(self, connection: Connection) -> None:
        """Lock a file; the operating system unlocks it when this process ends, however it ends."""
        if self._lock is not None:
            return
        try:
            self._lock = _locked(self.folder / "lock")
        except OSError:
            raise InUseError(f"another server writes to {self.folder}; stop it first.") from None
        for partial in (self.folder / "snapshots").glob(".*.eb.*"):
            partial.unlink(missing_ok=True)  # from a server that was killed while writing

    def release(self) -> None:
        """Unlock."""
        self._drop_lanes()
        self._administration = None
        self._checkpoints.close()
        self._checkpoints = self._new_checkpoints()
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def hold_lane(self, connection: Connection, lane: int) -> None:
        """Lock a file; the operating system unlocks it when this process ends, however it ends.

        A process holds one lane at a time: the connection of its previous lane is closed.
        """
        self._drop_lanes()
        folder = self.folder / "lanes"
        folder.mkdir(mode=0o700, exist_ok=True)
        self._lanes[lane] = _locked(folder / str(lane))

    def lane_is_over(self, connection: Connection, lane: int) -> bool:
        """Try to lock the lane's file; if that succeeds, its process has ended, and the file is removed."""
        path = self.folder / "lanes" / str(lane)
        try:
            _locked(path).close()
        except OSError:
            return False
        path.unlink(missing_ok=True)
        return True

    def lock_administration(self, connection: Connection) -> bool:
        """Try to lock a file; the operating system unlocks it when this process ends, however it ends."""
        try:
            self._administration = _locked(self.folder / "administration")
        except OSError:
            return False
        return True

    def unlock_administration(self, connection: Connection) -> None:
        """Unlock the file."""
        if self._administration is not None:
            self._administration.close()
            self._administration = None

    def lock_rewards(self, connection: Connection, policy: int) -> None:
        """Do nothing: SQLite already runs one write transaction at a time."""

    def store_belief(self, policy: int, version: int, content: bytes) -> bytes:
        """Write a file; in the database, beliefs would put megabytes per second through the write-ahead log."""
        try:
            folder = self.folder / "beliefs"
            folder.mkdir(mode=0o700, exist_ok=True)
            write_whole(folder / f"{policy}-{version}.eb", content)
            for _, file in _numbered(folder, policy)[_BELIEFS:]:
                file.unlink(missing_ok=True)
        except OSError as error:
            raise StorageError(str(error.strerror)) from error
        return b""

    def stored_belief(self, policy: int, version: int, content: bytes) -> bytes:
        """Read the file."""
        try:
            return (self.folder / "beliefs" / f"{policy}-{version}.eb").read_bytes()
        except OSError as error:
            raise StorageError(f"cannot read belief {policy}-{version} ({error.strerror})") from error

    def drop_beliefs(self, policy: int) -> None:
        """Remove the files."""
        for _, file in _numbered(self.folder / "beliefs", policy):
            file.unlink(missing_ok=True)

    def _drop_lanes(self) -> None:
        for lock in self._lanes.values():
            lock.close()
        self._lanes.clear()

    def put_snapshot(self, policy: int, position: int, content: bytes) -> None:
        """Write a file; keep the last two."""
        try:
            folder = self.folder / "snapshots"
            write_whole(folder / f"{policy}-{position}.eb", content)
            # The new name must be on disk before an older file is removed.
            handle = os.open(folder, os.O_RDONLY)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)
            for _, file in _numbered(folder, policy)[2:]:
                file.unlink(missing_ok=True)
        except OSError as error:
            raise StorageError(str(error.strerror)) from error

    def snapshots(self, connection: Connection, policy: int) -> Iterator[tuple[int, bytes]]:
        """Read the files, the latest first."""
        for position, file in _numbered(self.folder / "snapshots", policy):
            try:
                yield position, file.read_bytes()
            except OSError as error:
                raise StorageError(str(error.strerror)) from error

    def drop_snapshots(self, connection: Connection, policy: int, after: int = -1) -> None:
        """Remove the files."""
        for position, file in _numbered(self.folder / "snapshots", policy):
            if position > after:
                file.unlink(missing_ok=True)

    def checkpoint(self) -> None:
        """Move the write-ahead log into the database while the writer works, in a thread of its own."""
        self._checkpoints.start()

    def finish_checkpoint(self, connection: Connection) -> bool:
        """Move the rest of the log while nothing is being written."""
        return self._checkpoints.finish(connection)

    def _new_checkpoints(self) -> Checkpoints:
        return Checkpoints(lambda: SqliteConnection(self.path))

    def shrink(self, connection: Connection) -> bool:
        """Return a batch of free pages to the operating system; return whether there was one."""
        if connection.execute("PRAGMA freelist_count")[0][0] < _PAGES:
            return False
        assert isinstance(connection, SqliteConnection)
        connection.vacuum(_PAGES)
        return True


def _numbered(folder: Path, policy: int) -> list[tuple[int, Path]]:
    """Return the files of a policy in a folder with their numbers, highest first; other files are left alone."""
    matches = [(_FILE.fullmatch(file.name), file) for file in folder.glob(f"{policy}-*.eb")]
    return sorted([(int(name["number"]), file) for name, file in matches if name is not None], reverse=True)


def _locked(path: Path) -> IO[bytes]:
    """Open and lock a file; raise OSError if another process has locked it."""
    file = path.open("ab")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        raise
    return file
