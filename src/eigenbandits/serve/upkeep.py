"""What the writer does between requests: time to live, snapshots, pruning, keys, and the database's own upkeep."""

from __future__ import annotations

import copy
import logging
import time
from concurrent.futures import Future
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from eigenbandits.serve import recovery
from eigenbandits.serve.batch import Batch
from eigenbandits.serve.errors import StorageError
from eigenbandits.serve.hosted import Hosted
from eigenbandits.serve.journal import Head, Journal
from eigenbandits.serve.logs import tell
from eigenbandits.serve.sets import decode

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
        # When each policy's last snapshot was taken, and the position and number of the last two that were stored.
        self._taken: dict[int, float] = {}
        self._stored: dict[int, list[tuple[int, int]]] = {}

    def look(self, journal: Journal) -> None:
        """Do what is due."""
        now = time.monotonic()
        if self._due("keys", now, _KEYS):
            self._engine.reload_keys()
            self._watch_clock()
        if self._due("overdue", now, _OVERDUE):
            for hosted in list(self._engine.policies.values()):
                self._end_overdue(journal, hosted)
                self._prune(journal, hosted)
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
        life = hosted.spec.time_to_live
        if life is None or hosted.head.expired_through >= hosted.head.number:
            return
        before = self._engine.clock.now() - life
        # Who is overdue is read from the log, which must know of every reward so far.
        self._engine.land()
        while rows := journal.overdue(hosted.id, hosted.head.expired_through, before, _AT_ONCE):
            numbers = [number for number, kind in rows if kind is None]
            through = rows[-1][0]
            if self._engine.transact(partial(Batch.settle, hosted=hosted, overdue=numbers, through=through)):
                return
            self._engine.land()
            if len(rows) < _AT_ONCE:
                return

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
        content = recovery.pack(hosted.spec, state)
        try:
            self._engine.database.put_snapshot(hosted.id, head.position, content)
        except StorageError as error:
            # Nothing is lost: the log goes back to the snapshot before.
            tell("snapshot failed", logging.ERROR, policy=hosted.name, reason=str(error))
            return
        hosted.snapshot_position = head.position
        self._stored[hosted.id] = [*self._stored.get(hosted.id, []), (head.position, head.number)][-2:]
        tell("snapshot", logging.DEBUG, policy=hosted.name, position=head.position, bytes=len(content))

    def _prune(self, journal: Journal, hosted: Hosted) -> None:
        """Keep of sets that came inline only the row chosen, once both snapshots are past them and they are settled."""
        stored = self._stored.get(hosted.id, [])
        if hosted.spec.keep_sets or hosted.catalogue is not None or len(stored) < 2:
            return
        head = hosted.head
        rows = journal.prunable(hosted.id, head.pruned_through, stored[0][1], _AT_ONCE)
        settled = []
        for row in rows:
            if row[3] is None:
                break
            settled.append(row)
        if not settled:
            return
        smaller = [(decode(bytes(content)).pruned(chosen).encode(), number) for number, chosen, content, _ in settled]
        through = settled[-1][0]

        def prune(journal: Journal) -> None:
            journal.replace_sets(hosted.id, smaller)
            journal.move_pruned(hosted.id, through)

        self._engine.write(prune)
        head.pruned_through = through

    def _tidy(self) -> None:
        try:
            self._engine.database.tidy()
        except StorageError as error:
            tell("the database could not be tidied", logging.WARNING, reason=str(error))
