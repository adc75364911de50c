"""A policy hosted by the service: the policy itself, the head of its log, and its open decisions."""

import hashlib
import math
from collections import OrderedDict, deque
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from eigenbandits import inputs
from eigenbandits.policy import Decision, Policy, files
from eigenbandits.serve.errors import ReplayError
from eigenbandits.serve.storage import schema
from eigenbandits.serve.storage.journal import Journal
from eigenbandits.serve.storage.schema import DecisionRow, PolicyRow
from eigenbandits.serve.writer import event_codec as codec
from eigenbandits.serve.writer.catalogue import Catalogue
from eigenbandits.serve.writer.decision_rows import bare_decision, decision_row
from eigenbandits.serve.writer.decision_sets import DecisionSet, ListMember
from eigenbandits.serve.writer.policy_spec import PolicySpec

# Bytes of open decisions kept in memory per policy; older ones are read back from the log.
_KEPT = 32 * 2**20
# The average number of values in a decision set above which choosing one by one, which uses a shortlist in single
# precision, is cheaper than choosing from all sets of a batch together: `python -m benchmarks.serve.together`.
_LARGE_SET = 5000
# Bytes of an open decision besides its vectors.
_OVERHEAD = 500


class OpenDecision(NamedTuple):
    """A decision that waits for its reward, with the epoch in its id, and who made it."""

    decision: Decision
    epoch: int | None
    chooser: int | None


class Resumption(NamedTuple):
    """What a policy's log contained when the service opened it: decisions through a number, at a time.

    `fresh` if the service was down for so long, by the wall clock, that these decisions get a new time to live.
    """

    through: int
    at: float
    fresh: bool

    def waiting_since(self, number: int, decided_at: float) -> float:
        """Return the time from which the time to live of a decision counts.

        A time later than the opening of the log comes from a clock that was wrong at that time.
        """
        if number > self.through:
            return decided_at
        return self.at if self.fresh else min(decided_at, self.at)


