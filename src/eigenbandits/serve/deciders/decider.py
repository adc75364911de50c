"""The decider: answers requests from the catalogues and the latest published beliefs."""

import logging
import math
import os
import socket
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import cast

from eigenbandits.policy import Policy
from eigenbandits.serve.clock import Clock
from eigenbandits.serve.deciders.batch import DeciderBatch
from eigenbandits.serve.deciders.published_policy import PublishedPolicy
from eigenbandits.serve.deciders.remote_committer import RemoteCommitter
from eigenbandits.serve.errors import Refusal, ReplayError, StorageError, unavailable
from eigenbandits.serve.logs import log_event
from eigenbandits.serve.settings import Settings
from eigenbandits.serve.storage import Database
from eigenbandits.serve.storage.journal import Journal
from eigenbandits.serve.storage.lane_journal import Lane, LaneJournal
from eigenbandits.serve.storage.schema import PolicyRow
from eigenbandits.serve.writer import recovery
from eigenbandits.serve.writer.batch import Batch
from eigenbandits.serve.writer.catalogue import Catalogue
from eigenbandits.serve.writer.commands import Command, PolicyCommand
from eigenbandits.serve.writer.hosted_policy import HostedPolicy
from eigenbandits.serve.writer.maintenance import Maintenance
from eigenbandits.serve.writer.policy_spec import PolicySpec
from eigenbandits.serve.writer.registry import BrokenPolicy
from eigenbandits.serve.writer.shared_writer import SharedWriter
from eigenbandits.serve.writer.writer import BUDGET

# Seconds between checks for new beliefs, policies, catalogues and keys.
_POLL = 0.25
# Reading a belief may take this share of a decider's time; one that takes longer to read is read less often.
_SHARE = 0.1
# The number of unknown names that are remembered.
_NAMES = 1000


