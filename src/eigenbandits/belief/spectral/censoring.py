"""The smallest and largest rewards, and whether they are limits that true values may lie beyond."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from eigenbandits.component import Component
from eigenbandits.inputs import Array
from eigenbandits.merging import Replica, added


class Censoring(Component):
    """The largest reward is taken to be a limit if it has occurred more than once; likewise the smallest.

    A reward at a limit does not speak against a value beyond it. Such a reward counts as the expected value if that was
    beyond the limit (Tobin 1958).

    Examples
    --------
    >>> censoring = Censoring()
    >>> [censoring.note(reward) for reward in (0.0, 1.0, 1.0)]
    [False, True, False]
    >>> censoring.uncensored(1.0, expected=1.5), censoring.uncensored(0.0, expected=-0.5)
    (1.5, 0.0)
    """

    _state_names: ClassVar[tuple[str, ...]] = ("lowest", "highest", "below", "above")

    def __init__(self) -> None:
        self.lowest = math.inf
        self.highest = -math.inf
        # Whether each has occurred more than once.
        self.below = self.above = False

    @property
    def differ(self) -> bool:
        """Whether the rewards are not all equal."""
        return self.lowest < self.highest

    def uncensored(self, reward: float, expected: float) -> float:
        """Return the reward, or the expected value if the reward is at a limit and the expected value is beyond it."""
        above = reward == self.highest and self.above and expected > reward
        below = reward == self.lowest and self.below and expected < reward
        return expected if (above or below) and self.differ else reward

    def note(self, reward: float) -> bool:
        """Record a reward; return whether it is the first that differs from the others."""
        first = self.lowest == self.highest != reward
        if reward >= self.highest:
            self.highest, self.above = reward, reward == self.highest
        if reward <= self.lowest:
            self.lowest, self.below = reward, reward == self.lowest
        return first

    def note_many(self, rewards: Array) -> bool:
        """Record many rewards."""
        first = False
        for end in (float(rewards.min()), float(rewards.max())):
            # Recorded twice if it occurred more than once; the exact number makes no difference.
            for _ in range(min(2, int(np.count_nonzero(rewards == end)))):
                first |= self.note(end)
        return first

    def merge(self, replicas: Sequence[Replica[Censoring]]) -> None:
        """Combine the limits of several replicas; an extreme reward of their common base counts once."""
        parts = [replica.part for replica in added(replicas)]
        shared = [replica.part for replica in replicas if replica.weight < 0]
        self.lowest, self.highest = min(part.lowest for part in parts), max(part.highest for part in parts)
        lows = [part for part in parts if part.lowest == self.lowest]
        highs = [part for part in parts if part.highest == self.highest]
        # A limit has occurred twice if it has in one replica, or in two of them apart from what they share.
        self.below = any(part.below for part in lows)
        if len(lows) > 1 and all(part.lowest > self.lowest for part in shared):
            self.below = True
        self.above = any(part.above for part in highs)
        if len(highs) > 1 and all(part.highest < self.highest for part in shared):
            self.above = True
