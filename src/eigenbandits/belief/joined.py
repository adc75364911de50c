"""The view of the actions that may join a list: with a bonus, and with the list's own share of optimism."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from eigenbandits.belief.base import Finding, Models, Rows, View
from eigenbandits.inputs import Array


class Joined(View):
    """A view of the value that each action would add to a list.

    Parameters
    ----------
    view
        The view of the actions by themselves.
    bonus
        The value (K,) of each action to the list beyond its own.
    weight, variance
        The weight of the position, and the square of the optimism in the list's value so far.
    """

    def __init__(self, view: View, bonus: Array, weight: float, variance: float) -> None:
        self.view = view
        self.bonus = bonus
        self.weight = weight
        self.variance = variance
        self.allowance = view.allowance
        # The view of a single action in which an exact optimum was computed.
        self._alone: View | None = None

    def estimates(self) -> Array:
        """Return the estimates, with the bonus."""
        return self.view.estimates() + self.bonus

    def uppers(self) -> Array:
        """Return how much each action would raise the list's optimistic value, divided by the weight."""
        return self.estimates() + self._widths(self.view.uppers() - self.view.estimates())

    def lowers(self) -> Array:
        """Return the same for the list's pessimistic value."""
        return self.estimates() - self._widths(self.view.estimates() - self.view.lowers())

    def _widths(self, widths: Array) -> Array:
        if not self.variance:
            return widths
        squares = np.square(self.weight * widths)
        # √(v + s) − √v, without cancellation.
        return np.asarray(squares / (np.sqrt(self.variance + squares) + np.sqrt(self.variance)) / self.weight)

    def posterior(self, count: int, rng: np.random.Generator, scale: float | None = None) -> Models:
        """Return models whose values have the bonus."""
        return self._raised(self.view.posterior(count, rng, scale))

    def boundary(self, count: int, rng: np.random.Generator) -> Models:
        """Return models whose values have the bonus."""
        return self._raised(self.view.boundary(count, rng))

    def _raised(self, models: Models) -> Models:
        return Models(models.values + self.bonus, models.vector)

    def believer(self) -> Callable[[], Array]:
        """Return the estimated model, unchanged."""
        return self.view.believer()

    def optimist(self, index: int) -> Callable[[], Array]:
        """Return the most optimistic model for an action, unchanged."""
        return self.view.optimist(index)

    def part(self, rows: slice | Rows) -> Joined:
        """Return the view of a subset of the actions."""
        return Joined(self.view.part(rows), self.bonus[rows], self.weight, self.variance)

    def prefetch(self, sizes: list[int]) -> None:
        """Compute at once what each part will need."""
        self.view.prefetch(sizes)

    def best_exact(self) -> tuple[int, float]:
        """Return the highest exact optimum, with the bonus; each action is viewed alone."""
        return self._best_alone(lambda alone: alone.best_exact()[1])

    def optimist_exact(self, index: int) -> Callable[[], Array]:
        """Return the model behind it."""
        assert self._alone is not None
        return self._alone.optimist_exact(0)

    def best_joint(self) -> tuple[int, float]:
        """Return the highest joint optimum, with the bonus; each action is viewed alone."""
        return self._best_alone(lambda alone: alone.best_joint()[1])

    def optimist_joint(self, index: int) -> Callable[[], Array]:
        """Give the model behind it."""
        assert self._alone is not None
        return self._alone.optimist_joint(0)

    def _best_alone(self, value: Callable[[View], float]) -> tuple[int, float]:
        alone = [self.view.part(slice(row, row + 1)) for row in range(len(self.bonus))]
        values = np.array([value(one) for one in alone]) + self.bonus
        index = int(values.argmax())
        self._alone = alone[index]
        return index, float(values[index])

    def finding(self, index: int) -> Finding | None:
        """Return the view's finding; which set decided is taken from the view that decided."""
        finding = self.view.finding(index)
        by = None if self._alone is None else self._alone.finding(0)
        if finding is not None and by is not None:
            finding.decided_by = by.decided_by
        return finding
