"""The sufficient statistics of all rewards seen: Σ = Σ x xᵀ and b = Σ r x over the chosen actions."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from eigenbandits import linalg
from eigenbandits.component import Component

Array = NDArray[np.float64]


class Evidence(Component):
    """What the rewards said, shared by the beliefs that read it.

    Parameters
    ----------
    slim
        Keep b but not Σ: O(d) memory, for beliefs that hold what they need of Σ themselves.
    """

    _state_names: ClassVar[tuple[str, ...]] = ("gram", "moment", "squares", "count", "largest_norm")

    def __init__(self, slim: bool = False) -> None:
        self.slim = slim
        self.gram = linalg.SymmetricSum()
        self.moment: Array = np.zeros(0)
        self.squares = 0.0
        self.count = 0
        self.largest_norm = 0.0

    def start(self, dim: int) -> None:
        """Lay out the sums."""
        if not self.slim:
            self.gram.start(dim, 64)
        self.moment = np.zeros(dim)

    def add(self, action: Array, reward: float) -> None:
        """Add one lifted action and its reward."""
        if not self.slim:
            self.gram.add(action)
        # In place.
        self.moment = linalg.axpy(action, self.moment, a=reward)
        self.squares += reward * reward
        self.count += 1

    def add_many(self, actions: Array, rewards: Array) -> None:
        """Add many at once."""
        if not self.slim:
            self.gram.add_rows(actions)
        self.moment += rewards @ actions
        self.squares += float(rewards @ rewards)
        self.count += len(actions)

    def copy(self) -> Evidence:
        """Return sums of their own that start from these."""
        other = Evidence(self.slim)
        other.restore(self.state())
        return other

    def take(self, other: Evidence) -> None:
        """Take over the sums of another, which must not be used any more."""
        for name in self._state_names:
            setattr(self, name, getattr(other, name))


def largest_norm(actions: Array) -> float:
    """Return the largest norm among rows: L, for radii that need it and were not told."""
    return float(np.sqrt(np.einsum("ij,ij->i", actions, actions).max()))
