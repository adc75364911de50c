"""A posterior whose prior follows the spectrum of all actions seen, with its shape, size and noise learned."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from eigenbandits import inputs, linalg
from eigenbandits.belief.ambient import Ambient
from eigenbandits.belief.base import Belief
from eigenbandits.belief.evidence import Evidence
from eigenbandits.belief.spectral.likelihood import Reading, RowsReading, SumsReading
from eigenbandits.belief.spectral.members import rows_estimate, sums_covariance, sums_estimate, thin_covariance
from eigenbandits.belief.spectral.prior import POWERS, LearnedPrior, Member
from eigenbandits.belief.spectral.sample import Sample
from eigenbandits.belief.spectral.view import SpectralView
from eigenbandits.subspace.base import Frame
from eigenbandits.theory.marginal import expected_maximum

Array = NDArray[np.float64]

# Rewards between two fits of the prior, as a part of those known; rank-one updates in between keep the posterior exact.
GROWTH = 0.5
# A surprise of five standard deviations, in one reward or in many together, is no chance: the prior is fitted anew, if
# rewards have grown by a twentieth since the last fit, so that heavy tails cost no more than so many fits.
SURPRISING, SOONEST = 25.0, 0.05
# A member below this weight has no say in the posterior; one in a thousand is less than the weights are known to.
NEGLIGIBLE = 1e-3
# Beyond this many dimensions the subspace follows only the leading directions, and a sample of the rewards has to do.
MANY_DIMENSIONS = 512


class Spectral(Ambient):
    """θ ~ N(0, ρσ² g(C)) with C the second moment of all actions offered: a Gaussian posterior with nothing to set.

    The shape g, the signal-to-noise ratio ρ and the noise σ come from the rewards (`LearnedPrior`), anew whenever their
    number has grown by a half, or sooner where they surprise; the members' posteriors are joined into the normal law
    with the mixture's mean and covariance. An intercept is one more direction, with a flat prior. Multiplying the
    actions, or the rewards, by a number, or adding one to all rewards, changes no choice.

    Where the largest reward has come more than once, it is taken for a bound, and so is the smallest: reaching a bound
    is no evidence against a value beyond it, and a reward there counts as what was expected, if that was beyond (Tobin
    1958).

    Parameters
    ----------
    noise
        σ, or None: learned.
    width
        Optimism adds this many times what the best of the K actions offered would lie above its estimate if all were
        equally uncertain: the expected maximum of K normal numbers, in posterior standard deviations, but at least one.
    """

    _state_names: ClassVar[tuple[str, ...]] = (
        *Ambient._state_names,
        *("prior", "sample", "version", "members", "weights", "ratios", "noise", "due", "origin", "lowest", "highest"),
        *("fitted", "surprise", "bounded_below", "bounded_above", "kappa", "ridge"),
    )

    def __init__(self, noise: float | None = None, width: float = 1.0) -> None:
        # The noise as it is used: what was given, or the latest estimate.
        super().__init__(1.0 if noise is None else inputs.size(noise, "noise"))
        self.known_noise = noise
        self.width = inputs.size(width, "width", zero=True)
        self.prior = LearnedPrior()
        self.sample = Sample()
        self.kappa = 0.0
        self.version = -1
        # The members' estimates, (k, D), and what is known of each.
        self.members: Array = np.zeros((0, 0))
        self.weights: Array = np.zeros(0)
        self.ratios: Array = np.zeros(0)
        # The number of rewards at which the prior is fitted next.
        self.due = 0
        # Their number at the last fit, and how much they have surprised since.
        self.fitted = 0
        self.surprise = 0.0
        # Rewards are summed up less the first of them, so that a common offset costs no digits.
        self.origin: float | None = None
        # The smallest and the largest reward, and whether each has come more than once.
        self.lowest = math.inf
        self.highest = -math.inf
        self.bounded_below = self.bounded_above = False

    def params(self) -> dict[str, Any]:
        """Return the constructor's arguments; `noise` as it was given, not as it was learned."""
        return {"noise": self.known_noise, "width": self.width}

    def start(self, dim: int, intercept: float = 0.0) -> None:
        """Lay out the sums; the posterior follows with the first frame."""
        self.members = np.zeros((len(POWERS), dim))
        self.kappa = intercept
        if dim <= MANY_DIMENSIONS:
            super().start(dim, intercept)
            return
        # Without a (d, d) matrix, which may never be needed.
        self.evidence.start(dim)
        self.inverse.reset_thin(1.0, np.zeros((0, dim)), np.zeros((0, dim)), room=1)
        self.center = np.zeros(dim)
        self.sample.start(dim)

    def follow(self, frame: Frame | None) -> None:
        """Fit the prior, where the rewards have grown enough, or the vectors have without them."""
        if frame is None or frame.spectrum is None:
            raise ValueError("a spectral belief needs a subspace with a spectrum, such as Spectrum; this one has none.")
        # Vectors and rewards mostly grow together, so that a new frame can wait for the rewards; not for a second one.
        if self.version < 0 or frame.version > self.version + 1 or self.evidence.count >= self.due:
            self._fit(frame.directions, frame.spectrum)
            self.version = frame.version

    def learn(self, action: Array, reward: float, forecast: Array | None = None) -> None:
        """Add one reward."""
        self._check(forecast)
        said = self._said(action) if forecast is None else forecast
        value = self._uncensored(reward, float(said[0]))
        # A posterior that the next choice makes anew need not follow.
        if self.evidence.count < self.due:
            self._follow_reward(action, value)
        # Last, since everything above can be made anew from the sums (`recover`).
        if self.origin is None:
            self.origin = value if self.kappa else 0.0
        self.evidence.add(action, value - self.origin)
        if len(action) > MANY_DIMENSIONS:
            self.sample.add(action, value - self.origin)
        self.prior.add(said, value, self.origin)
        self._note_range(reward)

    def _follow_reward(self, action: Array, reward: float) -> None:
        """Follow one reward by Bayes's rule, and let the prior be fitted early where rewards are not as it expects.

        The square of a reward's surprise, in units of its expected size, is 1 on average; what it has been beyond that
        since the last fit is added up (a CUSUM, Page 1954).
        """
        expected = linalg.dot(action, self.center)
        gain, _ = self._update(action, reward)
        square = (reward - expected) ** 2 / (self.noise**2 * (1.0 + max(gain, 0.0))) if self.noise else 0.0
        self.surprise = max(self.surprise + square - 1.0, 0.0) if self.lowest < self.highest else 0.0
        count = self.evidence.count + 1
        if self.surprise > SURPRISING and count >= (1.0 + SOONEST) * self.fitted:
            self.due = min(self.due, count)

    def learn_many(self, actions: Array, rewards: Array, forecasts: Sequence[Array | None] | None = None) -> None:
        """Add many rewards, one by one; only those that the next choice does not make up for cost O(d²) each."""
        for forecast in forecasts or ():
            self._check(forecast)
        Belief.learn_many(self, actions, rewards, forecasts)

    def _check(self, forecast: Array | None) -> None:
        if forecast is not None and np.shape(forecast) != (2 * len(POWERS) + 1,):
            raise ValueError("this decision was made by a policy of another kind; hand in its action vector instead.")

    def _said(self, action: Array) -> Array:
        """Return the forecast for an action without its set: each member takes it for the best there was."""
        values = self.members @ action
        return np.concatenate([[math.nan], values, np.zeros(len(values))])

    def _uncensored(self, reward: float, expected: float) -> float:
        """Return the reward, or what was expected where the reward is at a bound and that lies beyond it."""
        above = reward == self.highest and self.bounded_above and expected > reward
        below = reward == self.lowest and self.bounded_below and expected < reward
        return expected if (above or below) and self.lowest < self.highest else reward

    def _note_range(self, reward: float) -> None:
        if self.lowest == self.highest != reward:
            # Equal rewards have no unit, and the noise was a guess until now.
            self.due = 0
        if reward >= self.highest:
            self.highest, self.bounded_above = reward, reward == self.highest
        if reward <= self.lowest:
            self.lowest, self.bounded_below = reward, reward == self.lowest

    def recover(self) -> None:
        """Let the next choice make the posterior anew."""
        self.due = 0

    def repair(self, evidence: Evidence | None = None) -> None:
        """Let the next choice make the posterior anew."""
        self.recover()

    def _fit(self, basis: Array, spectrum: Array) -> None:
        """Learn the prior from the rewards and make the posterior that follows."""
        count = self.evidence.count
        # Rounding adds up over rank-one updates, so that there is an end to them even where rewards are many.
        until = min(max(1, math.ceil(GROWTH * count)), max(256, 4 * len(self.center)))
        if basis.shape[0] == basis.shape[1]:
            self._fit_sums(basis, spectrum)
        else:
            self._fit_sample(basis, spectrum, until)
        self.factor = self.solved_action = self.solved = None
        # Last, so that a fit that was cut off is made again.
        self.due, self.fitted, self.surprise = count + until, count, 0.0

    def _learn_prior(self, reading: Reading, spectrum: Array, tracked: int) -> list[Member]:
        squares = self.evidence.squares
        unit = reading.squares / (reading.count or 1.0) if reading.squares > 1e-14 * squares else 1.0
        members = self.prior.fit(reading, spectrum, tracked, unit, self.known_noise, self.origin or 0.0)
        self.weights = np.array([member.weight for member in members])
        self.ratios = np.array([member.ratio for member in members])
        return members

    def _means(self, dim: int) -> tuple[Array, float]:
        """Return the mean of the actions learned from, and of their rewards, where there is an intercept; else 0."""
        count, kappa = self.evidence.count, self.kappa
        if not kappa or not count:
            return np.zeros(dim), 0.0
        unit = np.zeros(len(self.center))
        unit[-1] = 1.0 / (kappa * count)
        return self.evidence.gram.times(unit)[:dim], float(self.evidence.moment[-1]) / (kappa * count)

    def _centered_sums(self, dim: int, mean: Array, level: float) -> tuple[Array, Array, float, float]:
        """Return Σ, b, Σr² and the degrees of freedom about the means: what a flat prior of an intercept leaves."""
        count = self.evidence.count
        gram, score = self.evidence.gram.full()[:dim, :dim], self.evidence.moment[:dim]
        if not self.kappa or not count:
            return gram, score, self.evidence.squares, float(count)
        gram = gram - count * np.multiply.outer(mean, mean)
        squares = max(self.evidence.squares - count * level**2, 0.0)
        return gram, score - count * level * mean, squares, count - 1.0

    def _fit_sums(self, basis: Array, spectrum: Array) -> None:
        """Learn the prior from the sums and join the members' posteriors, where all directions are known."""
        dim = len(basis)
        mean, level = self._means(dim)
        gram, score, squares, freedom = self._centered_sums(dim, mean, level)
        reading = SumsReading(basis.T @ gram @ basis, basis.T @ score, squares, freedom)
        members = self._learn_prior(reading, spectrum, dim)
        estimates = np.array([sums_estimate(member) for member in members])
        heard = np.where(self.weights >= NEGLIGIBLE, self.weights, 0.0)
        heard /= heard.sum()
        center = heard @ estimates
        variance = float(heard @ [member.variance for member in members])
        # The normal law that has the mean and the covariance of the members' mixture.
        covariance = np.zeros((dim, dim))
        for weight, member, estimate in zip(heard, members, estimates, strict=True):
            if weight:
                covariance += weight * sums_covariance(member)
                covariance += weight * np.multiply.outer(estimate - center, estimate - center)
        self._take_members(estimates @ basis.T, mean, level)
        self.center = heard @ self.members
        self.noise = math.sqrt(variance)
        self._take_covariance(basis @ covariance @ basis.T / variance, mean)

    def _fit_sample(self, basis: Array, spectrum: Array, room: int) -> None:
        """Learn the prior from a sample and make the posterior of its likeliest member, in many dimensions."""
        dim = len(basis)
        mean, level = self._means(dim)
        fill = self.sample.fill
        rows, rewards = self.sample.rows[:fill, :dim], self.sample.rewards[:fill]
        freedom = float(fill)
        if self.kappa and fill:
            rows, rewards, freedom = rows - rows.mean(axis=0), rewards - rewards.mean(), fill - 1.0
        if not fill:
            rows, rewards = np.zeros((1, dim)), np.zeros(1)
        members = self._learn_prior(RowsReading(rows, basis, rewards, freedom), spectrum, basis.shape[1])
        estimates = np.array([rows_estimate(member, rows, basis) for member in members])
        best = members[int(self.weights.argmax())]
        self.noise = math.sqrt(best.variance)
        if self.sample.complete and fill + room + basis.shape[1] <= dim // 2:
            self._take_members(estimates, mean, level)
            self.center = self.members[int(self.weights.argmax())]
            scale, plus, minus = thin_covariance(best, rows, basis)
            self._take_thin(scale, plus, minus, mean, room)
            return
        gram, score, _, _ = self._centered_sums(dim, mean, level)
        level_out = 1.0 / (best.ratio * best.prior.rest**2)
        precision = np.asfortranarray(gram)
        precision += (basis * (1.0 / (best.ratio * best.prior.roots**2) - level_out)) @ basis.T
        precision.flat[:: dim + 1] += level_out
        half, estimate, _ = linalg.inverse(precision, 1.0 / (best.ratio * float(best.prior.roots.max()) ** 2), score)
        estimates[int(self.weights.argmax())] = estimate
        self._take_members(estimates, mean, level)
        self.center = self.members[int(self.weights.argmax())]
        linalg.mirror(half)
        self._take_covariance(half, mean)

    def _take_members(self, estimates: Array, mean: Array, level: float) -> None:
        """Keep the members' estimates, each with the intercept that the mean reward leaves to it."""
        dim = estimates.shape[1]
        self.members = np.zeros((len(estimates), len(self.center)))
        self.members[:, :dim] = estimates
        if self.kappa:
            self.members[:, dim] = (level + (self.origin or 0.0) - estimates @ mean) / self.kappa

    def _take_covariance(self, covariance: Array, mean: Array) -> None:
        """Keep the covariance of the slopes, in units of the noise's variance, with that of the intercept."""
        dim = len(covariance)
        lifted = np.zeros((len(self.center), len(self.center)), order="F")
        lifted[:dim, :dim] = covariance
        if self.kappa:
            slopes = covariance @ mean
            lifted[dim, :dim] = lifted[:dim, dim] = -slopes / self.kappa
            lifted[dim, dim] = (float(mean @ slopes) + 1.0 / max(self.evidence.count, 1)) / self.kappa**2
        self.inverse.reset(lifted)
        self.largest = float(np.diagonal(lifted).max())
        # The norm bounds the largest eigenvalue, for the slack of single precision.
        self.ridge = 1.0 / float(np.linalg.norm(lifted))

    def _take_thin(self, scale: float, plus: Array, minus: Array, mean: Array, room: int) -> None:
        """Keep the same as scale·I + Σ p pᵀ − Σ x xᵀ with few rows p and x, so that no (d, d) matrix is made."""
        if self.kappa:
            away = -mean / self.kappa
            size = float(np.linalg.norm(away))
            plus = np.column_stack([plus, plus @ away])
            minus = np.column_stack([minus, minus @ away])
            known = np.zeros((1, plus.shape[1]))
            known[0, -1] = 1.0 / (self.kappa * math.sqrt(max(self.evidence.count, 1)))
            # What scale · (I, away)ᵀ(I, away) is beyond scale · I: one row to add and one to take off.
            values, vectors = np.linalg.eigh(np.array([[0.0, size], [size, size**2 - 1.0]]))
            plane = np.zeros((2, plus.shape[1]))
            plane[0, :-1] = away / size if size else 0.0
            plane[1, -1] = 1.0
            sides = vectors.T @ plane * np.sqrt(scale * np.abs(values))[:, None]
            plus, minus = np.concatenate([plus, known, sides[1:]]), np.concatenate([minus, sides[:1]])
        self.inverse.reset_thin(scale, plus, minus, room)
        largest = scale + linalg.largest_eigenvalue(plus @ plus.T)
        self.largest, self.ridge = largest, 1.0 / largest

    def precision(self, evidence: Evidence | None = None) -> Array:
        """Return the lower half of Z, as a new matrix."""
        half, _, _ = linalg.inverse(self.inverse.full(), 0.0, self.center)
        return half

    def omega(self, radius: str | float | None = None, offered: float = 0.0) -> float:
        """Return the radius for two actions: as many standard deviations as the width says."""
        return self.width * self.noise

    def omega_of(self, count: int) -> float:
        """Return the radius for a decision set of K actions."""
        return self.omega() * max(1.0, expected_maximum(count))

    def view(self, lifted: Array) -> SpectralView:
        """Look at the posterior through a decision set."""
        return SpectralView(self, lifted, self.omega_of(len(lifted)), self.root())

    def diagnostics(self, frame: Frame | None) -> dict[str, Any]:
        """Return the noise, the prior in words, its widths, and how much has been learned."""
        found: dict[str, Any] = {"rewards_learned": self.evidence.count, "noise": None, "prior": None, "widths": None}
        if len(self.weights):
            best = int(self.weights.argmax())
            found["noise"] = self.noise
            found["prior"] = f"variances follow the spectrum to the power {POWERS[best]:g}"
            found["widths"] = {
                "signal": self.noise * math.sqrt(float(self.ratios[best])),
                "noise": self.noise,
            }
            found["shapes"] = {f"{power:g}": float(w) for power, w in zip(POWERS, self.weights, strict=True)}
        return found
