"""The service's SQL statements: rows written to the tables and read back."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from operator import attrgetter
from typing import Any, TypeVar

from eigenbandits.serve.storage import schema
from eigenbandits.serve.storage.base import Connection
from eigenbandits.serve.storage.table import Row, Table

R = TypeVar("R")
# Values in one IN list, and rows read at a time.
_AT_ONCE = 500
# Seconds covered by one row of the history.
BUCKET = 10
_HEAD = [one.name for one in fields(schema.Head)]
_head_values = attrgetter(*_HEAD, "id")
_WITH_REWARD = "LEFT JOIN rewards r ON r.policy = d.policy AND r.number = d.number"
_NEXT = "WHERE d.policy = ? AND d.number > ? ORDER BY d.number LIMIT ?"


class Journal:
    """The tables, accessed through one connection."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    def new_id(self) -> int:
        """Return a number that no policy or catalogue has ever had, including deleted ones."""
        self.connection.execute("INSERT INTO meta VALUES ('last_id', '0') ON CONFLICT DO NOTHING")
        last = int(self.connection.execute("SELECT value FROM meta WHERE name = 'last_id'")[0][0])
        self.connection.execute("UPDATE meta SET value = ? WHERE name = 'last_id'", (str(last + 1),))
        return last + 1

    def try_writing(self) -> None:
        """Write as much as a batch might and delete it again; fails if there is no space."""
        self.connection.execute("INSERT INTO meta VALUES ('trial', ?) ON CONFLICT DO NOTHING", ("x" * 2**18,))
        self.connection.execute("DELETE FROM meta WHERE name = 'trial'")

    def add(self, table: Table[R], rows: Sequence[R]) -> None:
        """Insert rows into a table; an existing key fails the transaction."""
        self.connection.many(table.insert, [table.values(row) for row in rows])

    # Policies

    def policies(self) -> list[schema.PolicyRow]:
        """Return every policy."""
        return self._rows(schema.POLICIES, "ORDER BY id")

    def change_spec(self, id_: int, spec: str) -> None:
        """Replace the settings of a policy."""
        self.connection.execute("UPDATE policies SET spec = ? WHERE id = ?", (spec, id_))

    def drop_policy(self, id_: int) -> None:
        """Delete a policy; everything that belongs to it becomes garbage."""
        self.connection.execute("DELETE FROM policies WHERE id = ?", (id_,))
        self.connection.execute("DELETE FROM meta WHERE name LIKE ?", (f"merge {id_} %",))
        self.add_garbage("policy", id_)

    def move_heads(self, heads: Sequence[schema.PolicyRow]) -> None:
        """Write the heads of these policies' logs."""
        columns = ", ".join(f"{name} = ?" for name in _HEAD)
        self.connection.many(f"UPDATE policies SET {columns} WHERE id = ?", [_head_values(head) for head in heads])

    def move_pruned(self, policy: int, through: int) -> None:
        """Write how far a policy's decision sets have been pruned."""
        self.connection.execute("UPDATE policies SET pruned_through = ? WHERE id = ?", (through, policy))

    def drop_log(self, policy: int, numbers: Sequence[int], through: int) -> None:
        """Delete a policy's events up to a position, and the decisions that ended in them."""
        for table in (schema.DECISIONS, schema.REWARDS, schema.PARTS):
            sql = f"DELETE FROM {table.name} WHERE policy = ? AND number = ?"
            self.connection.many(sql, [(policy, number) for number in numbers])
        self.connection.execute("DELETE FROM events WHERE policy = ? AND position <= ?", (policy, through))
        self.connection.execute("UPDATE policies SET dropped_through = ? WHERE id = ?", (through, policy))

    # Garbage: rows of policies and catalogues that no longer exist, or do not exist yet. Ids are never reused, so
    # nothing sees these rows, and they can be deleted a batch at a time.

    def add_garbage(self, kind: str, id_: int) -> None:
        """Mark the rows of a policy or a catalogue for deletion."""
        self.connection.execute("INSERT INTO meta VALUES (?, '') ON CONFLICT DO NOTHING", (f"garbage {kind} {id_}",))

    def keep_garbage(self, kind: str, id_: int) -> None:
        """Unmark these rows, which are not to be deleted after all."""
        self.connection.execute("DELETE FROM meta WHERE name = ?", (f"garbage {kind} {id_}",))

    def garbage(self) -> list[tuple[str, int]]:
        """Return kind and id of everything whose rows are to be deleted."""
        found = []
        for (name,) in self.connection.execute("SELECT name FROM meta WHERE name LIKE ?", ("garbage %",)):
            _, kind, id_ = name.split()
            found.append((kind, int(id_)))
        return found

    def sweep(self, kind: str, id_: int, limit: int) -> bool:
        """Delete some of these rows; return whether there are more."""
        for table in schema.OF_A_POLICY if kind == "policy" else (schema.ITEMS,):
            owner, column = table.key.split(", ")[:2]
            some = f"SELECT {column} FROM {table.name} WHERE {owner} = ? ORDER BY {column} LIMIT ?"
            if self.connection.execute(some, (id_, 1)):
                sql = f"DELETE FROM {table.name} WHERE {owner} = ? AND {column} IN ({some})"
                self.connection.execute(sql, (id_, id_, limit))
                return True
        self.keep_garbage(kind, id_)
        return False

    def note_merge(self, policy: int, request: str, digest: str) -> str | None:
        """Record what a policy was merged with under a request id; return the earlier record if there is one."""
        name = f"merge {policy} {request}"
        rows = self.connection.execute("SELECT value FROM meta WHERE name = ?", (name,))
        if rows:
            return str(rows[0][0])
        self.add(schema.META, [schema.MetaRow(name, digest)])
        return None

    # The log

    def events(self, policy: int, after: int, through: int) -> Iterator[schema.EventRow]:
        """Yield the events after a position and up to another, in order."""
        sql = "WHERE policy = ? AND position > ? AND position <= ? ORDER BY position LIMIT ?"
        while rows := self._rows(schema.EVENTS, sql, (policy, after, through, _AT_ONCE)):
            yield from rows
            after = rows[-1].position

    def decisions(self, policy: int, first: int, count: int) -> list[schema.DecisionRow]:
        """Return `count` consecutive decisions."""
        sql = "WHERE policy = ? AND number >= ? AND number < ? ORDER BY number"
        return self._rows(schema.DECISIONS, sql, (policy, first, first + count))

    def decisions_of(self, policy: int, numbers: Sequence[int]) -> dict[int, schema.DecisionRow]:
        """Return these decisions by number."""
        return {row.round: row for row in self._rows_in(schema.DECISIONS, policy, "number", numbers)}

    def heads_of(self, policy: int, numbers: Sequence[int], size: int) -> dict[int, bytes]:
        """Return the first bytes of these decisions' contents, by number."""
        sql = f"SELECT number, substr(content, 1, {size}) FROM decisions WHERE policy = ? AND number"
        return {number: bytes(head) for number, head in self._found_in(sql, policy, numbers)}

    def origins_of(self, policy: int, numbers: Sequence[int]) -> dict[int, tuple[int | None, int | None]]:
        """Return the epoch of these decisions and who chose, by number."""
        sql = "SELECT number, epoch, arm FROM decisions WHERE policy = ? AND number"
        return {number: (epoch, chooser) for number, epoch, chooser in self._found_in(sql, policy, numbers)}

    def decisions_for(self, policy: int, requests: Sequence[str]) -> dict[str | None, schema.DecisionRow]:
        """Return the decisions made for these request ids, by request id."""
        return {row.request: row for row in self._rows_in(schema.DECISIONS, policy, "request", requests)}

    def replace_contents(self, policy: int, contents: Mapping[int, bytes]) -> None:
        """Replace the contents of these decisions, by number, with smaller ones."""
        sql = "UPDATE decisions SET content = ? WHERE policy = ? AND number = ?"
        self.connection.many(sql, [(content, policy, number) for number, content in contents.items()])

    def rewards_of(self, policy: int, numbers: Sequence[int]) -> dict[int, schema.RewardRow]:
        """Return the rewards of those of these decisions that have one, by number."""
        return {row.number: row for row in self._rows_in(schema.REWARDS, policy, "number", numbers)}

    def parts_of(self, policy: int, numbers: Sequence[int]) -> dict[int, dict[str, schema.PartRow]]:
        """Return the recorded rewards of decisions that wait for the end of their time to live, by number and part."""
        parts: dict[int, dict[str, schema.PartRow]] = {}
        for row in self._rows_in(schema.PARTS, policy, "number", numbers):
            parts.setdefault(row.number, {})[row.part] = row
        return parts

    def put_parts(self, rows: Sequence[schema.PartRow]) -> None:
        """Add parts of rewards, or replace them."""
        sql = f"{schema.PARTS.insert} ON CONFLICT ({schema.PARTS.key}) DO UPDATE SET "
        sql += "reward = excluded.reward, rewarded_at = excluded.rewarded_at"
        self.connection.many(sql, [schema.PARTS.values(row) for row in rows])

    def drop_parts(self, ended: Sequence[tuple[int, int]]) -> None:
        """Delete the parts of rewards that have been learned, by policy and number."""
        self.connection.many("DELETE FROM parts WHERE policy = ? AND number = ?", ended)

    def next_open(self, policy: int, after: int, limit: int) -> list[Row]:
        """Return number, time and kind of reward (None if there is none) of the decisions after a number."""
        sql = f"SELECT d.number, d.decided_at, r.kind FROM decisions d {_WITH_REWARD} {_NEXT}"
        return self.connection.execute(sql, (policy, after, limit))

    def exported(self, policy: int, after: int, limit: int) -> list[tuple[schema.DecisionRow, schema.RewardRow | None]]:
        """Return the decisions after a number, each with its reward."""
        columns = [f"d.{name}" for name in schema.DECISIONS.columns] + [f"r.{name}" for name in schema.REWARDS.columns]
        sql = f"SELECT {', '.join(columns)} FROM decisions d {_WITH_REWARD} {_NEXT}"
        size = len(schema.DECISIONS.columns)
        found: list[tuple[schema.DecisionRow, schema.RewardRow | None]] = []
        for row in self.connection.execute(sql, (policy, after, limit)):
            decision, reward = row[:size], row[size:]
            found.append((schema.DECISIONS.read(decision), None if reward[0] is None else schema.REWARDS.read(reward)))
        return found

    # The history

    def add_to(self, table: Table[R], rows: Sequence[R]) -> None:
        """Add to the counts in a table: those of the history, or by who chose."""
        counted = [name for name in table.columns if name not in table.key.split(", ")]
        sums = ", ".join(f"{name} = {table.name}.{name} + excluded.{name}" for name in counted)
        sql = f"{table.insert} ON CONFLICT ({table.key}) DO UPDATE SET {sums}"
        self.connection.many(sql, [table.values(row) for row in rows])

    def choosers(self, policy: int) -> dict[int, schema.ChooserRow]:
        """Return the rewards of a policy's decisions by who chose."""
        return {row.chooser: row for row in self._rows(schema.CHOOSERS, "WHERE policy = ?", (policy,))}

    def history(self, policy: int, since: float, until: float) -> list[schema.HistoryRow]:
        """Return the history between two times, oldest first."""
        sql = "WHERE policy = ? AND start >= ? AND start <= ? ORDER BY start"
        return self._rows(schema.HISTORY, sql, (policy, int(since), int(until)))

    def drop_history(self, before: float) -> None:
        """Delete the history before a time."""
        self.connection.execute("DELETE FROM history WHERE start < ?", (int(before),))

    # Catalogues

    def catalogues(self) -> list[schema.CatalogueRow]:
        """Return every catalogue."""
        return self._rows(schema.CATALOGUES, "ORDER BY id")

    def drop_catalogue(self, id_: int) -> None:
        """Delete a catalogue; its items become garbage."""
        self.connection.execute("DELETE FROM catalogues WHERE id = ?", (id_,))
        self.add_garbage("catalogue", id_)

    def items(self, catalogue: int, after: int = -1) -> Iterator[schema.ItemRow]:
        """Yield the items of a catalogue after a slot, ordered by slot."""
        sql, slot = "WHERE catalogue = ? AND slot > ? ORDER BY slot LIMIT ?", after
        while rows := self._rows(schema.ITEMS, sql, (catalogue, slot, _AT_ONCE)):
            yield from rows
            slot = rows[-1].slot

    def item_names(self, catalogue: str, slots: Sequence[int]) -> dict[int, str]:
        """Return the ids of the items in these slots of a catalogue, given by its name."""
        sql = "SELECT i.slot, i.item FROM items i JOIN catalogues c ON c.id = i.catalogue WHERE c.name = ? AND i.slot"
        return dict(self._found_in(sql, catalogue, slots))

    def drop_unfinished_items(self) -> None:
        """Undo interrupted uploads, whose changes belong to a version that their catalogue never reached."""
        for row in self.catalogues():
            known = row.id, row.version
            self.connection.execute("DELETE FROM items WHERE catalogue = ? AND added > ?", known)
            self.connection.execute("UPDATE items SET removed = NULL WHERE catalogue = ? AND removed > ?", known)

    def removed_items(self, catalogue: int, after: int, through: int) -> list[Row]:
        """Return the slots emptied after a version and up to another, each with the version in which it was emptied."""
        sql = "SELECT slot, removed FROM items WHERE catalogue = ? AND removed > ? AND removed <= ?"
        return self.connection.execute(sql, (catalogue, after, through))

    def remove_items(self, catalogue: int, version: int, slots: Sequence[int]) -> None:
        """Mark slots as empty from a version on, effective once the catalogue has moved to that version."""
        sql = "UPDATE items SET removed = ? WHERE catalogue = ? AND slot = ?"
        self.connection.many(sql, [(version, catalogue, slot) for slot in slots])

    def move_catalogue(self, catalogue: int, version: int) -> None:
        """Move a catalogue to a version."""
        self.connection.execute("UPDATE catalogues SET version = ? WHERE id = ?", (version, catalogue))

    # Keys

    def keys(self) -> list[schema.KeyRow]:
        """Return all keys, including revoked ones."""
        return self._rows(schema.KEYS, "ORDER BY created_at, id")

    def revoke_key(self, id_: str, now: float) -> bool:
        """Revoke a key; return whether it was valid."""
        known = self._rows(schema.KEYS, "WHERE id = ? AND revoked_at IS NULL", (id_,))
        self.connection.execute("UPDATE keys SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL", (now, id_))
        return bool(known)

    # Rows of any table

    def _rows(self, table: Table[R], sql: str, values: Sequence[Any] = ()) -> list[R]:
        return [table.read(row) for row in self.connection.execute(f"{table.select} {sql}", values)]

    def _rows_in(self, table: Table[R], policy: int, column: str, keys: Sequence[Any]) -> list[R]:
        sql = f"{table.select} WHERE policy = ? AND {column}"
        return [table.read(row) for row in self._found_in(sql, policy, keys)]

    def _found_in(self, sql: str, owner: int | str, keys: Sequence[Any]) -> list[Row]:
        """Return the rows of a statement that takes an owner and then `IN`, for which there is a limit, and keys."""
        rows: list[Row] = []
        for start in range(0, len(keys), _AT_ONCE):
            part = keys[start : start + _AT_ONCE]
            rows += self.connection.execute(f"{sql} IN ({', '.join('?' * len(part))})", (owner, *part))
        return rows
