"""The rows that a batch has collected, and how they are written to the database."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Self

from eigenbandits.serve.metrics import Metrics
from eigenbandits.serve.storage import schema
from eigenbandits.serve.storage.journal import BUCKET, Journal
from eigenbandits.serve.writer.commands import Command, Result, resolve
from eigenbandits.serve.writer.hosted_policy import HostedPolicy

# The attributes that hold rows.
_ROWS = ("events", "decisions", "rewards", "history", "parts", "choosers")


class BatchRows:
    """Rows and results; until they are committed, the policies in `touched` are ahead of the log.

    Parameters
    ----------
    metrics
        Where events are counted.
    now
        The current time.
    """

    def __init__(self, metrics: Metrics, now: float) -> None:
        self.metrics = metrics
        self.now = now
        self.touched: list[HostedPolicy] = []
        self.results: list[Result] = []
        self.events: list[schema.EventRow] = []
        self.decisions: list[schema.DecisionRow] = []
        self.rewards: list[schema.RewardRow] = []
        self.history: list[schema.HistoryRow] = []
        self.parts: list[schema.PartRow] = []
        self.choosers: list[schema.ChooserRow] = []
        self.heads: dict[int, schema.PolicyRow] = {}
        # Counts that are made only after the batch has been committed.
        self._counts: list[Callable[[], None]] = []
        # What the next batches must know before the journal does: by policy, and by request id or number.
        self.by_request: dict[tuple[int, str], list[schema.DecisionRow]] = {}
        self.by_number: dict[tuple[int, int], schema.RewardRow] = {}
        self.by_part: dict[tuple[int, int], dict[str, schema.PartRow]] = {}

    def _move_head(self, hosted: HostedPolicy, chosen: int, learned: int, total: float, defaults: int) -> None:
        hosted.head.last_at = self.now
        self.heads[hosted.id] = replace(hosted.head)
        start = int(self.now) // BUCKET * BUCKET
        by_default = defaults * (hosted.spec.default_reward or 0.0)
        self.history.append(schema.HistoryRow(hosted.id, start, chosen, learned, total, defaults, by_default))
        hosted.since_snapshot += chosen + learned + defaults

    def _count_by_chooser(
        self, hosted: HostedPolicy, rewards: Mapping[int, float], choosers: Mapping[int, int | None]
    ) -> None:
        """Count the rewards of decisions of which it is known who made them."""
        for number, reward in rewards.items():
            chooser = choosers.get(number)
            if chooser is not None:
                self.choosers.append(schema.ChooserRow(hosted.id, chooser, 1, reward, reward * reward))

    def _add_event(self, hosted: HostedPolicy, kind: str, content: bytes) -> None:
        hosted.head.position += 1
        self.events.append(schema.EventRow(hosted.id, hosted.head.position, kind, content))

    def _add_rewards(
        self,
        hosted: HostedPolicy,
        rewards: Mapping[int, float | None],
        kind: str,
        costs: Mapping[int, float] = MappingProxyType({}),
    ) -> None:
        rows = [
            schema.RewardRow(hosted.id, number, reward, kind, self.now, cost=costs.get(number))
            for number, reward in rewards.items()
        ]
        self.rewards += rows
        self.by_number |= {(hosted.id, row.number): row for row in rows}

    def copy(self) -> Self:
        """Return a batch with the same rows, for a trial write."""
        other = copy.copy(self)
        for name in (*_ROWS, "results"):
            setattr(other, name, list(getattr(self, name)))
        return other

    def drop(self, policies: set[int]) -> list[Command]:
        """Remove everything that belongs to these policies; return the commands that get no result."""
        for name in _ROWS:
            setattr(self, name, [row for row in getattr(self, name) if row.policy not in policies])
        self.heads = {id_: head for id_, head in self.heads.items() if id_ not in policies}
        lost = [command for command, _ in self.results if getattr(command, "policy", 0) in policies]
        self.results = [one for one in self.results if getattr(one[0], "policy", 0) not in policies]
        return lost

    # Writing

    @staticmethod
    def write(batches: Sequence[BatchRows], journal: Journal) -> None:
        """Write batches together, all rows of a table at once; the caller commits."""
        journal.add(schema.EVENTS, [row for batch in batches for row in batch.events])
        journal.add(schema.DECISIONS, [row for batch in batches for row in batch.decisions])
        journal.add(schema.REWARDS, [row for batch in batches for row in batch.rewards])
        journal.put_parts([row for batch in batches for row in batch.parts])
        # A decision that has ended waits for no further parts.
        journal.drop_parts([(row.policy, row.number) for batch in batches for row in batch.rewards])
        journal.add_to(schema.HISTORY, [row for batch in batches for row in batch.history])
        journal.add_to(schema.CHOOSERS, [row for batch in batches for row in batch.choosers])
        heads = {id_: head for batch in batches for id_, head in batch.heads.items()}
        journal.move_heads(list(heads.values()))

    def acknowledge(self) -> None:
        """After the batch has been committed, resolve its commands and count."""
        for hosted in self.touched:
            if hosted.id in self.heads:
                hosted.committed = self.heads[hosted.id].number
        resolve(self.results)
        for count in self._counts:
            count()
        # Later batches may keep this one for lookups; the rest is no longer needed.
        for name in (*_ROWS, "results", "_counts"):
            getattr(self, name).clear()
