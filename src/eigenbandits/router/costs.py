"""`ModelCosts`: what the answers of each model are expected to cost, by prompt."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas

from eigenbandits import linalg
from eigenbandits.component import Component

Array = NDArray[np.float64]
# A model's estimate is recomputed when its answers have grown by this share, or by this many.
GROWTH, MOST = 0.05, 32


class ModelCosts(Component):
    """For each model ĉ(x) = xᵀγ / xᵀη, γ = (Σ + λI)⁻¹ Σ c x and η = (Σ + λI)⁻¹ Σ x, over the prompts x it answered.

    xᵀγ is a ridge regression of the costs, and xᵀη the same regression of ones: what the ridge takes off the one, it
    takes off the other. So the first answers say what a model costs on average, and the later ones how that depends on
    the prompt; a model without answers is expected to cost nothing, and so is tried. xᵀη is taken as at least ½, for
    prompts unlike those answered, and as at most 1. λ = tr Σ/n for n answers, the weight of one answer. Models differ
    in price by factors of hundreds, so that nothing is shared between them, and nothing fades: where a price changes,
    the costs of the past change with it.

    Parameters
    ----------
    count
        The number of models.
    size
        Numbers that a prompt is read as.

    Examples
    --------
    >>> costs = ModelCosts(2, 2)
    >>> costs.learn(np.array([0.5, 1.0]), 1, 0.02)
    >>> costs.of(np.array([0.5, 1.0])).round(4).tolist()
    [0.0, 0.02]
    """

    _state_names: ClassVar[tuple[str, ...]] = ("grams", "moments", "centers", "answers", "due")

    def __init__(self, count: int, size: int) -> None:
        self.count, self.size = count, size
        # For each model Σ x xᵀ, whose last column is Σ x as prompts end with a 1, and Σ c x.
        self.grams: Array = np.zeros((count, size, size))
        self.moments: Array = np.zeros((count, size))
        # γ of each model, and then η of each.
        self.centers: Array = np.zeros((size, 2 * count))
        self.answers = [0] * count
        # The number of answers at which each model's estimate is recomputed.
        self.due = [1] * count

    def of(self, row: Array) -> Array:
        """Return what each model is expected to charge for a prompt (size,)."""
        found = blas.dgemv(1.0, self.centers.T, row).tolist()
        # Plain numbers: models are few, and arrays of a few numbers are slow.
        pairs = zip(found[: self.count], found[self.count :], strict=True)
        return np.array([max(cost, 0.0) / min(max(one, 0.5), 1.0) for cost, one in pairs])

    def learn(self, row: Array, place: int, cost: float) -> None:
        """Add what one answer has cost."""
        linalg.add_outer(self.grams[place], row, row)
        linalg.axpy(row, self.moments[place], a=cost)
        self._count(place, 1)

    def learn_many(self, rows: Array, places: NDArray[np.intp], costs: Array) -> None:
        """Add what many answers have cost; NaN is not known, and not learned."""
        for place in range(self.count):
            known = (places == place) & ~np.isnan(costs)
            self.grams[place] += rows[known].T @ rows[known]
            self.moments[place] += costs[known] @ rows[known]
            self._count(place, int(known.sum()))

    def _count(self, place: int, more: int) -> None:
        self.answers[place] += more
        count = self.answers[place]
        if more and count >= self.due[place]:
            self.due[place] = count + min(max(1, int(GROWTH * count)), MOST)
            gram = self.grams[place].copy()
            gram.flat[:: self.size + 1] += np.trace(gram) / count
            sums = np.column_stack([self.moments[place], self.grams[place, :, -1]])
            self.centers[:, [place, self.count + place]] = np.linalg.solve(gram, sums)
