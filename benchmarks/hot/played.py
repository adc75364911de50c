"""A policy that has left its first rounds behind."""

from __future__ import annotations

from itertools import islice

import eigenbandits as eb
from benchmarks.data import Size, stream
from eigenbandits.environments import Round

WARM_ROUNDS = 120


class Played:
    """A policy after its first rounds, and the rounds that come next, drawn beforehand."""

    def __init__(self, policy: eb.Policy, size: Size, ahead: int) -> None:
        self.policy = policy
        rounds = stream(size)
        for offered in islice(rounds, WARM_ROUNDS):
            self.play(offered)
        self.ahead = list(islice(rounds, ahead))
        self._at = 0

    def next_round(self) -> Round:
        self._at = (self._at + 1) % len(self.ahead)
        return self.ahead[self._at]

    def play(self, offered: Round) -> None:
        decision = self.policy.choose(offered.actions)
        self.policy.learn(decision, offered.reward(decision.index))
