"""The learner: the only process that learns, from what all deciders have logged."""

import logging
import os
import socket
import time
from collections.abc import Sequence
from functools import partial

from eigenbandits.policy import files
from eigenbandits.serve.clock import Clock
from eigenbandits.serve.errors import PolicyError, Refusal, internal
from eigenbandits.serve.learner.batch import LearnerBatch
from eigenbandits.serve.learner.follower import Follower
from eigenbandits.serve.logs import log_event
from eigenbandits.serve.settings import Settings
from eigenbandits.serve.storage import Database
from eigenbandits.serve.storage.journal import Journal
from eigenbandits.serve.storage.lane_journal import Lane, LaneJournal
from eigenbandits.serve.writer import recovery
from eigenbandits.serve.writer.batch import Batch
from eigenbandits.serve.writer.commands import Command, Task, reject
from eigenbandits.serve.writer.hosted_policy import HostedPolicy
from eigenbandits.serve.writer.maintenance import Maintenance
from eigenbandits.serve.writer.policy_spec import PolicySpec
from eigenbandits.serve.writer.registry import BrokenPolicy
from eigenbandits.serve.writer.shared_writer import SharedWriter

# Seconds between checks of the lanes, between runs of the rarer duties, and between reports of having caught up.
_POLL, _RARELY, _REPORT = 0.2, 5.0, 1.0
# Publishing a belief may take this share of the learner's time; one that takes longer is published less often.
_SHARE = 0.1
# The relative growth in rewards after which a belief is published sooner.
_GROWTH = 0.1


class Learner(SharedWriter):
    """The writer of a service with deciders: its events come from the lanes, not from requests.

    The order of the events is the order in which it follows the lanes; the log records it, and leads to the same state
    bit for bit.
    """

    def __init__(self, settings: Settings, database: Database, clock: Clock | None = None) -> None:
        super().__init__(settings, database, clock)
        self.tick = _POLL
        self.lane = Lane(0)
        self.follower = Follower(self)

    def make_maintenance(self) -> Maintenance:
        """Return the object that follows the lanes."""
        return Following(self)

    def make_batch(self, journal: Journal, before: Sequence[Batch]) -> Batch:
        """Return an empty batch."""
        return LearnerBatch(self.registry.policies, journal, before, self.metrics, self.clock.now(), self.epoch)

    def submit(self, *commands: Command) -> None:
        """Refuse decisions and rewards, which are the deciders' job."""
        tasks = [command for command in commands if isinstance(command, Task)]
        message = "This is the learner; send decisions and rewards to a decider."
        reject([one for one in commands if not isinstance(one, Task)], Refusal(421, "not_a_decider", message))
        super().submit(*tasks)

    def clean(self, journal: Journal) -> None:
        """Resume deletions and uploads that were interrupted, unless one is in progress."""
        assert self._writing is not None
        self.flush()
        if self.database.lock_administration(self._writing.connection):
            try:
                super().clean(journal)
            finally:
                self.database.unlock_administration(self._writing.connection)

    def _connect(self) -> None:
        """Connect, become the only learner, and open a lane for decisions that expire."""
        self._writing = Journal(self.database.connect())
        self.database.claim(self._writing.connection)
        owner = f"{socket.gethostname()} {os.getpid()} learner"[:200]
        lanes = LaneJournal(self._writing.connection)
        self.lane = lanes.open_lane(self.database, owner, self.clock.now(), first=True)
        self.follower.load(lanes)
        self._reading = Journal(self.database.connect())
        self._committer.start(self._writing)

    def recheck_expiry(self, policy: int) -> None:
        """Recompute when the decisions of a policy expire, after its time to live has changed."""
        self.follower.recheck_expiry(policy)

    def refresh(self, journal: Journal) -> None:
        """Apply other processes' changes to policies and catalogues."""
        rows = journal.policies()
        self.registry.catalogues = recovery.refresh_catalogues(journal, self.registry.catalogues)
        ids = {row.id for row in rows}
        broken = {one.id for one in self.registry.broken.values()}
        known = self.registry.policies
        for row in rows:
            if row.id in known and known[row.id].head.spec != row.spec:
                known[row.id].head.spec, known[row.id].spec = row.spec, PolicySpec.from_text(row.spec)
                self.recheck_expiry(row.id)
        fresh = self._load([row for row in rows if row.id not in known and row.id not in broken])
        deleted = [hosted for id_, hosted in known.items() if id_ not in ids]
        for name in [name for name, one in self.registry.broken.items() if one.id not in ids]:
            del self.registry.broken[name]
        if fresh or deleted:
            self.registry.publish([hosted for id_, hosted in known.items() if id_ in ids] + fresh)
        for hosted in deleted:
            self.follower.forget(hosted.id)
            self.database.drop_snapshots(journal.connection, hosted.id)
            self.database.drop_beliefs(hosted.id)
            self.forget(hosted.id, hosted.name)

    def drop_orphans(self, policy: int) -> None:
        """Delete what a decider wrote for a policy just after it was deleted."""
        if policy not in {one.id for one in self.registry.broken.values()}:
            self.write(lambda journal: journal.add_garbage("policy", policy))
            self.discard("policy", policy)

    def leave_out(self, hosted: HostedPolicy, reason: str) -> None:
        """Continue without a policy that cannot follow its log."""
        self.registry.broken[hosted.name] = BrokenPolicy(hosted.id, reason)
        self.registry.publish([one for one in self.registry.policies.values() if one.id != hosted.id])
        log_event("policy left out", logging.ERROR, policy=hosted.name, reason=reason)


