"""One batch of commands: applied to the policies together, then written in one transaction."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeVar

from eigenbandits.policy import Decision
from eigenbandits.serve.errors import DamagedError, PolicyError, Refusal, damaged, internal, invalid, unknown
from eigenbandits.serve.logs import log_event
from eigenbandits.serve.metrics import Metrics
from eigenbandits.serve.storage import schema
from eigenbandits.serve.storage.journal import Journal
from eigenbandits.serve.writer.batch_rows import BatchRows
from eigenbandits.serve.writer.commands import DecideCommand, PolicyCommand, Result, RewardCommand, SentReward
from eigenbandits.serve.writer.decision_sets import DecisionSet, ListMember
from eigenbandits.serve.writer.event_codec import decode_decision, encode_payments, encode_range, encode_rewards
from eigenbandits.serve.writer.hosted_policy import HostedPolicy
from eigenbandits.serve.writer.outcomes import (
    different_request,
    different_reward,
    outcome,
    repeats,
    unknown_decision,
    wrong_dim,
)

T = TypeVar("T")
# The number of values in decision sets that are chosen from at once: large enough to be fast, small enough for memory.
_AT_ONCE = 4_000_000


class Batch(BatchRows):
    """Applies commands to policies in memory, and collects the resulting rows and results.

    Until the batch is committed, the policies are ahead of the log: if that fails, those in `touched` must be reloaded.

    Parameters
    ----------
    policies
        All policies, by id.
    journal
        For reading only; the rows of preceding batches may not be in it yet.
    before
        The preceding batches that may not be committed yet.
    metrics
        Where events are counted.
    now
        The current time.
    epoch
        The epoch of decisions made now.
    """

    def __init__(
        self,
        policies: dict[int, HostedPolicy],
        journal: Journal,
        before: Sequence[Batch],
        metrics: Metrics,
        now: float,
        epoch: int,
    ) -> None:
        super().__init__(metrics, now)
        self.policies = policies
        self.epoch = epoch
        self._journal = journal
        self._before = before

    def apply(self, commands: Sequence[PolicyCommand]) -> None:
        """Let each policy choose for all its decide commands, then learn from all rewards sent to it."""
        for id_ in dict.fromkeys(command.policy for command in commands):
            own_commands = [command for command in commands if command.policy == id_]
            hosted = self.policies.get(id_)
            if hosted is None:
                self.results += [(command, unknown("policy", "that it was sent to")) for command in own_commands]
                continue
            self.touched.append(hosted)
            decides = [command for command in own_commands if isinstance(command, DecideCommand)]
            rewards = [command for command in own_commands if isinstance(command, RewardCommand)]
            chosen = self._unless_damaged(decides, self._decide, hosted, decides) or 0 if decides else 0
            learning = self._unless_damaged(rewards, self._reward, hosted, rewards) if rewards else None
            learned, total = learning or (0, 0.0)
            if chosen or learned:
                self._move_head(hosted, chosen, learned, total, 0)
        self._before = ()

    def _unless_damaged(self, commands: Sequence[PolicyCommand], action: Callable[..., T], *args: Any) -> T | None:
        """Run an action; if the log cannot be read, refuse its commands. Nothing has been changed at that point."""
        try:
            return action(*args)
        except DamagedError as error:
            log_event("the log is damaged", logging.ERROR, policy=commands[0].policy, reason=str(error))
            self.results += [(command, damaged()) for command in commands]
            return None

    def expire(self, hosted: HostedPolicy, numbers: list[int], through: int) -> None:
        """End decisions whose time to live is over: with the recorded reward, the default reward, or none."""
        self.touched.append(hosted)
        default, head = hosted.spec.default_reward, hosted.head
        head.expired_through = through
        # Recorded parts are read from the log, which must be complete up to here. They are read even if rewards are
        # learned immediately now, since that setting may have changed.
        parts = self._journal.parts_of(hosted.id, numbers)
        given = {
            number: math.fsum(row.reward for row in parts[number].values()) for number in numbers if number in parts
        }
        ended = {number: given.get(number, default) for number in numbers}
        learned = {number: reward for number, reward in ended.items() if reward is not None}
        expired = [number for number, reward in ended.items() if reward is None]
        defaults = len(learned) - len(given)
        if learned:
            decisions = hosted.decisions(list(learned), self._journal)
            self._learn(hosted, decisions, list(learned), list(learned.values()), [])
        if expired:
            for number in expired:
                hosted.drop(number)
            # The policy learns nothing from these; the event records that their sets are no longer needed.
            self._add_event(hosted, schema.EXPIRE, encode_rewards(expired, [0.0] * len(expired)))
        for kind, ended_so in ((schema.GIVEN, given), (schema.EXPIRED, dict.fromkeys(expired))):
            self._add_rewards(hosted, ended_so, kind)
        self._add_rewards(hosted, {one: value for one, value in learned.items() if one not in given}, schema.DEFAULT)
        if hosted.spec.holdout:
            origins = self._journal.origins_of(hosted.id, list(learned))
            self._count_by_chooser(hosted, learned, {number: chooser for number, (_, chooser) in origins.items()})
        head.rewards += len(given)
        head.defaults += defaults
        head.expired += len(expired)

        def count() -> None:
            self.metrics.count_rewards(
                hosted.name, {"learned": len(given), schema.DEFAULT: defaults, schema.EXPIRED: len(expired)}
            )
            hosted.recent.extend(learned.values())

        self._counts.append(count)
        self._move_head(hosted, 0, len(given), math.fsum(given.values()), defaults)

    # Choosing

    def _decide(self, hosted: HostedPolicy, commands: list[DecideCommand]) -> int:
        """Choose for these commands; return how many decisions are new."""
        # Read from the log before anything is changed.
        known: dict[Any, list[schema.DecisionRow]] = dict(self._known(hosted, commands))
        commands = self._with_same_dim(hosted, commands)
        # The sets to choose from, by request id or a key of their own: a repeated request id is chosen for only once.
        fresh: dict[Any, tuple[DecisionSet, str | None]] = {}
        keys: list[list[Any]] = []
        accepted: list[DecideCommand] = []
        for command in commands:
            pairs = list(zip(command.sets, command.requests, strict=True))
            own_keys = [(command, i) if request is None else request for i, (_, request) in enumerate(pairs)]
            new = {
                key: pair for key, pair in zip(own_keys, pairs, strict=True) if key not in known and key not in fresh
            }
            if not all(
                repeats(hosted, pair, known.get(key), (fresh | new).get(key))
                for key, pair in zip(own_keys, pairs, strict=True)
            ):
                self.results.append((command, different_request()))
                continue
            fresh |= new
            keys.append(own_keys)
            accepted.append(command)
        commands = accepted
        sets, requests = [one for one, _ in fresh.values()], [request for _, request in fresh.values()]
        rows = self._choose(hosted, commands, sets, requests)
        known |= dict(zip(fresh, rows, strict=True))
        for command, own_keys in zip(commands, keys, strict=True):
            self.results.append((command, [row for key in own_keys for row in known[key]]))
        return sum(map(len, rows))

    def _with_same_dim(self, hosted: HostedPolicy, commands: list[DecideCommand]) -> list[DecideCommand]:
        """Refuse vectors whose length differs from the first ones', which may be in this very batch."""
        if hosted.catalogue is not None:
            return commands
        dim, fitting = hosted.dim, []
        for command in commands:
            widths = [one.actions(None).shape[1] for one in command.sets]
            expected = widths[0] if dim is None else dim
            if any(width != expected for width in widths):
                self.results.append((command, wrong_dim(widths[-1], expected)))
            else:
                dim = expected
                fitting.append(command)
        return fitting

    def _known(self, hosted: HostedPolicy, commands: list[DecideCommand]) -> dict[str | None, list[schema.DecisionRow]]:
        """Return the decisions made earlier under the request ids of these commands."""
        request_ids = {request for command in commands for request in command.requests if request is not None}
        first = self._journal.decisions_for(hosted.id, sorted(request_ids)) if request_ids else {}
        known = {request: self._whole_list(hosted, row) for request, row in first.items()}
        for batch in self._before:
            made = batch.by_request
            known |= {one: made[hosted.id, one] for one in request_ids if (hosted.id, one) in made}
        return known

    def _whole_list(self, hosted: HostedPolicy, row: schema.DecisionRow) -> list[schema.DecisionRow]:
        decision_set, _ = decode_decision(row.content)
        count = 1 if isinstance(decision_set, ListMember) else max(decision_set.options.count, 1)
        return [row] if count == 1 else self._journal.decisions(hosted.id, row.round, count)

    def _choose(
        self,
        hosted: HostedPolicy,
        commands: list[DecideCommand],
        sets: list[DecisionSet],
        requests: list[str | None],
    ) -> list[list[schema.DecisionRow]]:
        """Return the rows of each set; a list has several."""
        lists: list[list[schema.DecisionRow]] = []
        # A list is chosen on its own.
        sizes = [math.inf if one.options.count else one.numbers(hosted.catalogue) for one in sets]
        for part in parts(sizes, _AT_ONCE):
            started = time.perf_counter()
            first = hosted.head.number + 1
            forced = [hosted.forced(first + i, one) for i, one in enumerate(sets[part])]
            try:
                decisions = hosted.choose(sets[part], [row for row, _ in forced])
            except ValueError as error:
                raise PolicyError(commands, invalid(f"The policy refuses this: {error}", "actions")) from error
            except Exception as error:
                raise PolicyError(commands, internal()) from error
            seconds = time.perf_counter() - started
            hosted.note_choices(seconds, sum(one.numbers(hosted.catalogue) for one in sets[part]))
            self.metrics.choose_seconds.observe(seconds)
            for i, decision in enumerate(decisions):
                place = i if sets[part][0].options.count else 0
                offered = 0 if place else i
                request = None if place else requests[part][offered]
                chooser = forced[offered][1]
                row = hosted.row(sets[part][offered], decision, request, self.now, self.epoch, chooser, place)
                hosted.keep(row, decision)
                if place:
                    lists[-1].append(row)
                else:
                    lists.append([row])
                if request is not None:
                    self.by_request[hosted.id, request] = lists[-1]
            self._add_event(hosted, schema.DECIDE, encode_range(first, len(decisions)))
        rows = [row for one in lists for row in one]
        self.decisions += rows
        self._counts.append(lambda: self.metrics.decisions.labels(hosted.name).inc(len(rows)))
        return lists

    # Learning

    def _reward(self, hosted: HostedPolicy, commands: list[RewardCommand]) -> tuple[int, float]:
        """Learn the rewards of these commands; return how many are new, and their sum."""
        numbers = {sent.number for command in commands for sent in command.rewards}
        # No caller knows about a decision that is not committed.
        known = sorted(number for number in numbers if 1 <= number <= hosted.committed)
        absent = [number for number in known if hosted.open(number) is None]
        ended = self._ended(hosted, absent)
        origins = self._journal.origins_of(hosted.id, absent) if absent else {}
        parts = self._parts(hosted, known) if hosted.spec.learn_at == "time_to_live" else {}
        fresh: dict[int, SentReward] = {}
        choosers: dict[int, int | None] = {}
        counts = {"learned": 0, "recorded": 0, "corrected": 0, "repeated": 0, "refused": 0}
        outcomes: list[Result] = []
        for command in commands:
            results: list[str | Refusal] = []
            for sent in command.rewards:
                open_decision = hosted.open(sent.number)
                origin = (
                    origins.get(sent.number) if open_decision is None else (open_decision.epoch, open_decision.chooser)
                )
                result: str | Refusal
                if origin is None or sent.number > hosted.committed or origin[0] != sent.epoch:
                    result = unknown_decision(sent, origin if sent.number <= hosted.committed else None)
                elif hosted.spec.learn_at == "time_to_live" and sent.number not in ended:
                    result = self._record(hosted, sent, parts)
                else:
                    result = outcome(sent, ended.get(sent.number), fresh.get(sent.number))
                if result == "learned":
                    fresh[sent.number], choosers[sent.number] = sent, None if origin is None else origin[1]
                results.append(result)
                counts["refused" if isinstance(result, Refusal) else result] += 1
            outcomes.append((command, results))
        rewards = {number: sent.reward for number, sent in fresh.items()}
        if fresh:
            # Read everything from the log first.
            decisions = hosted.decisions(list(fresh), self._journal)
            costs = {number: sent.cost for number, sent in fresh.items() if sent.cost is not None}
            self._learn(hosted, decisions, list(fresh), list(rewards.values()), commands, costs)
            self._add_rewards(hosted, rewards, schema.GIVEN, costs)
            self._count_by_chooser(hosted, rewards, choosers)
            hosted.head.rewards += len(fresh)
        self.results += outcomes

        def count() -> None:
            self.metrics.count_rewards(hosted.name, counts)
            hosted.recent.extend(rewards.values())

        self._counts.append(count)
        return len(fresh), sum(rewards.values())

    def _parts(self, hosted: HostedPolicy, numbers: list[int]) -> dict[int, dict[str, schema.PartRow]]:
        """Return the recorded parts of the rewards of these decisions."""
        recorded = self._journal.parts_of(hosted.id, numbers)
        for batch in self._before:
            for number in numbers:
                recorded[number] = recorded.get(number, {}) | batch.by_part.get((hosted.id, number), {})
        return recorded

    def _record(
        self, hosted: HostedPolicy, sent: SentReward, parts: dict[int, dict[str, schema.PartRow]]
    ) -> str | Refusal:
        """Record a reward that will be learned when the time to live of its decision is over."""
        own_parts = parts.setdefault(sent.number, {})
        before = own_parts.get(sent.part)
        if before is not None and (before.reward == sent.reward or not sent.correct):
            return "repeated" if before.reward == sent.reward else different_reward()
        row = schema.PartRow(hosted.id, sent.number, sent.part, sent.reward, self.now)
        own_parts[sent.part] = row
        self.by_part.setdefault((hosted.id, sent.number), {})[sent.part] = row
        self.parts.append(row)
        return "recorded" if before is None else "corrected"

    def _ended(self, hosted: HostedPolicy, numbers: list[int]) -> dict[int, schema.RewardRow]:
        """Return the rewards of those of these decisions that have ended."""
        rewards = self._journal.rewards_of(hosted.id, numbers) if numbers else {}
        for batch in self._before:
            rewards |= {one: batch.by_number[hosted.id, one] for one in numbers if (hosted.id, one) in batch.by_number}
        return rewards

    def _learn(
        self,
        hosted: HostedPolicy,
        decisions: Sequence[Decision],
        numbers: list[int],
        rewards: list[float],
        commands: Sequence[RewardCommand],
        costs: Mapping[int, float] = MappingProxyType({}),
    ) -> None:
        started = time.perf_counter()
        paid = [costs.get(number, math.nan) for number in numbers] if costs else None
        try:
            hosted.learn(decisions, rewards, paid)
            for number in numbers:
                hosted.drop(number)
        except Exception as error:
            raise PolicyError(commands, internal()) from error
        if paid is None:
            self._add_event(hosted, schema.LEARN, encode_rewards(numbers, rewards))
        else:
            self._add_event(hosted, schema.PAY, encode_payments(numbers, rewards, paid))
        seconds = time.perf_counter() - started
        hosted.note_rewards(seconds, len(numbers))
        self.metrics.learn_seconds.observe(seconds)


def parts(sizes: Sequence[float], most: float) -> Iterator[slice]:
    """Cut a sequence into slices whose sizes add up to at most `most`, unless a single element is larger.

    Examples
    --------
    >>> list(parts([2, 2, 5, 1], 4))
    [slice(0, 2, None), slice(2, 3, None), slice(3, 4, None)]
    """
    start, total = 0, 0.0
    for i, size in enumerate(sizes):
        if i > start and total + size > most:
            yield slice(start, i)
            start, total = i, 0.0
        total += size
    if start < len(sizes):
        yield slice(start, len(sizes))