class HostedPolicy:
    """One policy of the service; only the writer's thread changes it, while other threads read its fields.

    Parameters
    ----------
    head
        The policy's row; the head of its log moves with each batch.
    catalogue
        The catalogue named in its spec.
    policy
        The policy from a snapshot; None for a new one.
    """

    # Whether the policy can choose lists.
    takes_lists = True

    def __init__(self, head: PolicyRow, catalogue: Catalogue | None = None, policy: Policy | None = None) -> None:
        self.id = head.id
        self.name = head.name
        self.spec = PolicySpec.from_text(head.spec)
        self.head = head
        self.catalogue = catalogue
        self.policy = policy if policy is not None else self.spec.make()
        # The number of decisions that callers may know of; the head is ahead of it while a batch is being written.
        self.committed = head.number
        self.snapshot_position = 0
        self.since_snapshot = 0
        # Whether the policy may have done something that the log does not contain.
        self.dirty = False
        self.resumed = Resumption(0, 0.0, False)
        # Estimates from recent choices and rewards: seconds per value in a decision set, and per reward. They start
        # high: making a batch too small costs little.
        self.seconds_per_number, self.seconds_per_reward = 1e-8, 1e-3
        self.recent: deque[float] = deque(maxlen=1000)
        self._open: OrderedDict[int, OpenDecision] = OrderedDict()

    @property
    def dim(self) -> int | None:
        """The length of the vectors, once known."""
        if self.catalogue is not None:
            return self.catalogue.dim
        return self.policy.dim if self.spec.dim is None else self.spec.dim

    def lifetime(self, keep: float) -> float | None:
        """Return how long a decision waits for its reward, given how long decisions are kept; None for forever."""
        limits = [one for one in (self.spec.time_to_live, keep) if one is not None and one < math.inf]
        return min(limits, default=None)

    def cost_of(self, decision_set: DecisionSet) -> float:
        """Return the estimated time of a choice in seconds."""
        return self.seconds_per_number * decision_set.numbers(self.catalogue)

    def note_choices(self, seconds: float, numbers: int) -> None:
        """Record how long it took to choose from sets with this many values."""
        self.seconds_per_number += 0.1 * (seconds / max(numbers, 1) - self.seconds_per_number)

    def note_rewards(self, seconds: float, count: int) -> None:
        """Record how long it took to learn this many rewards."""
        self.seconds_per_reward += 0.1 * (seconds / max(count, 1) - self.seconds_per_reward)

    # Choosing and learning depend only on the policy's state and the arguments, so that the log, which contains the
    # arguments in order, leads to the same state again.

    def choose(self, sets: Sequence[DecisionSet], forced: Sequence[int | None]) -> list[Decision]:
        """Choose from each decision set; or, if a set asks for a list, choose all rows of the list.

        If a row is forced, because the baseline or another system has chosen it, the policy has no other choice, but
        records everything.
        """
        arrays = [one.actions(self.catalogue) for one in sets]
        first = self.policy.round + 1
        observe = [self._observes(first + i) for i in range(len(arrays))]
        scores = [one.options.scores for one in sets]
        costs = [one.options.costs for one in sets]
        allowed = [
            one.options.allowed(len(array)) if row is None else np.array([row])
            for one, array, row in zip(sets, arrays, forced, strict=True)
        ]
        count = sets[0].options.count
        if count:
            (array,) = arrays
            listed = self.policy.choose_list(array, count, observe=observe[0], allowed=allowed[0], scores=scores[0])
            return list(listed.decisions)
        if len(arrays) == 1 or sum(array.size for array in arrays) > _LARGE_SET * len(arrays):
            return [
                self.policy.choose(array, observe=seen, allowed=rows, scores=given, **self._priced(costs=paid))
                for array, seen, rows, given, paid in zip(arrays, observe, allowed, scores, costs, strict=True)
            ]
        limited = allowed if any(one is not None for one in allowed) else None
        ranked: Any = scores if any(one is not None for one in scores) else None
        priced = self._priced(costs=costs)
        return self.policy.choose_many(arrays, observe=observe, allowed=limited, scores=ranked, **priced)

    def _priced(self, **given: Any) -> dict[str, Any]:
        """Return arguments about costs, which only a policy with a budget takes."""
        return {} if self.spec.budget is None else given

    def forced(self, number: int, decision_set: DecisionSet) -> tuple[int | None, int | None]:
        """Return the row that the policy does not choose itself, if there is one, and who chooses."""
        logged = decision_set.options.logged
        if logged is not None:
            return logged.index, schema.LOGGED
        if not self.spec.holdout:
            return None, None
        row = self._baseline(number, decision_set)
        return row, schema.POLICY if row is None else schema.BASELINE

    def _baseline(self, number: int, decision_set: DecisionSet) -> int | None:
        """Return the baseline's choice if this decision is assigned to the baseline; else None.

        The assignment depends only on the seed and the number.
        """
        if decision_set.options.count:
            return None
        seed = f"{self.id}-{self.spec.parameters.get('seed')}-{number}".encode()
        rng = np.random.default_rng(list(hashlib.blake2b(seed, digest_size=16).digest()))
        if rng.random() >= self.spec.holdout:
            return None
        size, options = decision_set.size(self.catalogue), decision_set.options
        rows = options.allowed(size)
        allowed = np.arange(size) if rows is None else rows
        if self.spec.baseline == "random":
            return int(rng.choice(allowed))
        if self.spec.baseline == "scores" and options.scores is not None:
            return int(allowed[options.scores[allowed].argmax()])
        return int(allowed[0])

    def _observes(self, number: int) -> bool:
        # The first set is always observed: without it there is no subspace to choose in.
        return number <= max(self.spec.observe_after, 1) or number % self.spec.observe_every == 0

    def learn(
        self, decisions: Sequence[Decision], rewards: Sequence[float], costs: Sequence[float] | None = None
    ) -> None:
        """Learn the rewards of decisions, and their costs, NaN if unknown."""
        if len(decisions) == 1:
            paid = None if costs is None or math.isnan(costs[0]) else costs[0]
            self.policy.learn(decisions[0], rewards[0], **self._priced(cost=paid))
        else:
            self.policy.learn_many(decisions, rewards, **self._priced(costs=costs))

    def follow(self, numbers: Sequence[int], journal: Journal) -> None:
        """Record decisions that deciders made, in this order.

        If the subspace observes a set, the policy goes through the whole round, including a choice; the choice that
        counts is the one in the log. Other rounds are only counted.
        """
        policy, done = self.policy, self.policy.round
        observed = [number for i, number in enumerate(numbers, 1) if self._observes(done + i)]
        rows = journal.decisions_of(self.id, observed) if observed else {}
        for i, number in enumerate(numbers):
            policy.round = done + i
            if number in rows:
                decision_set, _ = codec.decode_set(rows[number].content)
                if decision_set.chosen_only:
                    raise ReplayError(f"the set of decision {number} was pruned")
                actions, options = decision_set.actions(self.catalogue), decision_set.options
                policy.choose(actions, allowed=options.allowed(len(actions)), scores=options.scores)
        if len(rows) != len(observed):
            raise ReplayError("decisions are missing")
        policy.round = done + len(numbers)

    def merged(self, content: bytes) -> Policy:
        """Return the policy merged with its replicas, which are encoded in the content of an event."""
        replicas, base = codec.decode_replicas(content)
        merged = files.from_bytes(files.to_bytes(self.policy))
        merged.merge([files.from_bytes(one) for one in replicas], files.from_bytes(base) if base else None)
        return merged

    def follow_subspace(self) -> None:
        """Let the belief follow the subspace, so that whoever chooses by it does not have to."""
        if self.policy.dim is not None and self.policy.subspace.ready:
            self.policy.belief.follow(self.policy.subspace.frame())

    # Decisions as rows of the log

    def row(
        self,
        decision_set: DecisionSet,
        decision: Decision,
        request: str | None,
        now: float,
        epoch: int,
        chooser: int | None = None,
        place: int = 0,
    ) -> DecisionRow:
        """Return the row of a decision just made, under the next number; `place` is its place in a list."""
        self.head.number += 1
        arguments = (decision_set, decision, self.head.number, request, now, epoch)
        return decision_row(self.id, self.catalogue, *arguments, chooser=chooser, place=place)

    def decision(self, row: DecisionRow, journal: Journal) -> Decision:
        """Return a decision as `choose` made it, with what learning needs."""
        decision_set, forecast = codec.decode_decision(row.content)
        if not isinstance(decision_set, ListMember):
            return self.decided(row.index, row.content, row.cost)
        first = row.round - decision_set.offset
        whole, _ = codec.decode_set(journal.decisions_of(self.id, [first])[first].content)
        return self._decision(whole, row.index, forecast if self.policy.belief.accepts(forecast) else None)

    def decided(self, index: int, content: bytes, cost: float | None = None) -> Decision:
        """Return a decision from its logged content; not for a further row of a list."""
        decision_set, forecast = codec.decode_set(content)
        # A log may contain forecasts from another version of the library; the reward is then learned without one.
        return self._decision(decision_set, index, forecast if self.policy.belief.accepts(forecast) else None, cost)

    def _decision(
        self, decision_set: DecisionSet, index: int, forecast: codec.Forecast | None, cost: float | None = None
    ) -> Decision:
        policy, options = self.policy, decision_set.options
        action = np.array(decision_set.row(self.catalogue, index), dtype=policy.dtype)
        if policy.centering.by_set:
            if decision_set.chosen_only:
                raise ReplayError("the set of a decision to learn from was pruned")
            actions = inputs.as_actions(decision_set.actions(self.catalogue), self.dim, dtype=policy.dtype)
            row = policy.lift(actions, policy.scoring.read(actions, options.scores))[0][index]
        else:
            row = policy.lift_vectors(action[None], options.score(0 if decision_set.chosen_only else index))[0]
        action.flags.writeable = False
        lifted = row.astype(np.float64)
        lifted.flags.writeable = False
        return bare_decision(index, action, 0, lifted, forecast, cost)

    # Open decisions

    def keep(self, row: DecisionRow, decision: Decision) -> None:
        """Keep an open decision in memory, without the model behind it."""
        action, lifted, forecast = decision.action, decision.lifted, decision.forecast
        kept = bare_decision(decision.index, action, decision.round, lifted, forecast, row.cost)
        self._open[row.round] = OpenDecision(kept, row.epoch, row.chooser)
        vectors = 1 if lifted is action else 2
        extra = 0 if forecast is None else forecast.nbytes
        if len(self._open) * (8 * vectors * len(action) + extra + _OVERHEAD) > _KEPT:
            self._open.popitem(last=False)

    def open(self, number: int) -> OpenDecision | None:
        """Return a decision if it is known to be open without reading the log."""
        return self._open.get(number)

    def drop(self, number: int) -> None:
        """Drop a decision that is no longer open."""
        self._open.pop(number, None)

    def decisions(self, numbers: Sequence[int], journal: Journal) -> list[Decision]:
        """Return open decisions, from memory or from the log."""
        missing = [number for number in numbers if number not in self._open]
        rows = journal.decisions_of(self.id, missing) if missing else {}
        return [
            self._open[number].decision if number in self._open else self.decision(rows[number], journal)
            for number in numbers
        ]

    # Replay

    def replay(self, journal: Journal, after: int) -> int:
        """Replay the log after a position; return how many choices came out differently, which should be none.

        They can differ if the log was written by another version of the library or on another kind of processor. The
        logged choices take precedence, since they were shown and rewarded.
        """
        different = 0
        for position, event in enumerate(journal.events(self.id, after, self.head.position), after + 1):
            if event.position != position:
                raise ReplayError(f"the log from event {position} on has been deleted or is missing")
            match event.kind:
                case schema.DECIDE:
                    first, count = codec.decode_range(event.content)
                    different += self._replay_choices(journal, first, count)
                    self.since_snapshot += count
                case schema.FOLLOW:
                    followed = codec.decode_numbers(event.content)
                    self.follow(followed, journal)
                    self.since_snapshot += len(followed)
                case schema.PUBLISH:
                    self.follow_subspace()
                case schema.CLONE:
                    self.policy = files.from_bytes(event.content)
                case schema.MERGE:
                    self.policy = self.merged(event.content)
                case _:
                    self._replay_endings(journal, event)
        return different

    def _replay_endings(self, journal: Journal, event: schema.EventRow) -> None:
        numbers, rewards, costs = codec.decode_rewards(event.kind, event.content)
        self.since_snapshot += len(numbers)
        if event.kind != schema.EXPIRE:
            self.learn(self.decisions(numbers, journal), rewards, costs)
        for number in numbers:
            self.drop(number)

    def _replay_choices(self, journal: Journal, first: int, count: int) -> int:
        rows = journal.decisions(self.id, first, count)
        read = [codec.decode_decision(row.content)[0] for row in rows]
        # The rows of a list share one set, which has an event of its own.
        sets = [one for one in read if not isinstance(one, ListMember)]
        if len(rows) != count or any(one.chosen_only for one in sets):
            raise ReplayError(f"the decisions from {first} on were pruned or are missing")
        others = (schema.BASELINE, schema.LOGGED)
        forced = [row.index if row.chooser in others else None for row in rows[: len(sets)]]
        different = 0
        for row, decision in zip(rows, self.choose(sets, forced), strict=True):
            same = decision.index == row.index
            different += not same
            self.keep(row, decision if same else self.decision(row, journal))
        return different

    def summary(self) -> dict[str, Any]:
        """Return the policy's public description."""
        head = self.head
        return vars(self.spec) | {
            "name": self.name,
            "created_at": head.created_at,
            "dim": self.dim,
            "decisions": head.number,
            "rewards": head.rewards,
            "defaults": head.defaults,
            "expired": head.expired,
            "pending": head.pending,
        }