class Following(Maintenance):
    """The learner's recurring duties: follow, expire, publish, and what every writer does."""

    def __init__(self, writer: Learner) -> None:
        super().__init__(writer)
        self._learner = writer
        self._rarely = self._report = self._looked = 0.0
        # For each policy: the version published last, the earliest time of the next (sooner with many new rewards), and
        # the number of rewards in it.
        self._version: dict[int, int] = {}
        self._earliest: dict[tuple[int, bool], float] = {}
        self._rewards: dict[int, int] = {}

    def run(self, journal: Journal) -> None:
        """Do what is due."""
        learner, lanes, now = self._learner, LaneJournal(journal.connection), time.monotonic()
        tails = learner.follower.behind(lanes.tails())
        if tails or now >= self._looked + _REPORT:
            self._looked = now
            # After the tails, so that every policy and item named in what follows is known.
            learner.refresh(journal)
        for id_ in list(tails):
            hosted = learner.registry.policies.get(id_)
            if hosted is None:
                del tails[id_]
                learner.drop_orphans(id_)
            elif not learner.follower.follow(lanes, hosted, tails[id_]):
                learner.leave_out(learner.registry.policies.get(id_, hosted), "it refuses what its log says")
        learner.flush()
        more = False
        for hosted in list(learner.registry.policies.values()):
            more = learner.follower.expire(lanes, hosted) or more
            self._publish(hosted, lanes)
        if now >= self._rarely + _RARELY:
            self._rarely = now
            learner.follower.drop_lanes(lanes)
            if not self.garbage:
                learner.clean(journal)
        if not tails and now >= self._report + _REPORT:
            self._report = now
            caught_up = learner.clock.now()
            learner.write(lambda journal: LaneJournal(journal.connection).note_caught_up(caught_up))
        super().run(journal)
        learner.tick = 0.0 if tails or more else _POLL

    def _expire(self, journal: Journal, hosted: HostedPolicy) -> None:
        """Do nothing: the follower ends decisions, including those from before there were lanes."""

    def _publish(self, hosted: HostedPolicy, journal: LaneJournal) -> None:
        """Publish the belief of a policy if it has changed and is due."""
        learner, settings, now = self._learner, self._learner.settings, time.monotonic()
        if hosted.id not in self._version:
            self._version[hosted.id] = journal.versions().get(hosted.id, 0)
        if hosted.head.position == self._version[hosted.id]:
            return
        learned = hosted.head.rewards + hosted.head.defaults
        # The first beliefs of a policy matter more than later ones: a tenth more rewards is enough to publish.
        enough = min(settings.publish_rewards, max(1.0, _GROWTH * learned))
        soon = learned - self._rewards.get(hosted.id, 0) >= enough
        if self._version[hosted.id] and now < self._earliest.get((hosted.id, soon), 0.0):
            return
        failure = learner.transact(partial(_publish, hosted=hosted, database=learner.database))
        learner.flush()
        if failure is not None:
            learner.leave_out(hosted, "its belief cannot be published")
            return
        cost = time.monotonic() - now
        self._version[hosted.id], self._rewards[hosted.id] = hosted.head.position, learned
        self._earliest[hosted.id, True] = now + cost / _SHARE
        self._earliest[hosted.id, False] = now + max(settings.publish_seconds, cost / _SHARE)


def _publish(batch: Batch, hosted: HostedPolicy, database: Database) -> None:
    assert isinstance(batch, LearnerBatch)
    try:
        hosted.follow_subspace()
        content = files.to_bytes(hosted.policy)
    except Exception as error:
        raise PolicyError((), internal()) from error
    # Before the event that names it, which is the next one.
    batch.publish(hosted, database.store_belief(hosted.id, hosted.head.position + 1, content))
