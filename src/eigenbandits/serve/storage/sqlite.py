"""SQLite in one folder: the default that needs nothing."""

from __future__ import annotations

import fcntl
import logging
import os
import re
import sqlite3
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any

from eigenbandits.files import write_whole
from eigenbandits.serve.errors import DamagedError, InUseError, StorageError
from eigenbandits.serve.logs import log_event
from eigenbandits.serve.storage.base import Connection, Database, prepare
from eigenbandits.serve.storage.table import Row

WORDS = {int: "INTEGER", float: "REAL", str: "TEXT", bytes: "BLOB"}
# The write-ahead log is made to start over from this size on, and cut back to it where it has grown beyond.
LARGE_WAL = 16 * 2**20
# A checkpoint is repeated, this often at the most, until it takes less than so many seconds.
_PASSES, _SHORT = 10, 0.005
# Bytes of a database of an earlier version up to which it is rewritten once, so that it can shrink from then on.
_REWRITTEN = 256 * 2**20
# Pages that are given back to the operating system at once.
_PAGES = 256
# Seconds that a transaction waits for its turn, and between two looks whether it has come. SQLite itself would look
# again after up to a tenth of a second, when dozens of others could have had theirs: a commit takes a millisecond.
_PATIENCE, _INTERVAL = 10.0, 2e-4
# Beliefs of a policy that are kept: a decider may be about to read the one before the last.
_BELIEFS = 4
_SNAPSHOT = re.compile(r"(?P<policy>\d+)-(?P<position>\d+)\.eb")


class SqliteConnection(Connection):
    """One connection to the file."""

    def __init__(self, path: Path) -> None:
        try:
            # The service itself makes sure that one thread at a time uses a connection.
            self._raw = sqlite3.connect(path, isolation_level=None, timeout=_PATIENCE, check_same_thread=False)
            # Before the first table: pages that become free can be given back.
            self._raw.execute("PRAGMA auto_vacuum = INCREMENTAL")
            self._raw.execute("PRAGMA journal_mode = WAL")
            # FULL: a commit has reached the disk, not only the operating system, before it returns.
            self._raw.execute("PRAGMA synchronous = FULL")
            self._raw.execute("PRAGMA wal_autocheckpoint = 0")
            self._raw.execute(f"PRAGMA journal_size_limit = {LARGE_WAL}")
            self._turn = _Turn(path.with_name("turn"))
        except sqlite3.Error as error:
            raise _failure(error) from error

    def execute(self, sql: str, values: Sequence[Any] = ()) -> list[Row]:
        """Run one statement."""
        if sql == "BEGIN":
            # Taking the write lock at once keeps a transaction from failing halfway on another process's write.
            sql = "BEGIN IMMEDIATE"
            self._turn.take()
        try:
            return self._raw.execute(sql, values).fetchall()
        except sqlite3.Error as error:
            raise _failure(error) from error
        finally:
            if self._turn.mine and not self._raw.in_transaction:
                self._turn.end()

    def many(self, sql: str, rows: Sequence[Sequence[Any]]) -> None:
        """Run one statement for many rows."""
        try:
            self._raw.executemany(sql, rows)
        except sqlite3.Error as error:
            raise _failure(error) from error

    def vacuum(self, pages: int) -> None:
        """Give free pages back, outside of any transaction."""
        try:
            # As a script: of a statement without columns sqlite3 takes one step only, which is one page.
            self._raw.executescript(f"PRAGMA incremental_vacuum({pages})")
        except sqlite3.Error as error:
            raise _failure(error) from error

    def columns(self, table: str) -> set[str]:
        """Return the names of the columns."""
        return {row[1] for row in self.execute(f"PRAGMA table_info({table})")}

    def rollback(self) -> None:
        """End the open transaction."""
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


