"""An even sample of the rewards seen, in bounded memory: what a prior is learned from in many dimensions."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from eigenbandits.component import Component

Array = NDArray[np.float64]

# Rewards kept. A prior's few numbers are known from some hundred rewards as well as they need to be, and the time to
# learn them grows with the third power.
SIZE = 512


class Sample(Component):
    """Every reward at first; once there is no more room every second one, then every fourth, and so on.

    Examples
    --------
    >>> sample = Sample()
    >>> sample.start(1)
    >>> for number in range(600):
    ...     sample.add(np.array([float(number)]), 0.0)
    >>> sample.fill, sample.stride, sample.rows[1, 0]
    (300, 2, np.float64(2.0))
    """

    _state_names: ClassVar[tuple[str, ...]] = ("rows", "rewards", "fill", "seen", "stride")

    def __init__(self) -> None:
        self.rows: Array = np.zeros((0, 0))
        self.rewards: Array = np.zeros(0)
        self.fill = 0
        self.seen = 0
        self.stride = 1

    def start(self, dim: int) -> None:
        """Lay out the room."""
        self.rows = np.zeros((SIZE, dim))
        self.rewards = np.zeros(SIZE)

    def add(self, row: Array, reward: float) -> None:
        """Take note of one lifted action and its reward."""
        number = self.seen
        self.seen += 1
        if self.fill == SIZE and number % self.stride == 0:
            half = SIZE // 2
            self.rows[:half], self.rewards[:half] = self.rows[::2].copy(), self.rewards[::2].copy()
            self.fill, self.stride = half, 2 * self.stride
        if number % self.stride == 0:
            self.rows[self.fill], self.rewards[self.fill] = row, reward
            self.fill += 1

    @property
    def complete(self) -> bool:
        """Whether every reward is there."""
        return self.stride == 1
