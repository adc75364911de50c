"""The interface of a database: connect, run statements, hold the writer's lock, keep snapshots."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from eigenbandits.serve.storage import lanes
from eigenbandits.serve.storage.schema import INDEX, META, TABLES, VERSION
from eigenbandits.serve.storage.table import Row


class Connection(ABC):
    """A connection, used by one thread at a time. Every failure of the database raises a `StorageError`."""

    @abstractmethod
    def execute(self, sql: str, values: Sequence[Any] = ()) -> list[Row]:
        """Run one statement, with ? for each value, and return its rows."""

    @abstractmethod
    def many(self, sql: str, rows: Sequence[Sequence[Any]]) -> None:
        """Run one statement for each row of values."""

    @abstractmethod
    def columns(self, table: str) -> set[str]:
        """Return the names of the columns of a table."""

    @abstractmethod
    def rollback(self) -> None:
        """Roll back the open transaction, if any; never raises."""

    @abstractmethod
    def close(self) -> None:
        """Close the connection; never raises."""

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Run a block as one transaction, which is on disk in full when the block has ended, or not at all."""
        self.execute("BEGIN")
        try:
            yield
            self.execute("COMMIT")
        except BaseException:
            self.rollback()
            raise


class Database(ABC):
    """The place where the service stores everything."""

    @property
    def exists(self) -> bool:
        """Whether the database already exists; one on a server always does."""
        return True

    @abstractmethod
    def connect(self) -> Connection:
        """Open a connection."""

    @abstractmethod
    def claim(self, connection: Connection) -> None:
        """Become the only server that writes, with this connection; raise `InUseError` if there is another."""

    @abstractmethod
    def release(self) -> None:
        """Let another server write."""

    @abstractmethod
    def hold_lane(self, connection: Connection, lane: int) -> None:
        """Hold a lane for as long as the connection and this process live."""

    @abstractmethod
    def lane_is_over(self, connection: Connection, lane: int) -> bool:
        """Return whether no process holds a lane any longer, so that nothing can be added to it."""

    @abstractmethod
    def lock_administration(self, connection: Connection) -> bool:
        """Lock policies and catalogues against changes by other processes; return False if another holds the lock."""

    @abstractmethod
    def unlock_administration(self, connection: Connection) -> None:
        """Let other processes change policies and catalogues."""

    @abstractmethod
    def lock_rewards(self, connection: Connection, policy: int) -> None:
        """Keep other processes from writing rewards of a policy until the open transaction ends."""

    def store_belief(self, policy: int, version: int, content: bytes) -> bytes:
        """Store a policy's belief outside of its row, if that is better; return what the row should hold."""
        return content

    def stored_belief(self, policy: int, version: int, content: bytes) -> bytes:
        """Return a policy's belief, given what its row holds."""
        return content

    def drop_beliefs(self, policy: int) -> None:  # noqa: B027 - most databases store them in rows
        """Delete a policy's beliefs that are stored outside of their rows."""

    @abstractmethod
    def put_snapshot(self, policy: int, position: int, content: bytes) -> None:
        """Store a snapshot of a policy, atomically, and keep the one before it; may run in any thread."""

    @abstractmethod
    def snapshots(self, connection: Connection, policy: int) -> Iterator[tuple[int, bytes]]:
        """Yield the position and content of a policy's snapshots, newest first."""

    @abstractmethod
    def drop_snapshots(self, connection: Connection, policy: int, after: int = -1) -> None:
        """Delete a policy's snapshots after a position."""

    def checkpoint(self) -> None:  # noqa: B027 - most databases do so on their own
        """Start to make the database small and fast, and do not wait for it; called now and then."""

    def finish_checkpoint(self, connection: Connection) -> bool:
        """Finish a checkpoint between two transactions of the writer; return whether there was anything left to do."""
        return False

    def shrink(self, connection: Connection) -> bool:
        """Return some of the space of deleted rows to the system; return whether there is more. May do nothing."""
        return False


def prepare(connection: Connection, sql_types: Mapping[type, str]) -> None:
    """Create missing tables and columns; refuse tables of a later version."""
    with connection.transaction():
        # First on its own, so that a database of a later version is not changed.
        connection.execute(META.create(sql_types))
        connection.execute("INSERT INTO meta VALUES ('version', ?) ON CONFLICT DO NOTHING", (str(VERSION),))
        version = int(connection.execute("SELECT value FROM meta WHERE name = 'version'")[0][0])
        if version > VERSION:
            raise ValueError(
                f"the database has version {version}; this eigenbandits reads up to version {VERSION}. Use the version "
                "of eigenbandits that wrote it, or a later one; databases cannot be downgraded."
            )
        for table in TABLES:
            connection.execute(table.create(sql_types))
            present = connection.columns(table.name)
            for name in table.columns:
                if name not in present:
                    connection.execute(f"ALTER TABLE {table.name} ADD COLUMN {table.added(name, sql_types)}")
        connection.execute(INDEX)
        connection.execute(lanes.INDEX)
        if version < VERSION:
            connection.execute("UPDATE meta SET value = ? WHERE name = 'version'", (str(VERSION),))