class Decider(SharedWriter):
    """The queue, threads and group commit of the single-process service, around policies that never learn.

    What it commits is numbered in a lane of its own, which a learner follows. It holds no state that matters: any
    number of deciders may serve one database, and each may end at any moment.

    Parameters
    ----------
    settings, database, clock
        As for `Writer`.
    committing
        The path of the committing process's socket; "" commits in this process.
    """

    def __init__(
        self, settings: Settings, database: Database, clock: Clock | None = None, committing: str = ""
    ) -> None:
        super().__init__(settings, database, clock)
        if committing:
            self._committer = RemoteCommitter(database, self.metrics, committing)
        # Held by whoever applies commands: the writer's thread, but for while it waits, or the one that submits them.
        self._applying = threading.Lock()
        self._lane: Lane | None = None
        self._caught_up: float | None = None
        # For each policy, when its belief may be read again.
        self._next_read: dict[int, float] = {}
        # When each unknown name was first requested, and when the database was last read.
        self._requested_at: dict[str, float] = {}
        self._refreshed = 0.0

    def make_maintenance(self) -> Maintenance:
        """Return the object that checks for new beliefs."""
        return Polling(self)

    def make_batch(self, journal: Journal, before: Sequence[Batch]) -> Batch:
        """Return an empty batch in the lane of this process."""
        assert self._lane is not None
        policies = cast(dict[int, PublishedPolicy], self.registry.policies)
        return DeciderBatch(self._lane, self.database, policies, journal, self.metrics, self.clock.now(), self.epoch)

    def submit(self, *commands: Command) -> None:
        """Apply commands at once if the writer's thread is waiting and they take no longer than one of its batches.

        Waking a thread costs as much as a choice, and then both of them want the interpreter.
        """
        if self._applies_at_once(commands) and self._applying.acquire(blocking=False):
            try:
                # The commands have been rejected; the writer's thread finds out and connects again.
                with suppress(StorageError):
                    self._apply(commands)
            finally:
                self._applying.release()
        else:
            super().submit(*commands)

    def _applies_at_once(self, commands: Sequence[Command]) -> bool:
        if self._committer.full or sum(command.cost for command in commands) > BUDGET:
            return False
        return all(isinstance(command, PolicyCommand) for command in commands)

    def _run(self) -> None:
        with self._applying:
            super()._run()

    def _take(self, wait: float = 0.0, budget: float = math.inf) -> list[Command]:
        self._applying.release()
        try:
            return super()._take(wait, budget)
        finally:
            self._applying.acquire()

    def host(self, row: PolicyRow, catalogue: Catalogue | None, policy: Policy | None) -> HostedPolicy:
        """Return a policy without a belief, which only the learner publishes."""
        return PublishedPolicy(row, catalogue)

    def refuse_unknown(self, name: str) -> None:
        """Refuse a name temporarily, since another process may just have created it."""
        super().refuse_unknown(name)
        now = time.monotonic()
        requested_at = self._requested_at.setdefault(name, now)
        while len(self._requested_at) > _NAMES:
            del self._requested_at[next(iter(self._requested_at))]
        if self._refreshed < requested_at:
            raise unavailable("it has to check whether this policy exists")
        # It may be created later: the next request checks again.
        del self._requested_at[name]

    @property
    def belief_age(self) -> float | None:
        """The seconds since the learner had followed everything; grows while it is down or behind."""
        return None if self._caught_up is None else max(0.0, self.clock.now() - self._caught_up)

    def clean(self, journal: Journal) -> None:
        """Do nothing: the learner resumes what was interrupted."""

    def discard(self, kind: str, id_: int) -> None:
        """Do nothing: the learner removes the rows."""

    def discard_items(self, catalogue: Catalogue) -> None:
        """Do nothing: the learner removes the rows."""

    def _connect(self) -> None:
        """Connect, and open a lane."""
        self._reading = Journal(self.database.connect())
        # Before there is a lane, which requires a learner: access control does not depend on one.
        self.reload_keys()
        self._writing = Journal(self.database.connect())
        owner = f"{socket.gethostname()} {os.getpid()}"[:200]
        lanes = LaneJournal(self._writing.connection)
        self._lane, self._caught_up = lanes.open_lane(self.database, owner, self.clock.now()), lanes.caught_up()
        self._committer.start(self._writing)

    def _load(self, rows: Sequence[PolicyRow]) -> list[HostedPolicy]:
        """Return policies as they were published."""
        assert self._reading is not None
        loaded: list[HostedPolicy] = []
        for row in rows:
            hosted = self._read(LaneJournal(self._reading.connection), row)
            if hosted is not None:
                loaded.append(hosted)
        return loaded

    def refresh(self, journal: Journal) -> None:
        """Apply the changes of other processes: policies, catalogues, beliefs and the counts of the log."""
        started, lanes = time.monotonic(), LaneJournal(journal.connection)
        rows, versions, dims, scored = lanes.policies(), lanes.versions(), lanes.dims(), lanes.scored()
        self._caught_up = lanes.caught_up()
        registry, now = self.registry, time.monotonic()
        registry.catalogues = recovery.refresh_catalogues(journal, registry.catalogues)
        current: list[HostedPolicy] = []
        for row in rows:
            known = registry.policies.get(row.id)
            latest = versions.get(row.id, 0)
            if not isinstance(known, PublishedPolicy) or (
                known.version != latest and now >= self._next_read.get(row.id, 0.0)
            ):
                known = self._read(lanes, row)
            if known is not None:
                if known.head.spec != row.spec:
                    known.spec = PolicySpec.from_text(row.spec)
                known.head, known.committed = row, row.number
                if known.fixed_dim is None:
                    known.fixed_dim = dims.get(row.id)
                if known.fixed_scored is None:
                    known.fixed_scored = scored.get(row.id)
                current.append(known)
        deleted = [hosted.name for id_, hosted in registry.policies.items() if id_ not in {row.id for row in rows}]
        registry.publish(current)
        for hosted in current:
            self._requested_at.pop(hosted.name, None)
        for name in deleted:
            self.metrics.forget(name)
            self._requested_at.pop(name, None)
        self._refreshed = started

    def _read(self, journal: LaneJournal, row: PolicyRow) -> PublishedPolicy | None:
        """Read the belief of a policy; if it cannot be read, leave the policy out."""
        started = time.monotonic()
        try:
            spec = PolicySpec.from_text(row.spec)
            self.refuse_spec(spec)
            name = spec.catalogue
            catalogue = None if name is None else self.registry.catalogues[name]
            belief = journal.belief(row.id)
            if belief is not None:
                belief.content = self.database.stored_belief(row.id, belief.version, belief.content)
            hosted = PublishedPolicy(row, catalogue, belief)
        except (ValueError, KeyError, Refusal, ReplayError) as error:
            self.registry.broken[row.name] = BrokenPolicy(row.id, str(error))
            log_event("policy left out", logging.ERROR, policy=row.name, reason=str(error))
            return None
        self.registry.broken.pop(row.name, None)
        now = time.monotonic()
        self._next_read[row.id] = now + (now - started) / _SHARE
        return hosted

    def _reload(self, touched: Sequence[HostedPolicy]) -> None:
        """Do nothing: a choice that failed has changed nothing."""


class Polling(Maintenance):
    """What a decider does between commands."""

    def __init__(self, writer: Decider) -> None:
        super().__init__(writer)
        self._decider = writer
        self._next_poll = 0.0

    def run(self, journal: Journal) -> None:
        """Check for changes."""
        now = time.monotonic()
        if now < self._next_poll:
            return
        self._next_poll = now + _POLL
        self._decider.refresh(journal)
        if self._due("keys", now):
            self._decider.reload_keys()
            self._watch_clock()

    def take_last_snapshots(self) -> None:
        """Do nothing: everything that a decider knows is in the database."""
