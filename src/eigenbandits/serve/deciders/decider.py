"""The decider: answers requests from the catalogues and the beliefs that were published last."""

from __future__ import annotations

import logging
import os
import socket
import time
from collections.abc import Sequence
from typing import cast

from eigenbandits.policy import Policy
from eigenbandits.serve.clock import Clock
from eigenbandits.serve.deciders.batch import DeciderBatch
from eigenbandits.serve.deciders.published_policy import PublishedPolicy
from eigenbandits.serve.errors import Refusal, ReplayError, unavailable
from eigenbandits.serve.logs import log_event
from eigenbandits.serve.settings import Settings
from eigenbandits.serve.storage import Database
from eigenbandits.serve.storage.journal import Journal
from eigenbandits.serve.storage.lane_journal import Lane, LaneJournal
from eigenbandits.serve.storage.schema import PolicyRow
from eigenbandits.serve.writer import recovery
from eigenbandits.serve.writer.batch import Batch
from eigenbandits.serve.writer.catalogue import Catalogue
from eigenbandits.serve.writer.hosted_policy import HostedPolicy
from eigenbandits.serve.writer.maintenance import Maintenance
from eigenbandits.serve.writer.policy_spec import PolicySpec
from eigenbandits.serve.writer.registry import BrokenPolicy
from eigenbandits.serve.writer.shared_writer import SharedWriter

# Seconds between two looks for new beliefs, policies, catalogues and keys.
_POLL = 0.25
# Reading a belief may take this part of a decider's time; one that takes longer to read is read less often.
_SHARE = 0.1
# Unknown names that are remembered.
_NAMES = 1000


