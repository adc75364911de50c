"""A prior that follows the spectrum of the actions and is learned from the rewards (docs/flagship.md)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from eigenbandits import merging
from eigenbandits.belief.spectral.likelihood import Reading, Spread, factor, spreads, whitened
from eigenbandits.belief.spectral.ratios import likelihoods
from eigenbandits.component import Component
from eigenbandits.inputs import Array
from eigenbandits.merging import Replica
from eigenbandits.theory.marginal import excess_kurtosis, left_out, noise_variance, regret_likelihood


@dataclass(frozen=True)
class Shape:
    """How a prior's variances follow the spectrum: (C/ℓ₁)^p, or min(C/ℓ_m, 1)^p with m the estimated rank.

    Attributes
    ----------
    name
        For diagnostics.
    power
        p.
    cut
        Whether all directions that stand out from the noise have the same variance.
    """

    name: str
    power: float
    cut: bool = False

    @property
    def description(self) -> str:
        """The shape described in words."""
        if self.cut:
            return "the same variance in every direction that stands out from the noise, and little elsewhere"
        return f"variances follow the spectrum to the power {self.name}"


# From a shape that ignores the spectrum, doubling the power, to one almost confined to the first direction; and the
# paper's shape, in which all directions that stand out have the same variance and the others almost none.
SHAPES = (*(Shape(f"{power:g}", power) for power in (0.0, 1.0, 2.0, 4.0, 8.0)), Shape("cut", 16.0, cut=True))
# The shape of a forecast: the estimate, each member's M, then each member's a.
FORECAST = (2 * len(SHAPES) + 1,)
# The prior on the noise is worth 2 · WEIGHT rewards.
WEIGHT = 2.0
# A member below this weight is left out of the posterior; the weights are not accurate to one part in a thousand.
LEAST_WEIGHT = 1e-3
# How many forecasts are buffered before they are added to the sums.
WAITING = 256


@dataclass(frozen=True, eq=False)
class Member:
    """One shape of the prior, with the signal-to-noise ratio that fits the rewards.

    Attributes
    ----------
    prior, ratio
        The variances H, and ρ.
    variance
        σ².
    lower, white
        The factor L of I + ρA, and L⁻¹v, for the reading with which it was fitted.
    weight
        The probability that this is the right shape.
    """

    prior: Spread
    ratio: float
    variance: float
    lower: Array
    white: Array
    weight: float


class LearnedPrior(Component):
    """Weights the shapes by two readings of the rewards: as values and as regrets.

    As values, r = c + xᵀθ + noise, the rewards have a marginal likelihood in closed form. As regrets,
    r = c + α M + β a + γ g, they depend on each member's forecast of the decision before its reward was known: M, the
    highest value in the set; a, the value of the chosen action less M; and g, whether the member would have chosen
    another. Where exactly one answer is right, rewards say nothing about the level of the values, and only the second
    reading holds. Both are probabilities of the same rewards; a member's likelihood is their sum.
    """

    _state_names: ClassVar[tuple[str, ...]] = ("totals", "sums", "waiting", "fill", "forecasts", "errors")

    def __init__(self) -> None:
        count = len(SHAPES)
        # For each member, the sums of M, a, g and r (`marginal.regret_residuals`), and of their products.
        self.totals: Array = np.zeros((count, 4))
        self.sums: Array = np.zeros((count, 4, 4))
        self.waiting: Array = np.zeros((WAITING, 2 * count + 2))
        self.fill = 0
        self.forecasts = 0.0
        # n, Σe² and Σe⁴ of the policy's own forecasts.
        self.errors: Array = np.zeros(3)

    def restore(self, state: dict[str, Any]) -> None:
        """Restore a saved state."""
        if len(state["totals"]) != len(SHAPES):
            raise ValueError(
                f"this policy was saved with {len(state['totals'])} shapes of its prior, and this version has "
                f"{len(SHAPES)}; learn again from the rewards, with learn_many()."
            )
        super().restore(state)

    def add(self, forecast: Array, reward: float, origin: float = 0.0) -> None:
        """Add a reward and the forecast of its decision: the estimate, each member's M, then each member's a.

        The origin is subtracted from both, and must stay the same.
        """
        if self.fill == len(self.waiting):
            self._flush(origin)
        row = self.waiting[self.fill]
        row[:-1] = forecast
        row[-1] = reward
        self.fill += 1

    def add_many(self, forecasts: Array, rewards: Array, origin: float = 0.0) -> None:
        """Add many rewards and the forecasts of their decisions."""
        self._flush(origin)
        self._add_up(np.column_stack([forecasts, rewards]), origin)

    def _flush(self, origin: float) -> None:
        """Add the buffered forecasts to the sums."""
        if self.fill:
            self._add_up(self.waiting[: self.fill], origin)
            self.fill = 0

    def _add_up(self, rows: Array, origin: float) -> None:
        """Add forecasts with their rewards to the sums, an origin subtracted from values and rewards.

        When all members agree on all actions, as they do until two rewards have differed, nothing was forecast. One
        failure there would outweigh hundreds of later forecasts.
        """
        members = len(SHAPES)
        highest = rows[:, 1 : members + 1]
        rows = rows[(highest != highest[:, :1]).any(axis=1) | rows[:, members + 1 : -1].any(axis=1)]
        # (M, a, g, r) for each member, and the sums of their products.
        columns = np.empty((members, 4, len(rows)))
        np.subtract(rows[:, 1 : members + 1].T, origin, out=columns[:, 0])
        columns[:, 1] = rows[:, members + 1 : -1].T
        columns[:, 2] = columns[:, 1] < 0.0
        columns[:, 2] *= -1.0
        np.subtract(rows[:, -1], origin, out=columns[:, 3])
        self.sums += columns @ columns.transpose(0, 2, 1)
        self.totals += columns.sum(axis=2)
        self.forecasts += len(rows)
        squares = (rows[:, -1] - rows[:, 0]) ** 2
        self.errors += np.array([len(rows), squares.sum(), squares @ squares])

    def merge(self, replicas: Sequence[Replica[LearnedPrior]], origins: Sequence[float], origin: float) -> None:
        """Add up forecasts and rewards; the replicas subtracted `origins` from both, and this prior `origin`."""
        counted = []
        for replica, theirs in zip(replicas, origins, strict=True):
            part = LearnedPrior()
            part.restore(replica.part.state())
            part._flush(theirs)
            part._add_level(theirs - origin)
            counted.append(replica.inside(part))
        self.totals, self.sums = (merging.total(counted, name) for name in ("totals", "sums"))
        self.errors = merging.total(counted, "errors")
        self.forecasts, self.fill = float(merging.total(counted, "forecasts")), 0

    def _add_level(self, level: float) -> None:
        """Add a constant to the values M and the rewards r of everything in the sums."""
        moved = level * np.array([1.0, 0.0, 0.0, 1.0])
        crossed = self.totals[:, :, None] * moved
        self.sums = self.sums + crossed + crossed.transpose(0, 2, 1) + self.forecasts * np.multiply.outer(moved, moved)
        self.totals = self.totals + self.forecasts * moved

    def fade(self, factor: float, origin: float = 0.0) -> None:
        """Multiply the weight of every forecast so far by a factor."""
        self._flush(origin)
        self.sums *= factor
        self.totals *= factor
        self.forecasts *= factor
        self.errors *= factor

    def moments(self, origin: float = 0.0) -> Array:
        """Return (k, 4, 4) sums of products of (M, a, g, r) about their means; see `marginal.regret_residuals`."""
        self._flush(origin)
        means = self.totals / (self.forecasts or 1.0)
        return np.asarray(self.sums - self.totals[:, :, None] * means[:, None, :])

    def fit(
        self,
        reading: Reading,
        spectrum: Array,
        tracked: int,
        rank: int,
        unit: float,
        noise: float | None,
        origin: float = 0.0,
    ) -> list[Member]:
        """Return the members, each with the ratio, the noise and the weight that fit the rewards.

        Parameters
        ----------
        reading
            The rewards.
        spectrum, tracked, rank
            The eigenvalues of C, how many of them have an eigenvector, and how many stand out from the noise.
        unit
            The variance of the rewards.
        noise
            R, or None if it is to be learned.
        origin
            The constant that was subtracted from the rewards of the reading.
        """
        known: dict[str, Any] = {"unit": unit, "weight": WEIGHT, "noise": noise}
        powers, ranks = [shape.power for shape in SHAPES], [rank if shape.cut else 1 for shape in SHAPES]
        priors = spreads(spectrum, tracked, powers, ranks)
        kernels = [reading.kernel(prior) for prior in priors]
        self._flush(origin)
        count, squares, fourths = self.errors.tolist()
        as_values, ratios = likelihoods(reading, kernels, excess_kurtosis(squares, fourths, count), known)
        as_regrets = self._as_regrets(origin, reading.count, float(as_values.max()), known)
        fits = []
        for prior, (kernel, vector), ratio in zip(priors, kernels, ratios.tolist(), strict=True):
            lower = factor(kernel, ratio)
            white = whitened(lower, vector)
            residual = float(reading.residual(float(white @ white), ratio))
            fits.append((prior, ratio, noise_variance(residual, reading.count, **known), lower, white))
        logs = np.logaddexp(as_values, as_regrets)
        weights = np.exp(logs - logs.max())
        weights /= weights.sum()
        return [Member(*each, float(weight)) for each, weight in zip(fits, weights, strict=True)]

    def _as_regrets(self, origin: float, count: float, leader: float, known: dict[str, Any]) -> Array:
        """Return the likelihood (k,) of the reading as regrets, for as many rewards as the reading as values has seen.

        The reading as values has `count` rewards, and `leader` is its highest value. Each reward without a forecast
        gets the likelihood that this reading gives its own. If it has seen only part of the rewards, forecasts count in
        part.
        """
        moments = self.moments(origin)
        squares = max(float(moments[0, 3, 3]), 0.0)
        forecast = self.forecasts
        if not forecast or not count:
            return np.full(len(SHAPES), leader)
        as_regrets = regret_likelihood(moments[:, :3, :3], moments[:, :3, 3], squares, forecast, **known)
        as_regrets += left_out(forecast, **known)
        if forecast > count:
            as_regrets *= count / forecast
        else:
            as_regrets += (1.0 - forecast / count) * (leader + left_out(count, **known))
        return np.asarray(as_regrets - left_out(count, **known))
