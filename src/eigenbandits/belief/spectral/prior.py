"""A prior that follows the spectrum of the actions and is learned from the rewards (docs/flagship.md)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from eigenbandits.belief.spectral.likelihood import Reading, Spread, factor, spread, whitened
from eigenbandits.component import Component
from eigenbandits.theory.marginal import noise_variance, regret_evidence, residual_evidence

Array = NDArray[np.float64]

# The shapes (C/ℓ₁)^p of the prior, from one that knows nothing of the spectrum to one that hardly sees more than its
# first direction.
POWERS = (0.0, 1.0, 2.0, 4.0, 8.0)
# Signal to noise: the variance of the values of the actions offered, in units of the noise's. Half a decade is finer
# than rewards can tell apart; a log-normal prior of 1.5 decades around 1 keeps a run of equal rewards from freezing it.
RATIOS = 10.0 ** np.arange(-4.0, 4.25, 0.5)
_LOG_PRIOR = -0.5 * (np.log10(RATIOS) / 1.5) ** 2
_LOG_PRIOR -= np.log(np.exp(_LOG_PRIOR).sum())
# The prior on the noise is worth 2 · WEIGHT rewards.
WEIGHT = 2.0
# Ratios that are less likely than the likeliest by this factor of e have no weight to speak of: 0.7 % at the most.
NEGLIGIBLE = 5.0
# Rooms for forecasts that wait to be added up.
WAITING = 64


@dataclass(frozen=True, eq=False)
class Member:
    """One shape of the prior with the ratio that suits the rewards.

    Attributes
    ----------
    power, prior, ratio
        p, the variances H, and ρ.
    variance
        σ².
    lower, white
        The factor L of I + ρA and L⁻¹v, for the reading that it was found with.
    weight
        The probability that this is the shape to go by.
    """

    power: float
    prior: Spread
    ratio: float
    variance: float
    lower: Array
    white: Array
    weight: float


class LearnedPrior(Component):
    """Weighs the shapes by two readings of the rewards: as values, and as regrets.

    As values, r = c + xᵀθ + noise, rewards have a marginal likelihood in closed form. As regrets,
    r = c + α M + β a + γ g, they follow from what each member said of the decision before its reward was known: M, the
    highest value in the set; a, the value of the action played less M; and g, whether it would have played another.
    Where one answer is right, rewards say nothing of the values' level, and only the second reading holds. Both are
    probabilities of the same rewards, and a member has their sum.
    """

    _state_names: ClassVar[tuple[str, ...]] = ("starts", "totals", "sums", "waiting", "fill", "forecasts")

    def __init__(self) -> None:
        count = len(POWERS)
        # Where the search for each member's ratio starts.
        self.starts: NDArray[np.int64] = np.full(count, int(np.argmax(_LOG_PRIOR)), dtype=np.int64)
        # For each member the sums of M, a, g and r (`marginal.regret_residuals`), and of their products.
        self.totals: Array = np.zeros((count, 4))
        self.sums: Array = np.zeros((count, 4, 4))
        self.waiting: Array = np.zeros((WAITING, 2 * count + 2))
        self.fill = 0
        self.forecasts = 0

    def add(self, forecast: Array, reward: float, origin: float = 0.0) -> None:
        """Add a reward and what was said of its decision: the estimate, each member's M, then each member's a.

        Both are taken less an origin, which must stay the same.
        """
        if self.fill == WAITING:
            self._flush(origin)
        row = self.waiting[self.fill]
        row[:-1] = forecast
        row[-1] = reward
        self.fill += 1

    def _flush(self, origin: float) -> None:
        """Add up what waits, rewards and values less an origin."""
        rows, members = self.waiting[: self.fill], len(POWERS)
        best, behind, rewards = rows[:, 1 : members + 1] - origin, rows[:, members + 1 : -1], rows[:, -1] - origin
        # The columns of (M, a, g, r) for each member, and the sums of their products.
        columns = np.stack([best, behind, -(behind < 0.0).astype(float), np.broadcast_to(rewards[:, None], best.shape)])
        self.sums += np.einsum("itk,jtk->kij", columns, columns)
        self.totals += columns.sum(axis=1).T
        self.forecasts += self.fill
        self.fill = 0

    def moments(self, origin: float = 0.0) -> Array:
        """Return (k, 4, 4) sums of products of (M, a, g, r) about their means; see `marginal.regret_residuals`."""
        self._flush(origin)
        means = self.totals / max(self.forecasts, 1)
        return np.asarray(self.sums - self.totals[:, :, None] * means[:, None, :])

    def fit(
        self, reading: Reading, spectrum: Array, tracked: int, unit: float, noise: float | None, origin: float = 0.0
    ) -> list[Member]:
        """Return the members, each with the ratio, the noise and the weight that the rewards give it.

        Parameters
        ----------
        reading
            The rewards.
        spectrum, tracked
            The eigenvalues of C, and how many of them have an eigenvector.
        unit
            The variance of the rewards.
        noise
            R, or None where it is to be learned.
        origin
            What has been taken off the rewards that the reading saw.
        """
        known: dict[str, Any] = {"unit": unit, "weight": WEIGHT, "noise": noise}
        found, as_values = [], np.empty(len(POWERS))
        for place, power in enumerate(POWERS):
            prior = spread(spectrum, tracked, power)
            as_values[place], ratio, kernel, vector = self._search(place, reading, prior, known)
            lower, _ = factor(kernel, ratio)
            white = whitened(lower, vector)
            residual = reading.residual(float(white @ white), ratio)
            found.append((power, prior, ratio, noise_variance(residual, reading.count, **known), lower, white))
        moments = self.moments(origin)
        squares = max(float(moments[0, 3, 3]), 0.0)
        as_regrets = regret_evidence(moments[:, :3, :3], moments[:, :3, 3], squares, self.forecasts, **known)
        if self.forecasts > reading.count + 1.0:
            # The reading saw only some of the rewards: one part in so many of what the forecasts know counts too.
            as_regrets *= (reading.count + 1.0) / self.forecasts
        logs = np.logaddexp(as_values, as_regrets)
        weights = np.exp(logs - logs.max())
        weights /= weights.sum()
        return [Member(*each, float(weight)) for each, weight in zip(found, weights, strict=True)]

    def _search(
        self, place: int, reading: Reading, prior: Spread, known: dict[str, Any]
    ) -> tuple[float, float, Array, Array]:
        """Return a member's evidence over all ratios, its mean ratio in logarithms, and the kernel and vector for both.

        Climbs to the likeliest ratio from where the last search ended, then looks to both sides of it as far as there
        is weight; where rewards are many that is not far.
        """
        kernel, vector = reading.kernel(prior)
        logs: dict[int, float] = {}

        def look(index: int) -> float:
            if index not in logs:
                ratio = float(RATIOS[index])
                lower, log_det = factor(kernel, ratio)
                white = whitened(lower, vector)
                residual = np.asarray(reading.residual(float(white @ white), ratio))
                fitted = float(residual_evidence(residual, reading.count, **known))
                logs[index] = fitted - 0.5 * log_det + float(_LOG_PRIOR[index])
            return logs[index]

        best = int(self.starts[place])
        while True:
            near = [index for index in (best, best - 1, best + 1) if 0 <= index < len(RATIOS)]
            better = max(near, key=look)
            if better == best:
                break
            best = better
        self.starts[place] = best
        for step in (-1, 1):
            index = best + step
            while 0 <= index < len(RATIOS) and look(index) > logs[best] - NEGLIGIBLE:
                index += step
        indices = np.array(sorted(logs))
        values = np.array([logs[index] for index in indices])
        weights = np.exp(values - values.max())
        evidence = float(values.max() + np.log(weights.sum()))
        ratio = float(np.exp((weights @ np.log(RATIOS[indices])) / weights.sum()))
        return evidence, ratio, kernel, vector
