"""PostgreSQL, for installations that already run a database server."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from eigenbandits.extras import need
from eigenbandits.serve.errors import InUseError, StorageError
from eigenbandits.serve.storage.base import Connection, Database, prepare
from eigenbandits.serve.storage.table import Row

SQL_TYPES = {int: "BIGINT", float: "DOUBLE PRECISION", str: "TEXT", bytes: "BYTEA"}
# The number of the advisory lock: "eigenban" in ASCII.
LOCK = int.from_bytes(b"eigenban", "big", signed=True)
# The first key of the lanes' locks: "eban" in ASCII; the second key is the lane.
LANES = int.from_bytes(b"eban", "big")
# Seconds to wait for the lock of a server that was killed, which remains until PostgreSQL notices.
PATIENCE = 15.0


class PostgresConnection(Connection):
    """One connection to the server."""

    def __init__(self, address: str) -> None:
        import psycopg

        self._error = psycopg.Error
        # Bugs in this package, which say nothing about the database.
        self._mistakes = (psycopg.DataError, psycopg.ProgrammingError)
        try:
            # Autocommit: transactions begin and end as `Connection.transaction` determines.
            self._raw = psycopg.connect(
                address,
                autocommit=True,
                connect_timeout=5,
                keepalives=1,
                keepalives_idle=5,
                keepalives_interval=2,
                keepalives_count=3,
                tcp_user_timeout=10_000,
            )
            # A lock or a statement that hangs must not hang the service.
            self._raw.execute("SET statement_timeout = '60s'; SET lock_timeout = '10s'; SET synchronous_commit = on")
        except psycopg.Error as error:
            raise StorageError(_brief(error)) from error

    def execute(self, sql: str, values: Sequence[Any] = ()) -> list[Row]:
        """Run one statement."""
        try:
            cursor = self._raw.execute(_dialect(sql), values)
            return cursor.fetchall() if sql.startswith("SELECT") else []
        except self._error as error:
            raise self._failure(error) from error

    def many(self, sql: str, rows: Sequence[Sequence[Any]]) -> None:
        """Run one statement for each row."""
        try:
            with self._raw.cursor() as cursor:
                cursor.executemany(_dialect(sql), rows)
        except self._error as error:
            raise self._failure(error) from error

    def columns(self, table: str) -> set[str]:
        """Return the names of the columns."""
        sql = "SELECT attname FROM pg_attribute WHERE attrelid = ?::regclass AND attnum > 0 AND NOT attisdropped"
        return {row[0] for row in self.execute(sql, (table,))}

    def _failure(self, error: Exception) -> Exception:
        return RuntimeError(_brief(error)) if isinstance(error, self._mistakes) else StorageError(_brief(error))

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Run a block as one transaction; its statements are pipelined, so that none waits for an answer of its own."""
        try:
            with self._raw.pipeline(), super().transaction():
                yield
        except self._error as error:
            self.rollback()
            raise self._failure(error) from error
        except BaseException:
            self.rollback()
            raise

    def rollback(self) -> None:
        """Roll back the open transaction."""
        try:
            self._raw.rollback()
        except self._error:
            self.close()

    def close(self) -> None:
        """Close the connection."""
        self._raw.close()


def _dialect(sql: str) -> Any:
    # All statements are written in this package; none contains text from callers.
    return sql.replace("?", "%s")


def _brief(error: Exception) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__


class PostgresDatabase(Database):
    """A database on a PostgreSQL server; it stores snapshots too, so that any machine can take over.

    Parameters
    ----------
    address
        postgresql://user:password@host/database
    """

    def __init__(self, address: str) -> None:
        need("serve-postgres", "psycopg", what="PostgreSQL")
        self.address = address
        self._prepared = False

    def connect(self) -> Connection:
        """Connect, and create missing tables."""
        connection = PostgresConnection(self.address)
        if not self._prepared:
            # If two servers start at once, the second waits until the first has created the tables.
            try:
                connection.execute("SELECT pg_advisory_lock(?)", (LOCK + 1,))
                prepare(connection, SQL_TYPES)
                connection.execute("SELECT pg_advisory_unlock(?)", (LOCK + 1,))
            except BaseException:
                connection.close()
                raise
            self._prepared = True
        return connection

    def claim(self, connection: Connection) -> None:
        """Take the advisory lock, which PostgreSQL releases when the connection ends, however it ends."""
        deadline = time.monotonic() + PATIENCE
        while not connection.execute("SELECT pg_try_advisory_lock(?)", (LOCK,))[0][0]:
            if time.monotonic() > deadline:
                raise InUseError("another server writes to this database; stop it first.")
            time.sleep(0.1)

    def release(self) -> None:
        """Do nothing: the lock ends with the connection."""

    def hold_lane(self, connection: Connection, lane: int) -> None:
        """Take an advisory lock, which PostgreSQL releases when the connection ends, however it ends."""
        connection.execute("SELECT pg_advisory_lock(?, ?)", (LANES, lane))

    def lane_is_over(self, connection: Connection, lane: int) -> bool:
        """Try to take the lock; if that succeeds, its connection is gone and cannot commit anything more."""
        if not connection.execute("SELECT pg_try_advisory_lock(?, ?)", (LANES, lane))[0][0]:
            return False
        connection.execute("SELECT pg_advisory_unlock(?, ?)", (LANES, lane))
        return True

    def lock_administration(self, connection: Connection) -> bool:
        """Try to take an advisory lock, which PostgreSQL releases when the connection ends, however it ends."""
        return bool(connection.execute("SELECT pg_try_advisory_lock(?)", (LOCK + 2,))[0][0])

    def unlock_administration(self, connection: Connection) -> None:
        """Release the lock."""
        connection.execute("SELECT pg_advisory_unlock(?)", (LOCK + 2,))

    def lock_rewards(self, connection: Connection, policy: int) -> None:
        """Take an advisory lock that ends with the transaction."""
        connection.execute("SELECT pg_advisory_xact_lock(?, ?)", (LANES + 1, policy))

    def put_snapshot(self, policy: int, position: int, content: bytes) -> None:
        """Insert a row; keep the last two."""
        connection = self.connect()
        try:
            with connection.transaction():
                connection.execute(
                    "INSERT INTO snapshots VALUES (?, ?, ?) "
                    "ON CONFLICT (policy, position) DO UPDATE SET content = excluded.content",
                    (policy, position, content),
                )
                connection.execute(
                    "DELETE FROM snapshots WHERE policy = ? AND position NOT IN "
                    "(SELECT position FROM snapshots WHERE policy = ? ORDER BY position DESC LIMIT 2)",
                    (policy, policy),
                )
        finally:
            connection.close()

    def snapshots(self, connection: Connection, policy: int) -> Iterator[tuple[int, bytes]]:
        """Read the rows, newest first."""
        sql = "SELECT position, content FROM snapshots WHERE policy = ? ORDER BY position DESC"
        for position, content in connection.execute(sql, (policy,)):
            yield position, bytes(content)

    def drop_snapshots(self, connection: Connection, policy: int, after: int = -1) -> None:
        """Delete the rows."""
        connection.execute("DELETE FROM snapshots WHERE policy = ? AND position > ?", (policy, after))
