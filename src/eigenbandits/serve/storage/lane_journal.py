"""The SQL statements of deciders and their learner: lanes, tails, cursors, and published beliefs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from eigenbandits.serve.errors import StorageError
from eigenbandits.serve.storage import lanes, schema
from eigenbandits.serve.storage.base import Database
from eigenbandits.serve.storage.journal import Journal
from eigenbandits.serve.storage.lanes import BeliefRow, CursorRow, LaneRow, TailRow
from eigenbandits.serve.storage.table import Row

_DIM, _SCORED = "dim-", "scored-"


@dataclass(slots=True)
class Arrival:
    """How a decision ended, in the order of arrival in a lane, with what learning needs to know about the decision."""

    number: int
    reward: float | None
    kind: str
    index: int
    content: bytes
    chooser: int | None


class Lane:
    """A connection's lane, which assigns its numbers in order.

    Parameters
    ----------
    lane
        The lane's number.
    """

    def __init__(self, lane: int) -> None:
        self.lane = lane
        self._last = lanes.first_of(lane)

    def next(self) -> int:
        """Return the next number."""
        if self._last >= lanes.last_of(self.lane):
            raise StorageError("the lane is full; a new connection opens another one")
        self._last += 1
        return self._last


class LaneJournal(Journal):
    """A journal with lanes."""

    # Lanes

    def has_lanes(self) -> bool:
        """Return whether the database is served by deciders and a learner."""
        return bool(self.connection.execute("SELECT value FROM meta WHERE name = ?", (lanes.LAST_LANE,)))

    def open_lane(self, database: Database, owner: str, now: float, first: bool = False) -> Lane:
        """Open a lane for this connection.

        Parameters
        ----------
        first
            Whether this may be the first lane of the database, as a learner's may be.
        """
        with self.connection.transaction():
            if first:
                self.connection.execute("INSERT INTO meta VALUES (?, '0') ON CONFLICT DO NOTHING", (lanes.LAST_LANE,))
            # The update comes first, so that others that open a lane at the same time wait.
            sql = "UPDATE meta SET value = CAST(CAST(value AS BIGINT) + 1 AS TEXT) WHERE name = ?"
            self.connection.execute(sql, (lanes.LAST_LANE,))
            rows = self.connection.execute("SELECT value FROM meta WHERE name = ?", (lanes.LAST_LANE,))
            if not rows:
                raise StorageError("no learner has opened this database yet; start one with `eigenbandits learner`")
            lane = int(rows[0][0])
            if lane >= lanes.MOST_LANES:
                raise StorageError("there is no room for another lane; move to a new database")
            # Before the lane becomes visible: the learner treats a lane that no process holds as ended.
            database.hold_lane(self.connection, lane)
            self.add(lanes.LANES, [LaneRow(lane, owner, now)])
        return Lane(lane)

    def lanes(self) -> list[LaneRow]:
        """Return the lanes that have not been dropped."""
        return self._rows(lanes.LANES, "ORDER BY lane")

    def drop_lane(self, lane: int) -> None:
        """Drop a lane that has ended and been followed completely; its cursors stay, since they track times to live."""
        self.connection.execute("DELETE FROM tails WHERE lane = ?", (lane,))
        self.connection.execute("DELETE FROM lanes WHERE lane = ?", (lane,))

    def tails(self) -> list[TailRow]:
        """Return the last number of each policy in each lane, as of one moment."""
        return self._rows(lanes.TAILS, "ORDER BY policy, lane")

    def move_tails(self, tails: Mapping[tuple[int, int], int]) -> None:
        """Write the last numbers, by policy and lane."""
        sql = f"{lanes.TAILS.insert} ON CONFLICT (policy, lane) DO UPDATE SET last = excluded.last"
        self.connection.many(sql, [(policy, lane, last) for (policy, lane), last in tails.items()])

    def cursors(self) -> list[CursorRow]:
        """Return how far each policy has been followed in each lane."""
        return self._rows(lanes.CURSORS, "ORDER BY policy, lane")

    def move_cursors(self, cursors: Sequence[CursorRow]) -> None:
        """Write cursors."""
        moved = "through = excluded.through, expired = excluded.expired"
        sql = f"{lanes.CURSORS.insert} ON CONFLICT (policy, lane) DO UPDATE SET {moved}"
        self.connection.many(sql, [lanes.CURSORS.values(row) for row in cursors])

    # What deciders write

    def add_decisions(self, rows: Sequence[Row]) -> None:
        """Insert the values of decisions' rows, except of those whose request id already has a decision."""
        self.connection.many(f"{schema.DECISIONS.insert} ON CONFLICT DO NOTHING", rows)

    def drop_decisions(self, policy: int, numbers: Sequence[int]) -> None:
        """Delete decisions of the open transaction."""
        sql = "DELETE FROM decisions WHERE policy = ? AND number = ?"
        self.connection.many(sql, [(policy, number) for number in numbers])

    def add_rewards(self, rows: Sequence[schema.RewardRow]) -> None:
        """Insert rewards, except those whose decision has already ended."""
        values = [schema.REWARDS.values(row) for row in rows]
        self.connection.many(f"{schema.REWARDS.insert} ON CONFLICT DO NOTHING", values)

    def numbers_for(self, policy: int, requests: Sequence[str]) -> dict[str, int]:
        """Return the numbers of the decisions made for these request ids."""
        sql = "SELECT request, number FROM decisions WHERE policy = ? AND request"
        return dict(self._found_in(sql, policy, requests))

    # What the learner reads

    def numbers_between(self, policy: int, after: int, through: int, limit: int) -> list[int]:
        """Return the numbers of decisions after a number and up to another."""
        sql = "SELECT number FROM decisions WHERE policy = ? AND number > ? AND number <= ? ORDER BY number LIMIT ?"
        return [row[0] for row in self.connection.execute(sql, (policy, after, through, limit))]

    def last_number(self, policy: int) -> int:
        """Return the last number of a policy's decisions without a lane."""
        sql = "SELECT COALESCE(MAX(number), 0) FROM decisions WHERE policy = ? AND number <= ?"
        return int(self.connection.execute(sql, (policy, lanes.last_of(0)))[0][0])

    def arrivals(self, policy: int, after: int, through: int) -> list[Arrival]:
        """Return how decisions ended, in the order of arrival in a lane."""
        sql = (
            "SELECT r.number, r.reward, r.kind, d.chosen, d.content, d.arm FROM rewards r "
            "JOIN decisions d ON d.policy = r.policy AND d.number = r.number "
            "WHERE r.policy = ? AND r.arrival > ? AND r.arrival <= ? ORDER BY r.arrival"
        )
        rows = self.connection.execute(sql, (policy, after, through))
        return [
            Arrival(number, reward, kind, index, bytes(content), chooser)
            for number, reward, kind, index, content, chooser in rows
        ]

    def open_between(self, policy: int, after: int, through: int, limit: int) -> list[Row]:
        """Return number, time and kind of reward (None if none) of the decisions after a number and up to another."""
        sql = (
            "SELECT d.number, d.decided_at, r.kind FROM decisions d "
            "LEFT JOIN rewards r ON r.policy = d.policy AND r.number = d.number "
            "WHERE d.policy = ? AND d.number > ? AND d.number <= ? ORDER BY d.number LIMIT ?"
        )
        return self.connection.execute(sql, (policy, after, through, limit))

    # Beliefs

    def publish(self, row: BeliefRow) -> None:
        """Replace the belief by which deciders choose."""
        self.add(lanes.BELIEFS, [row])
        self.connection.execute("DELETE FROM beliefs WHERE policy = ? AND version < ?", (row.policy, row.version))

    def versions(self) -> dict[int, int]:
        """Return the version of each policy's published belief."""
        return dict(self.connection.execute("SELECT policy, MAX(version) FROM beliefs GROUP BY policy"))

    def belief(self, policy: int) -> BeliefRow | None:
        """Return a policy's belief, if one has been published."""
        rows = self._rows(lanes.BELIEFS, "WHERE policy = ? ORDER BY version DESC LIMIT 1", (policy,))
        return rows[0] if rows else None

    def note_caught_up(self, now: float) -> None:
        """Record that the learner has followed everything that existed at a time."""
        sql = "INSERT INTO meta VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value"
        self.connection.execute(sql, (lanes.CAUGHT_UP, repr(now)))

    def caught_up(self) -> float | None:
        """Return the last time at which the learner had followed everything."""
        rows = self.connection.execute("SELECT value FROM meta WHERE name = ?", (lanes.CAUGHT_UP,))
        return float(rows[0][0]) if rows else None

    # What the first decision of a policy fixes: the length of its vectors, and whether there are scores

    def fix_dim(self, policy: int, dim: int) -> int:
        """Return the length of a policy's vectors, which is this one unless another decider has fixed it."""
        return self._fix(f"{_DIM}{policy}", dim)

    def fix_scored(self, policy: int, scored: bool) -> bool:
        """Return whether a policy's decisions have scores, which is this value unless another decider has fixed it."""
        return bool(self._fix(f"{_SCORED}{policy}", int(scored)))

    def _fix(self, name: str, value: int) -> int:
        self.connection.execute("INSERT INTO meta VALUES (?, ?) ON CONFLICT DO NOTHING", (name, str(value)))
        return int(self.connection.execute("SELECT value FROM meta WHERE name = ?", (name,))[0][0])

    def dims(self) -> dict[int, int]:
        """Return the vector lengths that have been fixed, by policy."""
        return self._fixed(_DIM)

    def scored(self) -> dict[int, bool]:
        """Return whether decisions have scores, for the policies for which this has been fixed."""
        return {policy: bool(value) for policy, value in self._fixed(_SCORED).items()}

    def _fixed(self, prefix: str) -> dict[int, int]:
        rows = self.connection.execute("SELECT name, value FROM meta WHERE name LIKE ?", (f"{prefix}%",))
        return {int(name.removeprefix(prefix)): int(value) for name, value in rows}
