"""Maintenance, done by the writer between commands: time to live, snapshots, pruning, retention, checkpoints."""

from __future__ import annotations

import copy
import logging
import math
import time
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from functools import partial
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from eigenbandits.serve.logs import log_event
from eigenbandits.serve.storage.journal import Journal
from eigenbandits.serve.storage.schema import ENDINGS
from eigenbandits.serve.writer.batch import Batch
from eigenbandits.serve.writer.catalogue import Catalogue
from eigenbandits.serve.writer.decision_sets import ListMember
from eigenbandits.serve.writer.event_codec import decode_decision, decode_rewards, encode_decision
from eigenbandits.serve.writer.hosted_policy import HostedPolicy
from eigenbandits.serve.writer.recovery import pack_snapshot
from eigenbandits.serve.writer.retention import deletable

if TYPE_CHECKING:
    from eigenbandits.serve.writer.writer import Writer

# Seconds between two runs of each duty.
_EVERY = {"shrink": 60.0, "keys": 1.0, "expiry": 0.5, "checkpoint": 1.0, "history": 3600.0}
# Seconds until it is checked again whether the snapshots have moved on.
_LOOK = 5.0
# Decisions that expire in one transaction, so that requests never wait long.
_AT_ONCE = 200
# Seconds for which deleting may delay requests at a time, and limits of the number of rows derived from it.
_SWEEP, _FEWEST, _MOST = 0.01, 10, 5000


class _Portion:
    """How many rows are deleted or pruned at a time, adapted to the time that they take."""

    def __init__(self) -> None:
        self.rows = _AT_ONCE

    @contextmanager
    def timed(self) -> Iterator[None]:
        """Time a block that deletes this many rows."""
        started = time.perf_counter()
        yield
        factor = min(2.0, max(0.5, _SWEEP / max(time.perf_counter() - started, 1e-6)))
        self.rows = min(_MOST, max(_FEWEST, int(factor * self.rows)))


