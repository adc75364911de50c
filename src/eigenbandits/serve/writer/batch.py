"""One batch of commands: applied to the policies together, then written in one transaction."""

from __future__ import annotations

import copy
import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from eigenbandits.decision import Decision
from eigenbandits.serve.errors import DamagedError, PolicyError, Refusal, damaged, internal, invalid, unknown
from eigenbandits.serve.logs import log_event
from eigenbandits.serve.metrics import Metrics
from eigenbandits.serve.storage import schema
from eigenbandits.serve.storage.journal import BUCKET, Journal
from eigenbandits.serve.writer.commands import (
    Command,
    DecideCommand,
    PolicyCommand,
    Result,
    RewardCommand,
    resolve,
)
from eigenbandits.serve.writer.decision_sets import DecisionSet
from eigenbandits.serve.writer.event_codec import encode_range, encode_rewards
from eigenbandits.serve.writer.hosted_policy import HostedPolicy
from eigenbandits.serve.writer.outcomes import different_request, outcome, repeats, unknown_decision

T = TypeVar("T")
# The rows that a batch has gathered, by attribute.
_ROWS = ("events", "decisions", "rewards", "history")
# Numbers in the decision sets that are chosen in at once: enough to be quick, not so many that memory runs out.
_AT_ONCE = 4_000_000


