"""The follower: reads what is new in every lane, and ends decisions whose time to live is over."""

from __future__ import annotations

import math
from functools import partial
from itertools import takewhile
from typing import TYPE_CHECKING

from eigenbandits.serve.learner.batch import LearnerBatch, Page
from eigenbandits.serve.storage import lanes
from eigenbandits.serve.storage.journal import Journal
from eigenbandits.serve.storage.lane_journal import LaneJournal
from eigenbandits.serve.storage.lanes import CursorRow, TailRow
from eigenbandits.serve.storage.schema import DEFAULT, EXPIRED, GIVEN, RewardRow
from eigenbandits.serve.writer.batch import Batch
from eigenbandits.serve.writer.hosted_policy import HostedPolicy

if TYPE_CHECKING:
    from eigenbandits.serve.learner.learner import Learner

# Numbers of one lane followed in one transaction, and decisions expired in one.
_PAGE, _AT_ONCE = 500, 500


class Follower:
    """Follows all lanes for all policies.

    The tails of all lanes are read at one moment. Everything a caller knew when it sent a reward was committed before
    the reward was, so up to these tails no reward arrives before its decision.
    """

    def __init__(self, learner: Learner) -> None:
        self._learner = learner
        self._cursors: dict[tuple[int, int], CursorRow] = {}
        # When the next decision of a policy in a lane may expire.
        self._expiry: dict[tuple[int, int], float] = {}
        # The last number of each policy in each lane when the learner started.
        self._initial: dict[tuple[int, int], int] = {}

    def load(self, journal: LaneJournal) -> None:
        """Read the cursors, at the start and after a failure."""
        # Decisions of a single-process service have no lane, but they end like the others.
        early = [CursorRow(row.id, 0, journal.last_number(row.id), row.expired_through) for row in journal.policies()]
        self._cursors = {(row.policy, row.lane): row for row in [*early, *journal.cursors()]}
        self._expiry = {}
        self._initial = {(row.policy, row.lane): row.last for row in journal.tails()}

    def behind(self, tails: list[TailRow]) -> dict[int, list[TailRow]]:
        """Return the tails that are ahead of the cursors, by policy."""
        ahead: dict[int, list[TailRow]] = {}
        for tail in tails:
            if tail.last > self._cursor(tail.policy, tail.lane).through:
                ahead.setdefault(tail.policy, []).append(tail)
        return ahead

    def _cursor(self, policy: int, lane: int) -> CursorRow:
        start = lanes.first_of(lane)
        return self._cursors.get((policy, lane), CursorRow(policy, lane, start, start))

    def follow(self, journal: LaneJournal, hosted: HostedPolicy, tails: list[TailRow]) -> bool:
        """Apply one page of what is new for a policy; return whether that succeeded."""
        numbers, arrivals, cursors = [], [], []
        for tail in tails:
            cursor = self._cursor(tail.policy, tail.lane)
            through = min(tail.last, cursor.through + _PAGE)
            numbers += journal.numbers_between(tail.policy, cursor.through, through, _PAGE)
            arrivals += journal.arrivals(tail.policy, cursor.through, through)
            cursors.append(CursorRow(tail.policy, tail.lane, through, cursor.expired))
        page = Page(numbers, arrivals, cursors)
        failure = self._learner.transact(partial(_follow, hosted=hosted, page=page))
        if failure is None:
            self._cursors |= {(row.policy, row.lane): row for row in cursors}
        return failure is None

    # Times to live

    def expire(self, journal: LaneJournal, hosted: HostedPolicy) -> bool:
        """End the decisions of a policy whose time to live is over; return whether there may be more.

        Their rewards go into the learner's lane and are followed from there, like all others. A reward that a caller
        has sent in the meantime is already there, and takes precedence.
        """
        life, now = hosted.lifetime(self._learner.settings.keep_seconds), self._learner.clock.now()
        if life is None:
            return False
        over: list[tuple[float, int]] = []
        moved, more = [], False
        for (policy, lane), cursor in self._cursors.items():
            if policy != hosted.id or cursor.expired >= cursor.through or now < self._expiry.get((policy, lane), 0.0):
                continue
            rows = journal.open_between(policy, cursor.expired, cursor.through, _AT_ONCE)
            resumed = hosted.resumed._replace(
                through=self._initial.get((policy, lane), cursor.through if not lane else 0)
            )
            since = [resumed.waiting_since(number, decided_at) for number, decided_at, _ in rows]
            # Times increase within a lane: the first decision that has not expired determines when to look again.
            ended = rows[: sum(1 for _ in takewhile(lambda moment: moment <= now - life, since))]
            self._expiry[policy, lane] = since[len(ended)] + life if len(ended) < len(rows) else 0.0
            more = more or len(ended) == _AT_ONCE
            if not rows:
                cursor.expired = cursor.through
            if ended:
                moved.append(CursorRow(policy, lane, cursor.through, ended[-1][0]))
                over += [(decided_at, number) for number, decided_at, kind in ended if kind is None]
        if moved:
            self._end(hosted, [number for _, number in sorted(over)], moved)
        return more

    def _end(self, hosted: HostedPolicy, numbers: list[int], moved: list[CursorRow]) -> None:
        lane, now = self._learner.lane, self._learner.clock.now()
        default = hosted.spec.default_reward

        def write(journal: Journal) -> None:
            lanes = LaneJournal(journal.connection)
            # No part of a reward may be recorded between reading the parts and ending their decisions.
            self._learner.database.lock_rewards(journal.connection, hosted.id)
            parts = lanes.parts_of(hosted.id, numbers)
            rows = []
            for number in numbers:
                reward = math.fsum(one.reward for one in parts[number].values()) if number in parts else default
                kind = GIVEN if number in parts else EXPIRED if default is None else DEFAULT
                rows.append(RewardRow(hosted.id, number, reward, kind, now, lane.next()))
            lanes.add_rewards(sorted(rows, key=lambda row: row.number))
            lanes.drop_parts([(hosted.id, number) for number in parts])
            lanes.move_cursors(moved)
            if rows:
                lanes.move_tails({(hosted.id, lane.lane): rows[-1].arrival or 0})

        self._learner.write(write)
        self._cursors |= {(row.policy, row.lane): row for row in moved}

    # Lanes and policies that have ended

    def drop_lanes(self, journal: LaneJournal) -> None:
        """Drop lanes that no process can write to any longer and that have been followed completely."""
        database, own = self._learner.database, self._learner.lane.lane
        others = [row.lane for row in journal.lanes() if row.lane != own]
        over = [lane for lane in others if database.lane_is_over(journal.connection, lane)]
        if not over:
            return
        # Read afterward, so that nothing can have been added since.
        ahead = {tail.lane for tails in self.behind(journal.tails()).values() for tail in tails}
        for lane in over:
            if lane not in ahead:
                self._learner.write(partial(_drop_lane, lane=lane))

    def recheck_expiry(self, policy: int) -> None:
        """Recompute when the next decisions of a policy may expire."""
        self._expiry = {key: moment for key, moment in self._expiry.items() if key[0] != policy}

    def forget(self, policy: int) -> None:
        """Drop everything known about a deleted policy."""
        self.recheck_expiry(policy)
        self._cursors = {key: row for key, row in self._cursors.items() if key[0] != policy}


def _follow(batch: Batch, hosted: HostedPolicy, page: Page) -> None:
    assert isinstance(batch, LearnerBatch)
    batch.follow(hosted, page)


def _drop_lane(journal: Journal, lane: int) -> None:
    LaneJournal(journal.connection).drop_lane(lane)
