"""`ModelCosts`: what the answers of each model are expected to cost, by prompt."""

import math
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas

from eigenbandits import linalg
from eigenbandits.component import Component

Array = NDArray[np.float64]
# A model's estimate is recomputed when its answers have grown by this share, or by this many.
GROWTH, MOST = 0.05, 32
# A single answer may plausibly cost as much as √c does at so many standard deviations above its mean: of normal ones,
# 1 in 20 is beyond (`eigenbandits router calibrate spread`).
SPREAD = 1.645


class ModelCosts(Component):
    """For each model ĉ(x) = xᵀγ / xᵀη, γ = (Σ + λI)⁻¹ Σ c x and η = (Σ + λI)⁻¹ Σ x, over the prompts x it answered.

    xᵀγ is a ridge regression of the costs, and xᵀη the same regression of ones: what the ridge takes off the one, it
    takes off the other. So the first answers say what a model costs on average, and the later ones how that depends on
    the prompt. xᵀη is taken as at least ½, for prompts unlike those answered, and as at most 1. λ = tr Σ/n for n
    answers, the weight of one answer. Models differ in price by factors of hundreds, so that nothing is shared between
    them, and nothing fades: where a price changes, the costs of the past change with it.

    A few answers may misrepresent what a model costs: the least that is plausible is one standard error less. With s
    the standard deviation of n costs of mean m, that is s/√n, so that one unusual answer among others never raises it
    above what the others cost; and at least m/√(n + 1), as costs vary about as much as their mean. A model without
    answers is expected to cost its price times what the others cost for theirs, or nothing if it has no price.

    Single answers vary far more than their mean. With a(x) the same regression of √c, and r² the sum of (√c − a)² over
    the sum of c, a part r² of what a model costs is variance of √c, so that the most that an answer may plausibly cost
    is ĉ(x)(√(1 − r²) + `SPREAD` r)². Roots, since costs have a long tail: one answer in it would make most of their own
    variance.

    Parameters
    ----------
    prices
        For each model, what it charges relative to the others; NaN if that is not known.
    size
        Numbers that a prompt is read as.

    Examples
    --------
    >>> costs = ModelCosts([1.0, 10.0, math.nan], 2)
    >>> costs.learn(np.array([0.5, 1.0]), 0, 0.02)
    >>> expected, least, most = costs.of(np.array([0.5, 1.0]))
    >>> expected.round(4).tolist(), least.round(4).tolist(), most.round(4).tolist()
    ([0.02, 0.2, 0.0], [0.0059, 0.2, 0.0], [0.057, 0.2, 0.0])
    """

    _state_names: ClassVar[tuple[str, ...]] = (
        *("grams", "moments", "roots", "squares", "centers", "answers", "due", "shares", "excesses", "untried"),
    )

    def __init__(self, prices: list[float], size: int) -> None:
        self.prices, self.count, self.size = prices, len(prices), size
        # For each model Σ x xᵀ, Σ c x, Σ √c x and Σ c²; the last column of the first is Σ x, and the last number of the
        # second Σ c, as prompts end with a 1.
        self.grams: Array = np.zeros((self.count, size, size))
        self.moments: Array = np.zeros((self.count, size))
        self.roots: Array = np.zeros((self.count, size))
        self.squares = [0.0] * self.count
        # γ of each model, and then η of each.
        self.centers: Array = np.zeros((size, 2 * self.count))
        self.answers = [0] * self.count
        # The number of answers at which each model's estimate is recomputed.
        self.due = [1] * self.count
        # The part of the expected cost that is plausible at least, and how often that of a single answer at most; and
        # what is expected without answers.
        self.shares, self.excesses = np.ones(self.count), np.ones(self.count)
        self.untried = [0.0] * self.count

    def of(self, row: Array) -> tuple[Array, Array, Array]:
        """Return what each model is expected to cost for a prompt (size,), and the least and the most plausible.

        The least is of the mean over such prompts, the most of a single answer.
        """
        found = blas.dgemv(1.0, self.centers.T, row).tolist()
        # Plain numbers: models are few, and arrays of a few numbers are slow.
        pairs = zip(found[: self.count], found[self.count :], self.untried, strict=True)
        costs = [max(cost, 0.0) / min(max(one, 0.5), 1.0) + listed for cost, one, listed in pairs]
        expected = np.array(costs)
        return expected, expected * self.shares, expected * self.excesses

    def learn(self, row: Array, place: int, cost: float) -> None:
        """Add what one answer has cost."""
        linalg.add_outer(self.grams[place], row, row)
        linalg.axpy(row, self.moments[place], a=cost)
        linalg.axpy(row, self.roots[place], a=math.sqrt(cost))
        self.squares[place] += cost * cost
        self._count(place, 1)

    def learn_many(self, rows: Array, places: NDArray[np.intp], costs: Array) -> None:
        """Add what many answers have cost; NaN is not known, and not learned."""
        for place in range(self.count):
            known = (places == place) & ~np.isnan(costs)
            self.grams[place] += rows[known].T @ rows[known]
            self.moments[place] += costs[known] @ rows[known]
            self.roots[place] += np.sqrt(costs[known]) @ rows[known]
            self.squares[place] += float(costs[known] @ costs[known])
            self._count(place, int(known.sum()))

    def _count(self, place: int, more: int) -> None:
        self.answers[place] += more
        count = self.answers[place]
        if more and count >= self.due[place]:
            self.due[place] = count + min(max(1, int(GROWTH * count)), MOST)
            gram = self.grams[place].copy()
            linalg.add_diagonal(gram, float(gram.trace()) / count)
            found = np.linalg.solve(gram, np.array([self.moments[place], self.grams[place, -1], self.roots[place]]).T)
            self.centers[:, [place, self.count + place]] = found[:, :2]
            self._judge(place)
            if (total := float(self.moments[place, -1])) > 0.0:
                left = total + found[:, 2] @ (self.grams[place] @ found[:, 2] - 2.0 * self.roots[place])
                part = min(max(float(left) / total, 0.0), 1.0)
                self.excesses[place] = (math.sqrt(1.0 - part) + SPREAD * math.sqrt(part)) ** 2

    def _judge(self, place: int) -> None:
        """Recompute the part of a model's cost that is plausible at least, and the costs of models without answers."""
        count = self.answers[place]
        mean = float(self.moments[place, -1]) / count
        error = 1.0 / math.sqrt(count + 1)
        if count > 1 and mean > 0.0:
            variance = max(self.squares[place] / count - mean * mean, 0.0) / (count - 1)
            error = max(error, math.sqrt(variance) / mean)
        self.shares[place] = max(1.0 - error, 0.0)
        tried = zip(self.moments[:, -1].tolist(), self.answers, self.prices, strict=True)
        rates = [total / (many * price) for total, many, price in tried if many and price > 0.0]
        rate = sum(rates) / len(rates) if rates else 0.0
        pairs = zip(self.answers, self.prices, strict=True)
        self.untried = [0.0 if many or math.isnan(price) else rate * price for many, price in pairs]