class Decider(SharedWriter):
    """The same queue, threads and group commit as in the single-process service, around policies that never learn.

    What it commits is numbered in a lane of its own, which a learner follows. It holds no state that matters: any
    number of deciders may serve one database, and each may end at any moment.
    """

    def __init__(self, settings: Settings, database: Database, clock: Clock | None = None) -> None:
        super().__init__(settings, database, clock)
        self._lane: Lane | None = None
        self._caught_up: float | None = None
        # For each policy, when its belief may be read again.
        self._next_read: dict[int, float] = {}
        # When each unknown name was first requested, and when the database was last read.
        self._asked: dict[str, float] = {}
        self._refreshed = 0.0

    def make_maintenance(self) -> Maintenance:
        """Return what looks for new beliefs."""
        return Polling(self)

    def make_batch(self, journal: Journal, before: Sequence[Batch]) -> Batch:
        """Return an empty batch in the lane of this process."""
        assert self._lane is not None
        policies = cast(dict[int, PublishedPolicy], self.registry.policies)
        return DeciderBatch(self._lane, self.database, policies, journal, self.metrics, self.clock.now(), self.epoch)

    def host(self, row: PolicyRow, catalogue: Catalogue | None, policy: Policy | None) -> HostedPolicy:
        """Return a policy without a belief, which only the learner publishes."""
        return PublishedPolicy(row, catalogue)

    def refuse_unknown(self, name: str) -> None:
        """Refuse a name for the moment that another process may have created a moment ago."""
        super().refuse_unknown(name)
        now = time.monotonic()
        asked = self._asked.setdefault(name, now)
        while len(self._asked) > _NAMES:
            del self._asked[next(iter(self._asked))]
        if self._refreshed < asked:
            raise unavailable("it has to look whether there is such a policy")
        # It may be created tomorrow: whoever asks again is looked up again.
        del self._asked[name]

    @property
    def belief_age(self) -> float | None:
        """How many seconds ago the learner had followed everything there was; grows while it is down or behind."""
        return None if self._caught_up is None else max(0.0, self.clock.now() - self._caught_up)

    def clean(self, journal: Journal) -> None:
        """Nothing to do: the learner takes up what was cut off."""

    def discard(self, kind: str, id_: int) -> None:
        """Nothing to do: the learner removes the rows."""

    def discard_items(self, catalogue: Catalogue) -> None:
        """Do nothing, for the same reason."""

    def _connect(self) -> None:
        """Connect, and open a lane."""
        self._reading = Journal(self.database.connect())
        # Before there is a lane, for which there must be a learner: who may ask does not depend on it.
        self.reload_keys()
        self._writing = Journal(self.database.connect())
        owner = f"{socket.gethostname()} {os.getpid()}"[:200]
        self._lane = LaneJournal(self._writing.connection).open_lane(self.database, owner, self.clock.now())
        self._committer.start(self._writing)

    def _load(self, rows: Sequence[PolicyRow]) -> list[HostedPolicy]:
        """Return policies as they were published."""
        assert self._reading is not None
        found: list[HostedPolicy] = []
        for row in rows:
            hosted = self._read(LaneJournal(self._reading.connection), row)
            if hosted is not None:
                found.append(hosted)
        return found

    def refresh(self, journal: Journal) -> None:
        """Take over what other processes have changed: policies, catalogues, beliefs and the counts of the log."""
        started, lanes = time.monotonic(), LaneJournal(journal.connection)
        rows, versions, dims, scored = lanes.policies(), lanes.versions(), lanes.dims(), lanes.scored()
        self._caught_up = lanes.caught_up()
        registry, now = self.registry, time.monotonic()
        registry.catalogues = recovery.refresh_catalogues(journal, registry.catalogues)
        found: list[HostedPolicy] = []
        for row in rows:
            known = registry.policies.get(row.id)
            wanted = versions.get(row.id, 0)
            if not isinstance(known, PublishedPolicy) or (
                known.version != wanted and now >= self._next_read.get(row.id, 0.0)
            ):
                known = self._read(lanes, row)
            if known is not None:
                if known.head.spec != row.spec:
                    known.spec = PolicySpec.from_text(row.spec)
                known.head, known.committed = row, row.number
                if known.settled_dim is None:
                    known.settled_dim = dims.get(row.id)
                if known.settled_scored is None:
                    known.settled_scored = scored.get(row.id)
                found.append(known)
        gone = [hosted.name for id_, hosted in registry.policies.items() if id_ not in {row.id for row in rows}]
        registry.publish(found)
        for hosted in found:
            self._asked.pop(hosted.name, None)
        for name in gone:
            self.metrics.forget(name)
            self._asked.pop(name, None)
        self._refreshed = started

    def _read(self, journal: LaneJournal, row: PolicyRow) -> PublishedPolicy | None:
        """Read the belief of a policy; one that cannot be read leaves the policy out."""
        started = time.monotonic()
        try:
            spec = PolicySpec.from_text(row.spec)
            self.refuse_spec(spec)
            wanted = spec.catalogue
            catalogue = None if wanted is None else self.registry.catalogues[wanted]
            belief = journal.belief(row.id)
            if belief is not None:
                belief.content = self.database.stored_belief(row.id, belief.version, belief.content)
            found = PublishedPolicy(row, catalogue, belief)
        except (ValueError, KeyError, Refusal, ReplayError) as error:
            self.registry.broken[row.name] = BrokenPolicy(row.id, str(error))
            log_event("policy left out", logging.ERROR, policy=row.name, reason=str(error))
            return None
        self.registry.broken.pop(row.name, None)
        now = time.monotonic()
        self._next_read[row.id] = now + (now - started) / _SHARE
        return found

    def _reload(self, touched: Sequence[HostedPolicy]) -> None:
        """Nothing to do: a choice that failed has changed nothing."""


class Polling(Maintenance):
    """What a decider does between commands."""

    def __init__(self, writer: Decider) -> None:
        super().__init__(writer)
        self._decider = writer
        self._next_poll = 0.0

    def run(self, journal: Journal) -> None:
        """Look for news."""
        now = time.monotonic()
        if now < self._next_poll:
            return
        self._next_poll = now + _POLL
        self._decider.refresh(journal)
        if self._due("keys", now):
            self._decider.reload_keys()
            self._watch_clock()

    def take_last_snapshots(self) -> None:
        """Nothing to do: what a decider knows is in the database."""
