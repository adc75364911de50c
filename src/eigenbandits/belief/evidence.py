"""The sufficient statistics of all rewards seen: Σ = Σ x xᵀ and b = Σ r x over the chosen actions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from eigenbandits import linalg, merging
from eigenbandits.component import Component
from eigenbandits.inputs import Array
from eigenbandits.merging import Replica
from eigenbandits.translation import RowMap


class Evidence(Component):
    """The sums over all rewards, shared by the beliefs that read them.

    Parameters
    ----------
    slim
        Keep b but not Σ: O(d) memory, for beliefs that keep what they need of Σ themselves.
    """

    _state_names: ClassVar[tuple[str, ...]] = ("gram", "moment", "squares", "count", "weight", "largest_norm")

    def __init__(self, slim: bool = False) -> None:
        self.slim = slim
        self.gram = linalg.SymmetricSum()
        self.moment: Array = np.zeros(0)
        self.squares = 0.0
        # The number of rewards added, and their total weight, which is less only because of fading.
        self.count = 0
        self.weight = 0.0
        self.largest_norm = 0.0

    def start(self, dim: int) -> None:
        """Set up the sums."""
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
        self.weight += 1.0

    def add_many(self, actions: Array, rewards: Array) -> None:
        """Add many rewards at once."""
        if not self.slim:
            self.gram.add_rows(actions)
        self.moment += rewards @ actions
        self.squares += float(rewards @ rewards)
        self.count += len(actions)
        self.weight += len(actions)

    def fade(self, factor: float) -> None:
        """Multiply the weight of every reward so far by a factor."""
        if not self.slim:
            self.gram.fade(factor)
        self.moment *= factor
        self.squares *= factor
        self.weight *= factor

    def merge(
        self, replicas: Sequence[Replica[Evidence]], raised: Sequence[float] | None = None, intercept: int = -1
    ) -> None:
        """Become the sum of several.

        Parameters
        ----------
        replicas
            The replicas' sums; either all of them are slim, or none.
        raised
            The constant to add to each replica's rewards, if different numbers were subtracted from them; requires Σ
            and an intercept, whose coordinate holds the sum of the rows.
        intercept
            The intercept's coordinate.
        """
        count, moment, squares = merging.count(replicas, "count"), np.zeros(len(self.moment)), 0.0
        for place, replica in enumerate(replicas):
            part, level = replica.part, 0.0 if raised is None else raised[place]
            rows, rewards = part.moment, part.squares
            if level:
                unit = np.zeros(len(rows))
                unit[intercept] = 1.0 / replica.shift.theirs
                rewards += level * (2.0 * float(rows @ unit) + level * part.weight)
                rows = rows + level * part.gram.times(unit)
            moment += replica.weight * replica.shift.vector(rows)
            squares += replica.weight * rewards
        if not self.slim:
            self.gram.reset(merging.sum_of_halves(replicas, "gram"))
        self.moment, self.squares, self.count = moment, max(squares, 0.0), count
        self.weight = float(merging.total(replicas, "weight"))
        self.largest_norm = max(replica.shift.longest(replica.part.largest_norm) for replica in replicas)

    def translate(self, change: RowMap) -> None:
        """Become the expected sums if another encoder had embedded the actions."""
        gram, moment = change.gram(self.gram.full(), self.weight), self.moment @ change.matrix
        self.start(change.dim)
        self.gram.reset(gram)
        self.moment = moment
        self.largest_norm = change.longest if self.count else 0.0

    def residuals(self, model: Array | None) -> tuple[Array, float]:
        """Return b and Σr² after subtracting a model's predictions from the rewards; None predicts 0."""
        if model is None:
            return self.moment, self.squares
        predicted = self.gram.times(model)
        squares = self.squares - 2.0 * float(model @ self.moment) + float(model @ predicted)
        return self.moment - predicted, max(squares, 0.0)

    def copy(self) -> Evidence:
        """Return an independent copy of the sums."""
        other = Evidence(self.slim)
        other.restore(self.state())
        return other

    def take(self, other: Evidence) -> None:
        """Take over the sums of another, which must not be used afterward."""
        for name in self._state_names:
            setattr(self, name, getattr(other, name))


def largest_norm(actions: Array) -> float:
    """Return the largest norm among the rows: L, for radii that need it when it was not given."""
    return float(np.sqrt(np.einsum("ij,ij->i", actions, actions).max()))