class _Turn:
    """The right to write, which one connection has at a time.

    A lock on a file, which the operating system unlocks when the process ends, however it ends.
    """

    def __init__(self, path: Path) -> None:
        self.mine = False
        try:
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise StorageError(f"{path} cannot be opened ({error.strerror})") from error

    def take(self) -> None:
        """Wait until nobody else writes."""
        if self._file < 0:
            raise StorageError("the connection is closed")
        until = time.monotonic() + _PATIENCE
        while not self.mine:
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                self.mine = True
            except BlockingIOError:
                if time.monotonic() > until:
                    message = f"another process has been writing to the database for {_PATIENCE:g} seconds"
                    raise StorageError(message) from None
                time.sleep(_INTERVAL)

    def end(self) -> None:
        """Let others write."""
        if self.mine:
            fcntl.flock(self._file, fcntl.LOCK_UN)
            self.mine = False

    def close(self) -> None:
        """Let others write, for good."""
        if self._file >= 0:
            os.close(self._file)
            self._file, self.mine = -1, False


def _failure(error: sqlite3.Error) -> StorageError:
    # The first byte of an extended code is the code itself.
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
        # The lane that each connection holds, as a locked file.
        self._lanes: dict[int, IO[bytes]] = {}
        self._administration: IO[bytes] | None = None
        self._checkpointer: Connection | None = None
        self._unfinished = False

    @property
    def path(self) -> Path:
        """The file of the database."""
        return self.folder / "eigenbandits.sqlite"

    @property
    def exists(self) -> bool:
        """Whether there is a file."""
        return self.path.exists()

    def connect(self) -> Connection:
        """Open the file, and create it if missing."""
        if not self._prepared:
            self._create()
        connection = SqliteConnection(self.path)
        if not self._prepared:
            try:
                prepare(connection, WORDS)
                self._let_shrink(connection)
            except BaseException:
                connection.close()
                raise
            self._prepared = True
        return connection

    def _create(self) -> None:
        """Create folder and file, closed to other users of this machine: they hold the log and the hashes of the keys.

        Also in a folder that everyone may read. SQLite gives the files next to the database the same permissions.
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
            raise StorageError(f"the folder or the database cannot be created ({error.strerror})") from error

    def _let_shrink(self, connection: Connection) -> None:
        """Rewrite a database of an earlier version, once, so that pages that become free can be given back."""
        if connection.execute("PRAGMA auto_vacuum")[0][0] != 0:
            return
        if self.path.stat().st_size > _REWRITTEN:
            message = "the database will not shrink; to change that, stop the service and run VACUUM with sqlite3"
            log_event(message, logging.WARNING, path=str(self.path))
            return
        connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
        connection.execute("VACUUM")

    def claim(self, connection: Connection) -> None:
        """Lock a file, which the operating system unlocks when this process ends, however it ends."""
        if self._lock is not None:
            return
        try:
            self._lock = _locked(self.folder / "lock")
        except OSError:
            raise InUseError(f"another server writes to {self.folder}; stop it first.") from None
        for left in (self.folder / "snapshots").glob(".*.eb.*"):
            left.unlink(missing_ok=True)  # of a server that was killed while it wrote

    def release(self) -> None:
        """Unlock."""
        self._drop_lanes()
        self._administration = None
        if self._checkpointer is not None:
            self._checkpointer.close()
            self._checkpointer = None
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def hold_lane(self, connection: Connection, lane: int) -> None:
        """Lock a file, which the operating system unlocks when this process ends, however it ends.

        A process has one lane at a time: the connection of the one before is closed.
        """
        self._drop_lanes()
        folder = self.folder / "lanes"
        folder.mkdir(mode=0o700, exist_ok=True)
        self._lanes[lane] = _locked(folder / str(lane))

    def lane_is_over(self, connection: Connection, lane: int) -> bool:
        """Try the lock, and remove the file."""
        path = self.folder / "lanes" / str(lane)
        try:
            _locked(path).close()
        except OSError:
            return False
        path.unlink(missing_ok=True)
        return True

    def lock_administration(self, connection: Connection) -> bool:
        """Try the lock of a file, which the operating system unlocks when this process ends, however it ends."""
        try:
            self._administration = _locked(self.folder / "administration")
        except OSError:
            return False
        return True

    def unlock_administration(self, connection: Connection) -> None:
        """Unlock it."""
        if self._administration is not None:
            self._administration.close()
            self._administration = None

    def lock_rewards(self, connection: Connection, policy: int) -> None:
        """Nothing to do: every transaction of SQLite keeps the others waiting."""

    def store_belief(self, policy: int, version: int, content: bytes) -> bytes:
        """Write a file; in the database it would go through the write-ahead log, megabytes every second."""
        try:
            folder = self.folder / "beliefs"
            folder.mkdir(mode=0o700, exist_ok=True)
            write_whole(folder / f"{policy}-{version}.eb", content)
            for _, file in self._belief_files(policy)[_BELIEFS:]:
                file.unlink(missing_ok=True)
        except OSError as error:
            raise StorageError(str(error.strerror)) from error
        return b""

    def stored_belief(self, policy: int, version: int, content: bytes) -> bytes:
        """Read the file."""
        try:
            return (self.folder / "beliefs" / f"{policy}-{version}.eb").read_bytes()
        except OSError as error:
            raise StorageError(f"the belief {policy}-{version} cannot be read ({error.strerror})") from error

    def drop_beliefs(self, policy: int) -> None:
        """Remove the files."""
        for _, file in self._belief_files(policy):
            file.unlink(missing_ok=True)

    def _belief_files(self, policy: int) -> list[tuple[int, Path]]:
        found = [(_SNAPSHOT.fullmatch(file.name), file) for file in (self.folder / "beliefs").glob(f"{policy}-*.eb")]
        return sorted([(int(name["position"]), file) for name, file in found if name is not None], reverse=True)

    def restart_log(self, connection: Connection) -> None:
        """Let the write-ahead log start over; under load it never does by itself, since some process always reads it.

        Others wait meanwhile, for as long as it takes to move what `checkpoint` has not moved yet.
        """
        wal = self.path.with_name(self.path.name + "-wal")
        if wal.exists() and wal.stat().st_size > 2 * LARGE_WAL:
            connection.execute("PRAGMA wal_checkpoint(RESTART)")

    def _drop_lanes(self) -> None:
        for held in self._lanes.values():
            held.close()
        self._lanes.clear()

    def _snapshot_files(self, policy: int) -> list[tuple[int, Path]]:
        found = [(_SNAPSHOT.fullmatch(file.name), file) for file in (self.folder / "snapshots").glob(f"{policy}-*.eb")]
        # Whatever else somebody has put there is left alone.
        mine = [(int(name["position"]), file) for name, file in found if name is not None]
        return sorted(mine, reverse=True)

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

    def checkpoint(self) -> None:
        """Move the write-ahead log into the database while the writer works.

        The log starts over only once all of it has been moved, which under load never happens next to a writer that
        keeps writing. So this moves most of it, then what was added meanwhile, until that takes next to no time, and
        `finish_checkpoint`, for which the writer waits, only the last of it.
        """
        if self._checkpointer is None:
            self._checkpointer = SqliteConnection(self.path)
        wal = self.path.with_name(self.path.name + "-wal")
        size = os.stat(wal).st_size if wal.exists() else 0  # noqa: PTH116 - follows no link either way
        for _ in range(_PASSES):
            started = time.perf_counter()
            self._checkpointer.execute("PRAGMA wal_checkpoint(PASSIVE)")
            if size <= LARGE_WAL or time.perf_counter() - started < _SHORT:
                break
        self._unfinished = size > LARGE_WAL

    def finish_checkpoint(self, connection: Connection) -> bool:
        """Move the rest, while nothing is being written."""
        if not self._unfinished:
            return False
        self._unfinished = False
        connection.execute("PRAGMA wal_checkpoint(PASSIVE)")
        return True

    def shrink(self, connection: Connection) -> bool:
        """Give some free pages back to the operating system."""
        if connection.execute("PRAGMA freelist_count")[0][0] < _PAGES:
            return False
        assert isinstance(connection, SqliteConnection)
        connection.vacuum(_PAGES)
        return True


def _locked(path: Path) -> IO[bytes]:
    """Return an open file that this process holds the lock of; raise OSError if another does."""
    file = path.open("ab")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        raise
    return file
