"""A policy that the service looks after: the policy itself, the head of its log, and the decisions still open."""

from __future__ import annotations

import struct
from collections import OrderedDict, deque
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eigenbandits import inputs
from eigenbandits.policy import Decision, Policy
from eigenbandits.serve.catalogue import Catalogue
from eigenbandits.serve.journal import Head, Journal
from eigenbandits.serve.sets import AskedSet, Forecast, Inline, decode
from eigenbandits.serve.specs import Spec

DECIDE, LEARN, EXPIRE = "decide", "learn", "expire"
# Open decisions are kept in memory up to this many bytes for each policy; older ones are read from the log again.
_REMEMBERED = 32 * 2**20
# Bytes that an open decision takes beside its vectors.
_OVERHEAD = 500
# Numbers that are looked at in one go: enough to be quick, not so many that memory runs out.
_AT_ONCE = 4_000_000
_RANGE = struct.Struct("<qq")


class Unrepeatable(Exception):  # noqa: N818 - says what the log is
    """The log does not hold what is needed to go through it again from where it was asked to."""


class Hosted:
    """One policy of the service; all but the reading of its fields happens in the writer's thread."""

    def __init__(
        self,
        id_: int,
        name: str,
        spec: Spec,
        created_at: float,
        *,
        head: Head | None = None,
        catalogue: Catalogue | None = None,
        policy: Policy | None = None,
    ) -> None:
        self.id = id_
        self.name = name
        self.spec = spec
        self.created_at = created_at
        self.head = head if head is not None else Head(last_at=created_at)
        self.catalogue = catalogue
        self.policy = policy if policy is not None else spec.make()
        # How many decisions callers may know of; the head may be ahead while a batch is being written.
        self.committed = self.head.number
        self.snapshot_position = 0
        self.since_snapshot = 0
        # What must no longer be trusted: the policy may have done what the log does not know.
        self.dirty = False
        self.recent: deque[float] = deque(maxlen=1000)
        self._open: OrderedDict[int, Decision] = OrderedDict()

    @property
    def dim(self) -> int | None:
        """The length of the vectors, once it is known."""
        return self.catalogue.dim if self.catalogue is not None else self.policy.dim

    # Choosing and learning: each a function of the policy's state and its arguments alone, so that the log, which
    # holds the arguments in their order, leads to the same state again.

    def choose(self, arrays: Sequence[NDArray[Any]]) -> list[Decision]:
        """Choose in each of some decision sets."""
        policy = self.policy
        first = policy.round + 1
        due = [self._due(first + i) for i in range(len(arrays))]
        if len(arrays) == 1:
            return [policy.choose(arrays[0], observe=due[0])]
        return policy.choose_many(arrays, observe=due)

    def _due(self, number: int) -> bool:
        # The first set is always shown: there is no subspace to choose in before.
        return number <= max(self.spec.observe_after, 1) or number % self.spec.observe_every == 0

    def learn(self, decisions: Sequence[Decision], rewards: Sequence[float]) -> None:
        """Take in the rewards of some decisions."""
        if len(decisions) == 1:
            self.policy.learn(decisions[0], rewards[0])
        else:
            self.policy.learn_many(decisions, rewards)

    # Decisions that are still open

    def remember(self, number: int, decision: Decision) -> None:
        """Keep an open decision in memory, without the model behind it."""
        index, action, lifted, forecast = decision.index, decision.action, decision.lifted, decision.forecast
        self._open[number] = Decision(index, action, decision.round, 0.0, 0.0, lifted=lifted, forecast=forecast)
        vectors = 1 if lifted is action else 2
        said = 0 if forecast is None else forecast.nbytes
        if len(self._open) * (8 * vectors * len(action) + said + _OVERHEAD) > _REMEMBERED:
            self._open.popitem(last=False)

    def is_open(self, number: int) -> bool:
        """Return whether a decision is known, without looking into the log, to be open."""
        return number in self._open

    def forget(self, number: int) -> None:
        """Drop a decision that will not be learned from."""
        self._open.pop(number, None)

    def settle(self, numbers: Sequence[int], journal: Journal) -> list[Decision]:
        """Return decisions by their numbers, from memory or from the log, and forget them."""
        missing = [number for number in numbers if number not in self._open]
        read = journal.decisions_of(self.id, missing) if missing else {}
        return [self._open.pop(number) if number in self._open else self._again(*read[number]) for number in numbers]

    def _again(self, chosen: int, content: bytes) -> Decision:
        asked, forecast = decode(content)
        return self.decision(asked, chosen, forecast)

    def decision(self, asked: AskedSet, chosen: int, forecast: Forecast | None) -> Decision:
        """Return a decision as `choose` made it, as far as learning needs it."""
        centering = self.policy.centering
        action = np.array(asked.row(self.catalogue, chosen), dtype=self.policy.dtype)
        if centering.by_set:
            if isinstance(asked, Inline) and asked.chosen_only:
                raise Unrepeatable("a decision that was pruned is to be learned from")
            actions = inputs.as_actions(asked.actions(self.catalogue), self.dim, dtype=self.policy.dtype)
            row = centering.lift(actions)[0][chosen]
        else:
            row = centering.lift_vectors(action)
        action.flags.writeable = False
        lifted = row.astype(np.float64)
        lifted.flags.writeable = False
        return Decision(chosen, action, 0, 0.0, 0.0, lifted=lifted, forecast=forecast)

    # The log, read again

    def replay(self, journal: Journal, after: int) -> int:
        """Go through the log after a position; return how many choices came out differently, which should be none.

        They can if the log was written by another version of the library or on another kind of processor. The choices
        that were made then hold, since they are what was shown and rewarded.
        """
        different = 0
        for _, kind, content in journal.events(self.id, after, self.head.position):
            if kind == DECIDE:
                first, count = _RANGE.unpack(content)
                different += self._replay_choices(journal, first, count)
                self.since_snapshot += count
                continue
            numbers, rewards = unpack_rewards(content)
            self.since_snapshot += len(numbers)
            if kind == LEARN:
                self.learn(self.settle(numbers, journal), rewards)
            else:
                for number in numbers:
                    self.forget(number)
        return different

    def _replay_choices(self, journal: Journal, first: int, count: int) -> int:
        rows = journal.decisions(self.id, first, count)
        kept = [decode(bytes(row[2])) for row in rows]
        if len(rows) != count or any(isinstance(one, Inline) and one.chosen_only for one, _ in kept):
            raise Unrepeatable(f"the decisions from {first} on were pruned or are missing")
        decisions = self.choose([one.actions(self.catalogue) for one, _ in kept])
        for row, (one, forecast), decision in zip(rows, kept, decisions, strict=True):
            self.remember(row[0], decision if decision.index == row[1] else self.decision(one, row[1], forecast))
        return sum(decision.index != row[1] for row, decision in zip(rows, decisions, strict=True))

    def summary(self) -> dict[str, Any]:
        """Return what is worth telling."""
        head, spec = self.head, self.spec
        return {
            "name": self.name,
            "algorithm": spec.algorithm,
            "parameters": spec.parameters,
            "catalogue": spec.catalogue,
            "time_to_live": spec.time_to_live,
            "default_reward": spec.default_reward,
            "observe_after": spec.observe_after,
            "observe_every": spec.observe_every,
            "keep_sets": spec.keep_sets,
            "created_at": self.created_at,
            "dim": self.dim,
            "decisions": head.number,
            "rewards": head.rewards,
            "defaults": head.defaults,
            "expired": head.expired,
            "pending": head.pending,
        }


def parts(sets: Sequence[AskedSet], catalogue: Catalogue | None, dim: int) -> Iterator[slice]:
    """Cut many decision sets into runs that are looked at in one go."""
    start = total = 0
    for i, asked in enumerate(sets):
        numbers = asked.size(catalogue) * dim
        if total and total + numbers > _AT_ONCE:
            yield slice(start, i)
            start, total = i, 0
        total += numbers
    if start < len(sets):
        yield slice(start, len(sets))


def pack_range(first: int, count: int) -> bytes:
    """Return the content of the event of some choices."""
    return _RANGE.pack(first, count)


def pack_rewards(numbers: Sequence[int], rewards: Sequence[float]) -> bytes:
    """Return the content of the event of some rewards."""
    return np.array(numbers, dtype="<i8").tobytes() + np.array(rewards, dtype="<f8").tobytes()


def unpack_rewards(content: bytes) -> tuple[list[int], list[float]]:
    """Return what `pack_rewards` was given."""
    half = len(content) // 2
    numbers = np.frombuffer(content[:half], dtype="<i8").tolist()
    return numbers, np.frombuffer(content[half:], dtype="<f8").tolist()
