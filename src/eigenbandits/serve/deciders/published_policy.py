"""`PublishedPolicy`: a policy in a decider, with the latest belief that the learner published."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from eigenbandits.policy import Decision, files
from eigenbandits.serve.storage.lanes import BeliefRow
from eigenbandits.serve.storage.schema import PolicyRow
from eigenbandits.serve.writer.catalogue import Catalogue
from eigenbandits.serve.writer.decision_sets import DecisionSet
from eigenbandits.serve.writer.hosted_policy import HostedPolicy


class PublishedPolicy(HostedPolicy):
    """One policy of a decider. Its choices do not change it; only the next belief does.

    Parameters
    ----------
    head, catalogue
        As for `HostedPolicy`.
    belief
        The published belief; None before there is one. Every decision is then made by a policy that has seen only the
        actions offered.
    """

    takes_lists = False

    def __init__(self, head: PolicyRow, catalogue: Catalogue | None, belief: BeliefRow | None = None) -> None:
        super().__init__(head, catalogue, None if belief is None else files.from_bytes(belief.content))
        self.version = 0 if belief is None else belief.version
        # The vector length fixed by the first decision, which a belief may not know yet.
        self.fixed_dim: int | None = None
        # Whether decisions have scores, fixed in the same way.
        self.fixed_scored: bool | None = None
        # One source of randomness, set to each decision's stream: a new one takes fifteen times as long.
        seed = (int(self.spec.parameters["seed"]) + (self.id << 53)) % 2**64
        self._stream = np.random.Philox(key=np.array([seed, 0], dtype=np.uint64))
        self._generator, self._start = np.random.Generator(self._stream), self._stream.state

    @property
    def dim(self) -> int | None:
        """The length of the vectors, once known."""
        known = super().dim
        return self.fixed_dim if known is None else known

    @property
    def scored(self) -> bool | None:
        """Whether decisions have scores, once known."""
        return self.fixed_scored if self.policy.scoring.used is None else self.policy.scoring.used

    def propose(self, decision_set: DecisionSet, actions: NDArray[Any], number: int) -> tuple[Decision, int | None]:
        """Choose from a decision set for the decision with a number; both together reproduce the choice.

        Returns the decision, and who made it.
        """
        policy, rng, options = self.policy, self.stream(number), decision_set.options
        row, chooser = self.forced(number, decision_set)
        allowed = options.allowed(len(actions)) if row is None else np.array([row])
        if policy.dim is not None and policy.subspace.ready:
            return policy.propose(actions, rng, allowed=allowed, scores=options.scores), chooser
        fresh = self.spec.make()
        fresh.rng = rng
        return fresh.choose(actions, allowed=allowed, scores=options.scores), chooser

    def stream(self, number: int) -> np.random.Generator:
        """Return the source of randomness of one decision, until the next: a stream of its policy and its number."""
        self._start["state"]["key"][1] = number
        self._stream.state = self._start
        return self._generator
