"""What a database must do for the service: connect, run statements, hold the one writer's lock, keep snapshots."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from eigenbandits.serve.storage import lanes
from eigenbandits.serve.storage.schema import INDEX, META, TABLES, VERSION
from eigenbandits.serve.storage.table import Row


class Connection(ABC):
    """One connection, used by one thread at a time. Every failure of the database is a `StorageError`."""

    @abstractmethod
    def execute(self, sql: str, values: Sequence[Any] = ()) -> list[Row]:
        """Run one statement, with ? for each value, and return its rows."""

    @abstractmethod
    def many(self, sql: str, rows: Sequence[Sequence[Any]]) -> None:
        """Run one statement for many rows of values."""

    @abstractmethod
    def columns(self, table: str) -> set[str]:
        """Return the names of the columns of a table."""

    @abstractmethod
    def rollback(self) -> None:
        """End the open transaction, if any, as if it had never begun; never raises."""

    @abstractmethod
    def close(self) -> None:
        """Close the connection; never raises."""

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Run a block as one transaction that is on disk when the block has ended, or not at all."""
        self.execute("BEGIN")
        try:
            yield
            self.execute("COMMIT")
        except BaseException:
            self.rollback()
            raise


class Database(ABC):
    """Where the service keeps everything."""

    @property
    def exists(self) -> bool:
        """Whether there is a database already; one on a server always is."""
        return True

    @abstractmethod
    def connect(self) -> Connection:
        """Open a connection."""

    @abstractmethod
    def claim(self, connection: Connection) -> None:
        """Become the one server that writes, with this connection; raise `InUseError` if there is another."""

    @abstractmethod
    def release(self) -> None:
        """Let another server write."""

    @abstractmethod
    def hold_lane(self, connection: Connection, lane: int) -> None:
        """Hold a lane for as long as the connection and this process live."""

    @abstractmethod
    def lane_is_over(self, connection: Connection, lane: int) -> bool:
        """Return whether nobody holds a lane any more, so that nothing can be added to it."""

    @abstractmethod
    def lock_administration(self, connection: Connection) -> bool:
        """Let no other process change policies and catalogues until it is unlocked; False if another does."""

    @abstractmethod
    def unlock_administration(self, connection: Connection) -> None:
        """Let other processes change policies and catalogues."""

    @abstractmethod
    def lock_rewards(self, connection: Connection, policy: int) -> None:
        """Let no other process write rewards of a policy until the open transaction has ended."""

    def store_belief(self, policy: int, version: int, content: bytes) -> bytes:
        """Keep the belief of a policy outside of its row, where that is better; return what the row is to hold."""
        return content

    def stored_belief(self, policy: int, version: int, content: bytes) -> bytes:
        """Return the belief of a policy, given what its row holds."""
        return content

    def drop_beliefs(self, policy: int) -> None:  # noqa: B027 - most databases keep them in their rows
        """Delete the beliefs of a policy that are kept outside of their rows."""

    def restart_log(self, connection: Connection) -> None:  # noqa: B027 - most databases do so by themselves
        """Keep a log of writes small that several processes write to; outside of any transaction."""

    @abstractmethod
    def put_snapshot(self, policy: int, position: int, content: bytes) -> None:
        """Keep the snapshot of a policy, whole or not at all, and the one before it; may run in any thread."""

    @abstractmethod
    def snapshots(self, connection: Connection, policy: int) -> Iterator[tuple[int, bytes]]:
        """Yield the position and content of the snapshots of a policy, newest first."""

    @abstractmethod
    def drop_snapshots(self, connection: Connection, policy: int, after: int = -1) -> None:
        """Delete the snapshots of a policy after a position."""

    def checkpoint(self) -> None:  # noqa: B027 - most databases do so by themselves
        """Keep the database small and quick; may run in any thread, now and then."""

    def finish_checkpoint(self, connection: Connection) -> bool:
        """Do the rest of a checkpoint between two transactions of the writer; return whether any was left."""
        return False

    def shrink(self, connection: Connection) -> bool:
        """Give some of the room that deleted rows have left back; return whether there is more. May do nothing."""
        return False


def prepare(connection: Connection, words: Mapping[type, str]) -> None:
    """Create missing tables and columns, and refuse tables of a later version."""
    with connection.transaction():
        # Alone at first: of a database of a later version nothing is changed.
        connection.execute(META.create(words))
        connection.execute("INSERT INTO meta VALUES ('version', ?) ON CONFLICT DO NOTHING", (str(VERSION),))
        found = int(connection.execute("SELECT value FROM meta WHERE name = 'version'")[0][0])
        if found > VERSION:
            raise ValueError(
                f"the database has version {found}; this eigenbandits reads up to version {VERSION}. Use the version "
                "of eigenbandits that wrote it, or a later one; a database is never changed back."
            )
        for table in TABLES:
            connection.execute(table.create(words))
            present = connection.columns(table.name)
            for name in table.columns:
                if name not in present:
                    connection.execute(f"ALTER TABLE {table.name} ADD COLUMN {table.added(name, words)}")
        connection.execute(INDEX)
        connection.execute(lanes.INDEX)
        if found < VERSION:
            connection.execute("UPDATE meta SET value = ? WHERE name = 'version'", (str(VERSION),))