class Maintenance:
    """The writer's duties; every method except `_store` runs in its thread."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        # How many times expired decisions were looked for.
        self.rounds = 0
        self._next = dict.fromkeys(_EVERY, 0.0)
        # Kind and id of deleted objects that still have rows.
        self.garbage: list[tuple[str, int]] = []
        self.unfinished: list[Catalogue] = []
        self._swept, self._pruned, self._dropped = _Portion(), _Portion(), _Portion()
        self._shrinking = False
        self._storing: Future[None] | None = None
        # For each policy: when its last snapshot was taken, the positions of the last two stored, and when the next of
        # its decisions may expire.
        self._taken: dict[int, float] = {}
        self._stored: dict[int, list[int]] = {}
        self._expiry: dict[int, float] = {}
        # When there may be something to delete because it is no longer kept.
        self._dropping: dict[int, float] = {}

    @property
    def busy(self) -> bool:
        """Whether there is work that should not wait for the next round."""
        return bool(self.garbage) or self._shrinking

    def run(self, journal: Journal) -> None:
        """Do what is due."""
        writer, now = self._writer, time.monotonic()
        if self.unfinished:
            self.unfinished.clear()
            writer.write(lambda journal: journal.drop_unfinished_items())
        if self.garbage:
            self._sweep()
        elif self._shrinking or self._due("shrink", now):
            self._shrinking = writer.between(writer.database.shrink)
        if self._due("keys", now):
            writer.reload_keys()
            self._watch_clock()
        if self._due("expiry", now):
            self.rounds += 1
            for id_ in list(writer.registry.policies):
                # Looked up each time, since a policy that failed has been reloaded.
                self._expire(journal, writer.registry.policies[id_])
                self._prune(journal, writer.registry.policies[id_])
                self._drop(journal, writer.registry.policies[id_])
        if self._due("history", now):
            before = writer.clock.now() - 86400.0 * writer.settings.history_days
            writer.write(lambda journal: journal.drop_history(before))
        if self._due("checkpoint", now):
            writer.database.checkpoint()
        self._take_snapshot(now)

    def take_last_snapshots(self) -> None:
        """Store a snapshot of every policy that has changed, before the service ends."""
        if self._storing is not None:
            self._storing.result()
        for hosted in self._writer.registry.policies.values():
            if hosted.since_snapshot and not hosted.dirty:
                self._store(hosted, hosted.head.position, hosted.policy.state())

    def forget(self, policy: int) -> None:
        """Drop everything known about a deleted policy."""
        for known in (self._taken, self._stored, self._expiry, self._dropping):
            known.pop(policy, None)

    def recheck_expiry(self, policy: int) -> None:
        """Recompute when the next decision of a policy may expire."""
        self._expiry.pop(policy, None)

    def _due(self, duty: str, now: float) -> bool:
        if now < self._next[duty]:
            return False
        self._next[duty] = now + _EVERY[duty]
        return True

    def _watch_clock(self) -> None:
        jump = self._writer.clock.jump()
        if jump:
            self._writer.metrics.clock_jumps.inc()
            message = "the wall clock jumped; times to live follow real time"
            log_event(message, logging.WARNING, seconds=round(jump, 1))

    def _sweep(self) -> None:
        """Delete some of the garbage rows."""
        kind, id_ = self.garbage[0]
        with self._swept.timed():
            more = self._writer.write(lambda journal: journal.sweep(kind, id_, self._swept.rows))
        if not more:
            self.garbage.pop(0)
            self._next["shrink"] = 0.0

    def _expire(self, journal: Journal, hosted: HostedPolicy) -> None:
        """End the decisions of a policy whose time to live is over."""
        life, now, head = hosted.lifetime(self._writer.settings.keep_seconds), self._writer.clock.now(), hosted.head
        if life is None or head.expired_through >= head.number or now < self._expiry.get(hosted.id, 0.0):
            return
        # Expired decisions are read from the log, which must contain every reward so far.
        self._writer.flush()
        rows = journal.next_open(hosted.id, head.expired_through, _AT_ONCE)
        since = [hosted.resumed.waiting_since(number, decided_at) for number, decided_at, _ in rows]
        # Times increase with the numbers: the first decision that has not expired determines when to look again.
        over = rows[: sum(1 for _ in takewhile(lambda moment: moment <= now - life, since))]
        self._expiry[hosted.id] = since[len(over)] + life if len(over) < len(rows) else 0.0
        if over:
            numbers = [number for number, _, kind in over if kind is None]
            self._writer.transact(partial(Batch.expire, hosted=hosted, numbers=numbers, through=over[-1][0]))
        if len(over) == _AT_ONCE:
            # The rest follows after the commands that are waiting.
            self._next["expiry"] = 0.0

    # Snapshots

    def _take_snapshot(self, now: float) -> None:
        """Take a snapshot of the first policy that needs one."""
        writer, settings = self._writer, self._writer.settings
        if self._storing is not None and not self._storing.done():
            return
        oldest = 0.0
        for hosted in writer.registry.policies.values():
            age = now - self._taken.setdefault(hosted.id, now)
            changed = hosted.since_snapshot
            oldest = max(oldest, age if changed else 0.0)
            if changed >= settings.snapshot_events or (changed and age >= settings.snapshot_seconds):
                # A snapshot must not be ahead of the log.
                writer.flush()
                started = time.perf_counter()
                # Only the copy is made here; packing it takes ten times as long.
                state = copy.deepcopy(hosted.policy.state())
                writer.metrics.snapshot_seconds.observe(time.perf_counter() - started)
                self._taken[hosted.id], hosted.since_snapshot = now, 0
                self._storing = writer.background.submit(self._store, hosted, hosted.head.position, state)
                break
        writer.metrics.snapshot_age.set(oldest)

    def _store(self, hosted: HostedPolicy, position: int, state: dict[str, Any]) -> None:
        if hosted.id not in self._writer.registry.policies:
            return  # deleted in the meantime
        try:
            content = pack_snapshot(hosted.spec, state)
            self._writer.database.put_snapshot(hosted.id, position, content)
        except Exception as error:
            # Nothing is lost: recovery uses the previous snapshot and the log.
            log_event("snapshot failed", logging.ERROR, policy=hosted.name, reason=str(error))
            return
        # The snapshot from which the policy was loaded counts, too.
        before = self._stored.get(hosted.id, [hosted.snapshot_position] if hosted.snapshot_position else [])
        self._stored[hosted.id] = [*before, position][-2:]
        hosted.snapshot_position = position
        log_event("snapshot", logging.DEBUG, policy=hosted.name, position=position, bytes=len(content))

    def _prune(self, journal: Journal, hosted: HostedPolicy) -> None:
        """Reduce inline sets to the chosen row once their decisions have ended and both snapshots are past that."""
        stored = self._stored.get(hosted.id, [])
        if hosted.spec.keep_sets or hosted.catalogue is not None or len(stored) < 2:
            return
        older = stored[0]
        if hosted.head.pruned_through >= older:
            return
        with self._pruned.timed():
            self._prune_some(journal, hosted, older)

    def _prune_some(self, journal: Journal, hosted: HostedPolicy, older: int) -> None:
        numbers: list[int] = []
        through = older
        for event in journal.events(hosted.id, hosted.head.pruned_through, older):
            if event.kind in ENDINGS:
                numbers += decode_rewards(event.kind, event.content)[0]
            if len(numbers) >= self._pruned.rows:
                through = event.position
                self._next["expiry"] = 0.0
                break
        contents = {}
        for number, row in journal.decisions_of(hosted.id, numbers).items():
            decision_set, forecast = decode_decision(row.content)
            if not isinstance(decision_set, ListMember):
                contents[number] = encode_decision(decision_set.pruned(row.index), forecast)

        def prune(journal: Journal) -> None:
            journal.replace_contents(hosted.id, contents)
            journal.move_pruned(hosted.id, through)

        self._writer.write(prune)
        hosted.head.pruned_through = through

    def _drop(self, journal: Journal, hosted: HostedPolicy) -> None:
        """Delete what ended longer ago than it is kept, once both snapshots are past it."""
        keep, now, stored = (
            self._writer.settings.keep_seconds,
            self._writer.clock.now(),
            self._stored.get(hosted.id, []),
        )
        if math.isinf(keep) or len(stored) < 2 or now < self._dropping.get(hosted.id, 0.0):
            return
        # Recently submitted rows must be in the log.
        self._writer.flush()
        part = deletable(journal, hosted, stored[0], now - keep, keep, self._dropped.rows)
        self._dropping[hosted.id] = part.next_at or now + _LOOK
        if part.numbers:
            with self._dropped.timed():
                self._writer.write(lambda journal: journal.drop_log(hosted.id, part.numbers, part.through))
            hosted.head.dropped_through = part.through
            self._dropping[hosted.id] = self._next["expiry"] = 0.0
