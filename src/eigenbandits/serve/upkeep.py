"""What the writer does between requests: time to live, snapshots, pruning, keys, and the database's own upkeep."""

from __future__ import annotations

import copy
import logging
import time
from concurrent.futures import Future
from dataclasses import replace
from functools import partial
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from eigenbandits.serve import recovery
from eigenbandits.serve.batch import Batch
from eigenbandits.serve.errors import StorageError
from eigenbandits.serve.hosted import DECIDE, Hosted, unpack_rewards
from eigenbandits.serve.journal import Head, Journal
from eigenbandits.serve.logs import tell
from eigenbandits.serve.sets import decode, encode

if TYPE_CHECKING:
    from eigenbandits.serve.engine import Engine

# Seconds between two looks at each thing.
_KEYS, _OVERDUE, _TIDY, _HISTORY = 1.0, 0.5, 1.0, 3600.0
# Decisions that are ended, or pruned, in one transaction, so that requests never wait long.
_AT_ONCE = 200


class Upkeep:
    """The writer's housekeeping; every method but `_store` runs in the writer's thread."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._next = dict.fromkeys(("keys", "overdue", "tidy", "history"), 0.0)
        self._storing: Future[None] | None = None
        self._tidying: Future[None] | None = None
        # For each policy: when its last snapshot was taken, the positions of the last two that were stored, and when
        # the next of its decisions may be overdue.
        self._taken: dict[int, float] = {}
        self._stored: dict[int, list[int]] = {}
        self._wake: dict[int, float] = {}

    def look(self, journal: Journal) -> None:
        """Do what is due."""
        now = time.monotonic()
        if self._due("keys", now, _KEYS):
            self._engine.reload_keys()
            self._watch_clock()
        if self._due("overdue", now, _OVERDUE):
            for id_ in list(self._engine.policies):
                # Looked up each time: one that has failed was loaded again.
                self._end_overdue(journal, self._engine.policies[id_])
                self._prune(journal, self._engine.policies[id_])
        if self._due("history", now, _HISTORY):
            before = self._engine.clock.now() - 86400.0 * self._engine.settings.history_days
            self._engine.write(lambda journal: journal.forget_history(before))
        if self._due("tidy", now, _TIDY) and (self._tidying is None or self._tidying.done()):
            self._tidying = self._engine.beside.submit(self._tidy)
        self._snapshots(now)

    def last(self) -> None:
        """Take a snapshot of everything that has changed, before the service ends."""
        if self._storing is not None:
            self._storing.result()
        for hosted in self._engine.policies.values():
            if hosted.since_snapshot and not hosted.dirty:
                self._store(hosted, replace(hosted.head), hosted.policy.state())

    def forget(self, policy: int) -> None:
        """Drop what is known of a policy that was deleted."""
        for known in (self._taken, self._stored, self._wake):
            known.pop(policy, None)

    def _due(self, what: str, now: float, every: float) -> bool:
        if now < self._next[what]:
            return False
        self._next[what] = now + every
        return True

    def _watch_clock(self) -> None:
        jump = self._engine.clock.jump()
        if jump:
            self._engine.metrics.clock_jumps.inc()
            tell("the wall clock jumped; times to live go on in real time", logging.WARNING, seconds=round(jump, 1))

    def _end_overdue(self, journal: Journal, hosted: Hosted) -> None:
        life, now = hosted.spec.time_to_live, self._engine.clock.now()
        if life is None or hosted.head.expired_through >= hosted.head.number or now < self._wake.get(hosted.id, 0.0):
            return
        # Who is overdue is read from the log, which must know of every reward so far.
        self._engine.land()
        rows = journal.next_open(hosted.id, hosted.head.expired_through, _AT_ONCE)
        # Times go forward with the numbers: the first that is not due says when to look again.
        due = list(takewhile(lambda row: row[1] <= now - life, rows))
        self._wake[hosted.id] = rows[len(due)][1] + life if len(due) < len(rows) else 0.0
        if due:
            numbers = [number for number, _, kind in due if kind is None]
            self._engine.transact(partial(Batch.settle, hosted=hosted, overdue=numbers, through=due[-1][0]))
        if len(due) == _AT_ONCE:
            # The rest follows once those who ask meanwhile have been answered.
            self._next["overdue"] = 0.0

    # Snapshots

    def _snapshots(self, now: float) -> None:
        settings, waiting = self._engine.settings, self._storing
        if waiting is not None and not waiting.done():
            return
        oldest = 0.0
        for hosted in self._engine.policies.values():
            age = now - self._taken.setdefault(hosted.id, now)
            changed = hosted.since_snapshot
            oldest = max(oldest, age if changed else 0.0)
            if changed >= settings.snapshot_events or (changed and age >= settings.snapshot_seconds):
                # A snapshot must not know what the log does not.
                self._engine.land()
                begun = time.perf_counter()
                # Only the copy is made here; to pack it takes ten times as long.
                state = copy.deepcopy(hosted.policy.state())
                self._engine.metrics.snapshot_seconds.observe(time.perf_counter() - begun)
                self._taken[hosted.id], hosted.since_snapshot = now, 0
                self._storing = self._engine.beside.submit(self._store, hosted, replace(hosted.head), state)
                break
        self._engine.metrics.snapshot_age.set(oldest)

    def _store(self, hosted: Hosted, head: Head, state: dict[str, Any]) -> None:
        if hosted.id not in self._engine.policies:
            return  # deleted meanwhile
        try:
            content = recovery.pack(hosted.spec, state)
            self._engine.database.put_snapshot(hosted.id, head.position, content)
        except Exception as error:
            # Nothing is lost: the log goes back to the snapshot before.
            tell("snapshot failed", logging.ERROR, policy=hosted.name, reason=str(error))
            return
        hosted.snapshot_position = head.position
        self._stored[hosted.id] = [*self._stored.get(hosted.id, []), head.position][-2:]
        tell("snapshot", logging.DEBUG, policy=hosted.name, position=head.position, bytes=len(content))

    def _prune(self, journal: Journal, hosted: Hosted) -> None:
        """Keep of sets that came inline only the row chosen, once they are settled and both snapshots are past that."""
        stored = self._stored.get(hosted.id, [])
        if hosted.spec.keep_sets or hosted.catalogue is not None or len(stored) < 2:
            return
        older = stored[0]
        if hosted.head.pruned_through >= older:
            return
        numbers: list[int] = []
        through = older
        for position, kind, content in journal.events(hosted.id, hosted.head.pruned_through, older):
            if kind != DECIDE:
                numbers += unpack_rewards(content)[0]
            if len(numbers) >= _AT_ONCE:
                through = position
                self._next["overdue"] = 0.0
                break
        sets = journal.decisions_of(hosted.id, numbers)
        smaller = []
        for number, (chosen, content) in sets.items():
            asked, forecast = decode(content)
            smaller.append((encode(asked.pruned(chosen), forecast), number))

        def prune(journal: Journal) -> None:
            journal.replace_sets(hosted.id, smaller)
            journal.move_pruned(hosted.id, through)

        self._engine.write(prune)
        hosted.head.pruned_through = through

    def _tidy(self) -> None:
        try:
            self._engine.database.tidy()
        except StorageError as error:
            tell("the database could not be tidied", logging.WARNING, reason=str(error))
