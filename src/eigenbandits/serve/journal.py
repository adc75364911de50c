"""The statements of the service: what is written to the log and read back from it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from eigenbandits.serve.catalogue import Catalogue
from eigenbandits.serve.keys import Key
from eigenbandits.serve.storage.base import Connection, Row
from eigenbandits.serve.storage.schema import OF_A_POLICY

# Values in one IN list, and rows read at a time.
_AT_ONCE = 500
BUCKET = 10


@dataclass
class Head:
    """Where a policy's log has got to; kept in the policy's row and moved with the rows that it counts."""

    position: int = 0
    number: int = 0
    rewards: int = 0
    defaults: int = 0
    expired: int = 0
    expired_through: int = 0
    pruned_through: int = 0
    last_at: float = 0.0

    @property
    def pending(self) -> int:
        """How many decisions wait for their reward."""
        return self.number - self.rewards - self.defaults - self.expired

    def row(self) -> Row:
        """Return the fields in the order of their columns."""
        return tuple(vars(self).values())


# Id, name, spec, time of creation and head.
PolicyRow = tuple[int, str, str, float, Head]
_HEAD = "position, number, rewards, defaults, expired, expired_through, pruned_through, last_at"


class Journal:
    """The tables, through one connection."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    def new_id(self) -> int:
        """Return a number that no policy or catalogue has had, not even one that was deleted."""
        self.connection.execute("INSERT INTO meta VALUES ('last_id', '0') ON CONFLICT DO NOTHING")
        last = int(self.connection.execute("SELECT value FROM meta WHERE name = 'last_id'")[0][0])
        self.connection.execute("UPDATE meta SET value = ? WHERE name = 'last_id'", (str(last + 1),))
        return last + 1

    def try_writing(self) -> None:
        """Write something of the size of a batch and take it back; fails where there is no room for it."""
        self.connection.execute("INSERT INTO meta VALUES ('trial', ?) ON CONFLICT DO NOTHING", ("x" * 2**18,))
        self.connection.execute("DELETE FROM meta WHERE name = 'trial'")

    # Policies

    def policies(self) -> list[PolicyRow]:
        """Return id, name, spec, time of creation and head of every policy."""
        rows = self.connection.execute(f"SELECT id, name, spec, created_at, {_HEAD} FROM policies ORDER BY id")
        return [(row[0], row[1], row[2], row[3], Head(*row[4:])) for row in rows]

    def add_policy(self, id_: int, name: str, spec: str, now: float) -> None:
        """Insert a policy that has decided nothing."""
        row = (id_, name, spec, now, *Head(last_at=now).row())
        self.connection.execute(f"INSERT INTO policies VALUES ({', '.join('?' * len(row))})", row)

    def drop_policy(self, id_: int) -> None:
        """Delete a policy and all that belongs to it."""
        for table in OF_A_POLICY:
            self.connection.execute(f"DELETE FROM {table} WHERE policy = ?", (id_,))
        self.connection.execute("DELETE FROM policies WHERE id = ?", (id_,))

    def move_heads(self, heads: Mapping[int, Head]) -> None:
        """Write the heads of some policies' logs."""
        columns = ", ".join(f"{name} = ?" for name in _HEAD.split(", "))
        rows = [(*head.row(), policy) for policy, head in heads.items()]
        self.connection.many(f"UPDATE policies SET {columns} WHERE id = ?", rows)

    def move_pruned(self, policy: int, through: int) -> None:
        """Write how far a policy's sets have been pruned."""
        self.connection.execute("UPDATE policies SET pruned_through = ? WHERE id = ?", (through, policy))

    # The log

    def add_events(self, rows: Sequence[Row]) -> None:
        """Append batches to the logs: policy, position, kind and content of each."""
        self.connection.many("INSERT INTO events VALUES (?, ?, ?, ?)", rows)

    def events(self, policy: int, after: int, through: int) -> Iterator[tuple[int, str, bytes]]:
        """Give position, kind and content of the batches after a position and up to another, in order."""
        sql = "SELECT position, kind, content FROM events WHERE policy = ? AND position > ? AND position <= ? "
        sql += "ORDER BY position LIMIT ?"
        while rows := self.connection.execute(sql, (policy, after, through, _AT_ONCE)):
            for position, kind, content in rows:
                yield position, kind, bytes(content)
            after = rows[-1][0]

    def add_decisions(self, rows: Sequence[Row]) -> None:
        """Insert decisions."""
        self.connection.many(f"INSERT INTO decisions VALUES ({', '.join('?' * 11)})", rows)

    def decisions(self, policy: int, first: int, count: int) -> list[Row]:
        """Return number, row chosen and set of decisions in a row."""
        sql = "SELECT number, chosen, content FROM decisions WHERE policy = ? AND number >= ? AND number < ? "
        return self.connection.execute(sql + "ORDER BY number", (policy, first, first + count))

    def decisions_of(self, policy: int, numbers: Sequence[int]) -> dict[int, tuple[int, bytes]]:
        """Return row chosen and set of some decisions by their number."""
        rows = self._in("SELECT number, chosen, content FROM decisions WHERE policy = ? AND number IN", policy, numbers)
        return {number: (chosen, bytes(content)) for number, chosen, content in rows}

    def requests_of(self, policy: int, requests: Sequence[str]) -> list[Row]:
        """Return request, number and answer of the decisions that were asked for under some request ids."""
        sql = (
            "SELECT request, number, chosen, item, estimate, upper, propensity "
            "FROM decisions WHERE policy = ? AND request IN"
        )
        return self._in(sql, policy, requests)

    def add_rewards(self, rows: Sequence[Row]) -> None:
        """Insert rewards; a second one for a decision fails the transaction."""
        self.connection.many("INSERT INTO rewards VALUES (?, ?, ?, ?, ?)", rows)

    def rewards_of(self, policy: int, numbers: Sequence[int]) -> dict[int, tuple[float | None, str]]:
        """Return reward and kind of the decisions among some that are settled."""
        rows = self._in("SELECT number, reward, kind FROM rewards WHERE policy = ? AND number IN", policy, numbers)
        return {number: (reward, kind) for number, reward, kind in rows}

    def next_open(self, policy: int, after: int, limit: int) -> list[Row]:
        """Return number, time and kind of reward (None where there is none) of the decisions that follow a number."""
        sql = (
            "SELECT d.number, d.decided_at, r.kind FROM decisions d "
            "LEFT JOIN rewards r ON r.policy = d.policy AND r.number = d.number "
            "WHERE d.policy = ? AND d.number > ? ORDER BY d.number LIMIT ?"
        )
        return self.connection.execute(sql, (policy, after, limit))

    def replace_sets(self, policy: int, rows: Sequence[tuple[bytes, int]]) -> None:
        """Put smaller sets in the place of those that are not needed any more."""
        sql = "UPDATE decisions SET content = ? WHERE policy = ? AND number = ?"
        self.connection.many(sql, [(content, policy, number) for content, number in rows])

    def exported(self, policy: int, after: int, limit: int) -> list[Row]:
        """Return what an export tells of the decisions after a number."""
        sql = (
            "SELECT d.number, d.chosen, d.size, d.item, d.propensity, d.decided_at, d.content, r.reward, r.kind, "
            "r.rewarded_at FROM decisions d LEFT JOIN rewards r ON r.policy = d.policy AND r.number = d.number "
            "WHERE d.policy = ? AND d.number > ? ORDER BY d.number LIMIT ?"
        )
        return self.connection.execute(sql, (policy, after, limit))

    # The reward rate over time

    def add_history(self, rows: Sequence[Row]) -> None:
        """Count what has happened: policy, start of the bucket, decisions, rewards, their sum, and defaults."""
        self.connection.many(
            "INSERT INTO history VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (policy, start) DO UPDATE SET "
            "decisions = history.decisions + excluded.decisions, rewards = history.rewards + excluded.rewards, "
            "reward_sum = history.reward_sum + excluded.reward_sum, defaults = history.defaults + excluded.defaults",
            rows,
        )

    def history(self, policy: int, since: float) -> list[Row]:
        """Return the buckets since a time, oldest first."""
        sql = "SELECT start, decisions, rewards, reward_sum, defaults FROM history WHERE policy = ? AND start >= ? "
        return self.connection.execute(sql + "ORDER BY start", (policy, int(since)))

    def forget_history(self, before: float) -> None:
        """Delete the buckets before a time."""
        self.connection.execute("DELETE FROM history WHERE start < ?", (int(before),))

    # Catalogues

    def catalogues(self) -> list[Catalogue]:
        """Return every catalogue with its items."""
        sql = "SELECT id, name, dim, center, mean, digest, created_at, version FROM catalogues ORDER BY id"
        return [self._filled(row) for row in self.connection.execute(sql)]

    def _filled(self, row: Row) -> Catalogue:
        mean = np.frombuffer(bytes(row[4]), dtype="<f4")
        id_, name, dim, center, _, digest, created_at, version = row
        found = Catalogue(id_, name, dim, center, mean, digest, created_at, version)
        sql = "SELECT slot, item, vector, added, removed FROM items WHERE catalogue = ? AND slot >= ? "
        sql += "ORDER BY slot LIMIT ?"
        while rows := self.connection.execute(sql, (found.id, len(found.names), _AT_ONCE)):
            for slot, item, vector, added, removed in rows:
                found.load(slot, item, np.frombuffer(bytes(vector), dtype="<f4"), added, removed)
        return found

    def add_catalogue(self, made: Catalogue) -> None:
        """Insert a catalogue without its items."""
        row = (
            *(made.id, made.name, made.dim, made.center),
            *(made.mean.tobytes(), made.digest, made.version, made.created_at),
        )
        self.connection.execute("INSERT INTO catalogues VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)

    def drop_catalogue(self, id_: int) -> None:
        """Delete a catalogue and its items."""
        self.connection.execute("DELETE FROM items WHERE catalogue = ?", (id_,))
        self.connection.execute("DELETE FROM catalogues WHERE id = ?", (id_,))

    def add_items(self, catalogue: int, rows: Sequence[Row]) -> None:
        """Insert items: slot, id, version and vector."""
        sql = "INSERT INTO items (catalogue, slot, item, added, vector) VALUES (?, ?, ?, ?, ?)"
        self.connection.many(sql, [(catalogue, *row) for row in rows])

    def remove_items(self, catalogue: int, version: int, slots: Sequence[int]) -> None:
        """Mark slots as empty from a version on, and move the catalogue to that version."""
        sql = "UPDATE items SET removed = ? WHERE catalogue = ? AND slot = ?"
        self.connection.many(sql, [(version, catalogue, slot) for slot in slots])
        self.connection.execute("UPDATE catalogues SET version = ? WHERE id = ?", (version, catalogue))

    # Keys

    def keys(self) -> list[Key]:
        """Return all keys, the revoked ones too."""
        sql = "SELECT id, name, scopes, digest, created_at, revoked_at FROM keys ORDER BY created_at, id"
        return [
            Key(row[0], row[1], tuple(row[2].split()), bytes(row[3]), row[4], row[5])
            for row in self.connection.execute(sql)
        ]

    def add_key(self, key: Key) -> None:
        """Insert a key."""
        row = (key.id, key.name, " ".join(key.scopes), key.digest, key.created_at, key.revoked_at)
        self.connection.execute("INSERT INTO keys VALUES (?, ?, ?, ?, ?, ?)", row)

    def revoke_key(self, id_: str, now: float) -> bool:
        """Revoke a key; return whether there was one that was valid."""
        known = self.connection.execute("SELECT id FROM keys WHERE id = ? AND revoked_at IS NULL", (id_,))
        self.connection.execute("UPDATE keys SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL", (now, id_))
        return bool(known)

    def _in(self, sql: str, policy: int, values: Sequence[Any]) -> list[Row]:
        found: list[Row] = []
        for start in range(0, len(values), _AT_ONCE):
            part = values[start : start + _AT_ONCE]
            found += self.connection.execute(f"{sql} ({', '.join('?' * len(part))})", (policy, *part))
        return found