class Batch:
    """Applies commands to policies in memory, and gathers the rows and results that follow.

    Until it is committed the policies are ahead of the log: if that fails, those in `touched` must be loaded again.

    Parameters
    ----------
    policies
        All policies, by their id.
    journal
        For reading only: what the batches before this one write may not be in it yet.
    before
        The batches before this one that may not be committed yet.
    metrics
        Where things are counted.
    now
        The time.
    epoch
        The epoch of decisions that are made now.
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
        self.policies = policies
        self.metrics = metrics
        self.now = now
        self.epoch = epoch
        self.touched: list[HostedPolicy] = []
        self.results: list[Result] = []
        self.events: list[schema.EventRow] = []
        self.decisions: list[schema.DecisionRow] = []
        self.rewards: list[schema.RewardRow] = []
        self.history: list[schema.HistoryRow] = []
        self.heads: dict[int, schema.PolicyRow] = {}
        # What is counted only once the batch has been committed.
        self._counts: list[Callable[[], None]] = []
        # What the next batches must know before the journal does: by policy, and by request id or number.
        self._by_request: dict[tuple[int, str], schema.DecisionRow] = {}
        self._by_number: dict[tuple[int, int], schema.RewardRow] = {}
        self._journal = journal
        self._before = before

    def apply(self, commands: Sequence[PolicyCommand]) -> None:
        """Let each policy choose for all commands that ask it to, then learn from all rewards that it is sent."""
        for id_ in dict.fromkeys(command.policy for command in commands):
            mine = [command for command in commands if command.policy == id_]
            hosted = self.policies.get(id_)
            if hosted is None:
                self.results += [(command, unknown("policy", "that it was sent to")) for command in mine]
                continue
            self.touched.append(hosted)
            decides = [command for command in mine if isinstance(command, DecideCommand)]
            rewards = [command for command in mine if isinstance(command, RewardCommand)]
            chosen = self._unless_damaged(decides, self._decide, hosted, decides) or 0 if decides else 0
            found = self._unless_damaged(rewards, self._reward, hosted, rewards) if rewards else None
            learned, total = found or (0, 0.0)
            if chosen or learned:
                self._move_head(hosted, chosen, learned, total, 0)
        self._before = ()

    def _unless_damaged(self, commands: Sequence[PolicyCommand], action: Callable[..., T], *args: Any) -> T | None:
        """Do something; where the log cannot be read, which shows before anything is changed, refuse its commands."""
        try:
            return action(*args)
        except DamagedError as error:
            log_event("the log is damaged", logging.ERROR, policy=commands[0].policy, reason=str(error))
            self.results += [(command, damaged()) for command in commands]
            return None

    def copy(self) -> Batch:
        """Return a batch with the same rows, to try them."""
        made = copy.copy(self)
        for name in (*_ROWS, "results"):
            setattr(made, name, list(getattr(self, name)))
        return made

    def drop(self, policies: set[int]) -> list[Command]:
        """Leave out everything that belongs to some policies; return the commands that get no result."""
        for name in _ROWS:
            setattr(self, name, [row for row in getattr(self, name) if row.policy not in policies])
        self.heads = {id_: head for id_, head in self.heads.items() if id_ not in policies}
        lost = [command for command, _ in self.results if getattr(command, "policy", 0) in policies]
        self.results = [one for one in self.results if getattr(one[0], "policy", 0) not in policies]
        return lost

    def expire(self, hosted: HostedPolicy, numbers: list[int], through: int) -> None:
        """End decisions whose time to live is over: with the default reward, or with none."""
        self.touched.append(hosted)
        reward, head = hosted.spec.default_reward, hosted.head
        head.expired_through = through
        kind = schema.EXPIRED if reward is None else schema.DEFAULT
        self._add_rewards(hosted, dict.fromkeys(numbers, reward), kind)
        if reward is None and numbers:
            for number in numbers:
                hosted.drop(number)
            # The policy learns nothing from it; the event records that their sets are not needed any more.
            self._add_event(hosted, schema.EXPIRE, encode_rewards(numbers, [0.0] * len(numbers)))
            head.expired += len(numbers)
        elif reward is not None and numbers:
            self._learn(hosted, hosted.decisions(numbers, self._journal), numbers, [reward] * len(numbers), [])
            head.defaults += len(numbers)
        self._counts.append(lambda: self.metrics.rewards.labels(hosted.name, kind).inc(len(numbers)))
        self._move_head(hosted, 0, 0, 0.0, 0 if reward is None else len(numbers))

    def _move_head(self, hosted: HostedPolicy, chosen: int, learned: int, total: float, defaults: int) -> None:
        hosted.head.last_at = self.now
        self.heads[hosted.id] = replace(hosted.head)
        start = int(self.now) // BUCKET * BUCKET
        self.history.append(schema.HistoryRow(hosted.id, start, chosen, learned, total, defaults))
        hosted.since_snapshot += chosen + learned + defaults

    def _add_event(self, hosted: HostedPolicy, kind: str, content: bytes) -> None:
        hosted.head.position += 1
        self.events.append(schema.EventRow(hosted.id, hosted.head.position, kind, content))

    def _add_rewards(self, hosted: HostedPolicy, rewards: Mapping[int, float | None], kind: str) -> None:
        rows = [schema.RewardRow(hosted.id, number, reward, kind, self.now) for number, reward in rewards.items()]
        self.rewards += rows
        self._by_number |= {(hosted.id, row.number): row for row in rows}

    # Choosing

    def _decide(self, hosted: HostedPolicy, commands: list[DecideCommand]) -> int:
        """Choose for some commands; return how many decisions are new."""
        # Reading of the log comes first.
        known: dict[Any, schema.DecisionRow] = dict(self._known(hosted, commands))
        commands = self._with_same_dim(hosted, commands)
        # Sets to choose in, by request id or a key of their own: a request id that comes twice is chosen for once.
        fresh: dict[Any, tuple[DecisionSet, str | None]] = {}
        keys: list[list[Any]] = []
        taken: list[DecideCommand] = []
        for command in commands:
            pairs = list(zip(command.sets, command.requests, strict=True))
            mine = [(command, i) if request is None else request for i, (_, request) in enumerate(pairs)]
            new = {key: pair for key, pair in zip(mine, pairs, strict=True) if key not in known and key not in fresh}
            if not all(
                repeats(hosted, pair, known.get(key), (fresh | new).get(key))
                for key, pair in zip(mine, pairs, strict=True)
            ):
                self.results.append((command, different_request()))
                continue
            fresh |= new
            keys.append(mine)
            taken.append(command)
        commands = taken
        sets, requests = [one for one, _ in fresh.values()], [request for _, request in fresh.values()]
        rows = self._choose(hosted, commands, sets, requests)
        known |= dict(zip(fresh, rows, strict=True))
        for command, mine in zip(commands, keys, strict=True):
            self.results.append((command, [known[key] for key in mine]))
        return len(rows)

    def _with_same_dim(self, hosted: HostedPolicy, commands: list[DecideCommand]) -> list[DecideCommand]:
        """Refuse vectors of another length than those that came first, which may be in this very batch."""
        if hosted.catalogue is not None:
            return commands
        dim, fitting = hosted.dim, []
        for command in commands:
            widths = [one.actions(None).shape[1] for one in command.sets]
            wanted = widths[0] if dim is None else dim
            if any(width != wanted for width in widths):
                message = f"The actions have vectors of length {widths[-1]}; expected vectors of length {wanted}."
                self.results.append((command, invalid(message, "actions", "wrong_dimension")))
            else:
                dim = wanted
                fitting.append(command)
        return fitting

    def _known(self, hosted: HostedPolicy, commands: list[DecideCommand]) -> dict[str | None, schema.DecisionRow]:
        """Return the decisions that were made before under the request ids of some commands."""
        wanted = {request for command in commands for request in command.requests if request is not None}
        known = self._journal.decisions_for(hosted.id, sorted(wanted)) if wanted else {}
        for batch in self._before:
            known |= {one: batch._by_request[hosted.id, one] for one in wanted if (hosted.id, one) in batch._by_request}
        return known

    def _choose(
        self,
        hosted: HostedPolicy,
        commands: list[DecideCommand],
        sets: list[DecisionSet],
        requests: list[str | None],
    ) -> list[schema.DecisionRow]:
        rows: list[schema.DecisionRow] = []
        for part in parts([one.numbers(hosted.catalogue) for one in sets], _AT_ONCE):
            started = time.perf_counter()
            arrays = [one.actions(hosted.catalogue) for one in sets[part]]
            try:
                decisions = hosted.choose(arrays)
            except ValueError as error:
                raise PolicyError(commands, invalid(f"The policy refuses this: {error}", "actions")) from error
            except Exception as error:
                raise PolicyError(commands, internal()) from error
            seconds = time.perf_counter() - started
            hosted.note_choices(seconds, sum(array.size for array in arrays))
            self.metrics.choose_seconds.observe(seconds)
            first = hosted.head.number + 1
            for decision_set, decision, request in zip(sets[part], decisions, requests[part], strict=True):
                row = hosted.row(decision_set, decision, request, self.now, self.epoch)
                rows.append(row)
                hosted.keep(row, decision)
                if request is not None:
                    self._by_request[hosted.id, request] = row
            self._add_event(hosted, schema.DECIDE, encode_range(first, len(decisions)))
        self.decisions += rows
        self._counts.append(lambda: self.metrics.decisions.labels(hosted.name).inc(len(rows)))
        return rows

    # Learning

    def _reward(self, hosted: HostedPolicy, commands: list[RewardCommand]) -> tuple[int, float]:
        """Learn the rewards of some commands; return how many are new, and their sum."""
        numbers = {sent.number for command in commands for sent in command.rewards}
        # No caller knows of a decision that is not committed.
        known = sorted(number for number in numbers if 1 <= number <= hosted.committed)
        absent = [number for number in known if hosted.open(number) is None]
        ended = self._ended(hosted, absent)
        origins = self._journal.origins_of(hosted.id, absent) if absent else {}
        fresh: dict[int, float] = {}
        counts = {"learned": 0, "repeated": 0, "refused": 0}
        outcomes: list[Result] = []
        for command in commands:
            results: list[str | Refusal] = []
            for sent in command.rewards:
                held = hosted.open(sent.number)
                origin = origins.get(sent.number) if held is None else (held.epoch, held.arm)
                result: str | Refusal
                if origin is None or sent.number > hosted.committed or origin[0] != sent.epoch:
                    result = unknown_decision(hosted, sent, origin)
                else:
                    result = outcome(sent.reward, ended.get(sent.number), fresh.get(sent.number))
                if result == "learned":
                    fresh[sent.number] = sent.reward
                results.append(result)
                counts["refused" if isinstance(result, Refusal) else result] += 1
            outcomes.append((command, results))
        if fresh:
            # All reading of the log comes first.
            decisions = hosted.decisions(list(fresh), self._journal)
            self._learn(hosted, decisions, list(fresh), list(fresh.values()), commands)
            self._add_rewards(hosted, fresh, schema.GIVEN)
            hosted.head.rewards += len(fresh)
        self.results += outcomes

        def count() -> None:
            self.metrics.count_rewards(hosted.name, counts)
            hosted.recent.extend(fresh.values())

        self._counts.append(count)
        return len(fresh), sum(fresh.values())

    def _ended(self, hosted: HostedPolicy, numbers: list[int]) -> dict[int, schema.RewardRow]:
        """Return the rewards of those decisions among some that have ended."""
        found = self._journal.rewards_of(hosted.id, numbers) if numbers else {}
        for batch in self._before:
            found |= {one: batch._by_number[hosted.id, one] for one in numbers if (hosted.id, one) in batch._by_number}
        return found

    def _learn(
        self,
        hosted: HostedPolicy,
        decisions: Sequence[Decision],
        numbers: list[int],
        rewards: list[float],
        commands: Sequence[RewardCommand],
    ) -> None:
        started = time.perf_counter()
        try:
            hosted.learn(decisions, rewards)
            for number in numbers:
                hosted.drop(number)
        except Exception as error:
            raise PolicyError(commands, internal()) from error
        self._add_event(hosted, schema.LEARN, encode_rewards(numbers, rewards))
        seconds = time.perf_counter() - started
        hosted.note_rewards(seconds, len(numbers))
        self.metrics.learn_seconds.observe(seconds)

    # Writing

    @staticmethod
    def write(batches: Sequence[Batch], journal: Journal) -> None:
        """Write batches together, all rows of a table at once; the caller commits."""
        journal.add(schema.EVENTS, [row for batch in batches for row in batch.events])
        journal.add(schema.DECISIONS, [row for batch in batches for row in batch.decisions])
        journal.add(schema.REWARDS, [row for batch in batches for row in batch.rewards])
        journal.add_history([row for batch in batches for row in batch.history])
        heads = {id_: head for batch in batches for id_, head in batch.heads.items()}
        journal.move_heads(list(heads.values()))

    def acknowledge(self) -> None:
        """Once the batch has been committed, resolve its commands and count."""
        for hosted in self.touched:
            if hosted.id in self.heads:
                hosted.committed = self.heads[hosted.id].number
        resolve(self.results)
        for count in self._counts:
            count()
        # Later batches may hold on to this one for what they look up in it; the rest is not needed any more.
        for done in (self.events, self.decisions, self.rewards, self.history, self.results, self._counts):
            done.clear()


def parts(sizes: Sequence[float], most: float) -> Iterator[slice]:
    """Cut something, given the size of each piece of it, into runs whose sizes add up to `most` or less, if they can.

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
