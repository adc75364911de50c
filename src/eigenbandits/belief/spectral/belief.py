"""A posterior whose prior follows the spectrum of all actions seen; its shape, scale and noise are learned."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, ClassVar

import numpy as np

from eigenbandits import inputs, linalg, merging
from eigenbandits.belief.ambient import Ambient
from eigenbandits.belief.base import Rows, View
from eigenbandits.belief.evidence import Evidence
from eigenbandits.belief.spectral.censoring import Censoring
from eigenbandits.belief.spectral.free import Explained, thin_with_free, with_free
from eigenbandits.belief.spectral.likelihood import Reading, RowsReading, SumsReading
from eigenbandits.belief.spectral.members import (
    full_covariance,
    rows_covariance,
    rows_estimate,
    sums_covariance,
    sums_estimate,
    thin_covariance,
)
from eigenbandits.belief.spectral.prior import LEAST_WEIGHT, SHAPES, LearnedPrior, Member
from eigenbandits.belief.spectral.regression import Regression
from eigenbandits.belief.spectral.repeats import Repeats
from eigenbandits.belief.spectral.sample import MANY_DIMENSIONS, SAMPLE, Sample
from eigenbandits.belief.spectral.view import RepeatedView, SpectralView, accepted, forecasts_alone, scored, scored_many
from eigenbandits.inputs import Array
from eigenbandits.merging import Replica
from eigenbandits.subspace.base import Frame
from eigenbandits.theory.marginal import expected_maximum
from eigenbandits.translation import RowMap

# Relative growth in the number of rewards between two fits of the prior; between fits, rank-one updates keep the
# posterior exact. `eigenbandits calibrate` has a study of this and of the next two numbers.
GROWTH = 0.5
# The prior is also refitted once the rewards are e⁶ times as likely under twice the expected variance, as after one
# reward five standard deviations off, or many that are off by less. The number of rewards must have grown by 5 % since
# the last fit. If surprises go on after a fit that left most of the weight where it was, as with heavy tails or rare
# failures, no fit will end them: the growth required doubles, up to that of the regular fits.
SURPRISING, SOONEST = 6.0, 0.05
# The maximum number of rank-one updates between two fits, or 4d if that is more: rounding errors accumulate.
UPDATES = 1024


class Spectral(Ambient):
    """θ ~ N(0, ρσ² g(C)), with C the second moment of all actions offered: a Gaussian posterior with nothing to tune.

    The shape g, the signal-to-noise ratio ρ and the noise σ are learned from the rewards (`LearnedPrior`) whenever
    their number has grown by half, or sooner if rewards are surprising. The members' posteriors are combined into the
    normal distribution with the mixture's mean and covariance. An intercept is one more direction, with a flat prior.
    Scaling the actions or the rewards, or adding a constant to all rewards, changes no choice.

    If the largest reward has occurred more than once, it is treated as a bound that true values may exceed; likewise
    for the smallest (`Censoring`).

    Parameters
    ----------
    noise
        σ, or None to learn it.
    width
        Optimism adds this many times the amount by which the best of the K actions offered would exceed its estimate if
        all were equally uncertain: the expected maximum of K standard normal variables, in posterior standard
        deviations, but at least one. More for actions that have been neglected (`theory.marginal.neglect`).
    memory
        Half-life in rewards, or None to forget nothing; see `Ambient`.
    """

    _state_names: ClassVar[tuple[str, ...]] = (
        *Ambient._state_names,
        *("prior", "sample", "version", "members", "weights", "ratios", "noise", "due", "origin", "censoring"),
        *("fitted", "surprise", "least_growth", "kappa", "ridge", "score", "repeats", "mean"),
    )

    def __init__(self, noise: float | None = None, width: float = 1.0, memory: float | None = None) -> None:
        # The noise in use: the one given, or the latest estimate.
        super().__init__(1.0 if noise is None else inputs.noise_size(noise, learned=True), memory=memory)
        self.known_noise = noise
        self.width = inputs.size(width, "width", zero=True)
        self.prior = LearnedPrior()
        self.sample = Sample(self.memory)
        self.kappa = 0.0
        # The size of the score's coordinate in lifted actions, or 0 if there are no scores.
        self.score = 0.0
        self.version = -1
        # The members' estimates (k, D), and the weight and ratio of each.
        self.members: Array = np.zeros((0, 0))
        self.weights: Array = np.zeros(0)
        self.ratios: Array = np.zeros(0)
        # The number of rewards at the next and at the last fit of the prior, and the surprise accumulated since.
        self.due = self.fitted = 0
        self.surprise = 0.0
        # The growth in the number of rewards after which a surprise may cause a fit.
        self.least_growth = SOONEST
        # The first reward is subtracted from all rewards before they are summed, so that an offset costs no digits.
        self.origin: float | None = None
        self.censoring = Censoring()
        # With scores, what is learned must also hold for actions that have not been seen before.
        self.repeats = Repeats()
        # The prior's mean (D,), or None for 0.
        self.mean: Array | None = None

    def params(self) -> dict[str, Any]:
        """Return the constructor's arguments; `noise` as given, not as learned."""
        return {"noise": self.known_noise, "width": self.width, "memory": self.memory}

    def start(self, dim: int, intercept: float = 0.0) -> None:
        """Set up the sums; the posterior is computed with the first frame."""
        self.members = np.zeros((len(SHAPES), dim))
        self.kappa = intercept
        self.sample.start(dim, SAMPLE if dim > MANY_DIMENSIONS else dim // 2)
        if dim <= MANY_DIMENSIONS:
            super().start(dim, intercept)
            return
        # This allocates no (d, d) matrix, since one may never be needed.
        self.evidence.start(dim)
        self.inverse.reset_thin(1.0, np.zeros((0, dim)), np.zeros((0, dim)), room=1)
        self.center = np.zeros(dim)

    def take_scores(self, size: float) -> None:
        """Record the score's coordinate."""
        self.score = size

    def expect(self, model: Array) -> None:
        """With scores, use a model as the prior's mean; the scores' slope and the intercept have their own priors."""
        # A mean does not fade, so that a policy with a memory could never forget it.
        if self.score and self.memory is None:
            self.mean = model.copy()
            self.mean[len(model) - (2 if self.kappa else 1) :] = 0.0
            self.recover()

    def follow(self, frame: Frame | None) -> None:
        """Fit the prior if there are enough new rewards, or enough new vectors without rewards."""
        if frame is None or frame.spectrum is None:
            raise ValueError("a spectral belief needs a subspace with a spectrum, such as Spectrum; this one has none.")
        # Vectors and rewards mostly grow together, so one new frame can wait for the rewards, but not two.
        if self.version < 0 or frame.version > self.version + 1 or self.evidence.count >= self.due:
            self._fit(frame.directions, frame.spectrum, frame.rank)
            self.version = frame.version
        self.short_list.follow(frame, self.inverse)

    def learn(self, action: Array, reward: float, forecast: Array | None = None) -> None:
        """Add one reward."""
        self._check(forecast)
        if self.score:
            action, forecast = scored(action, forecast)
            if not self.repeats.count(action[:-1], reward, self.noise**2):
                self._fade_all()
                return
        if forecast is None:
            forecast = forecasts_alone(action[None], self.members)[0]
        value = self.censoring.uncensored(reward, float(forecast[0]))
        # If the next choice will recompute the posterior, there is no need to update it here.
        if self.evidence.count < self.due:
            self._follow_reward(action, value)
        # Last, since everything above can be recomputed from the sums (`recover`).
        if self.origin is None:
            self.origin = value if self.kappa else 0.0
        self.evidence.add(action, value - self.origin)
        self.sample.add(action, value - self.origin)
        self.prior.add(forecast, value, self.origin)
        if self.censoring.note(reward):
            # Equal rewards have no scale, so the noise was a guess until now.
            self.due = 0
        if self.memory is not None:
            self._fade_all()

    def _fade_all(self, count: int = 1) -> None:
        """Let earlier rewards fade, after `count` more, if there is a memory."""
        weight = self.evidence.weight
        if self._fade(count):
            self.repeats.fade(self.evidence.weight / weight)
            self.prior.fade(self.evidence.weight / weight, self.origin or 0.0)
            self.due = 0

    def _follow_reward(self, action: Array, reward: float) -> None:
        """Update the posterior with one reward, and schedule an early fit if rewards are not as the prior expects.

        For a reward z standard deviations off, z²/4 − log(2)/2 is the log-likelihood ratio of twice the variance. Its
        sum since the last fit, kept at or above 0, is a CUSUM (Page 1954), whose false alarms are at least
        e^SURPRISING rewards apart on average (Lorden 1971). It stops at an alarm, which stands until the next fit.
        """
        expected = linalg.dot(action, self.center)
        gain, _ = self._update(action, reward)
        if not self.surprised and self.censoring.differ:
            square = (reward - expected) ** 2 / (self.noise**2 * (1.0 + max(gain, 0.0))) if self.noise else 0.0
            self.surprise = max(self.surprise + 0.25 * square - 0.5 * math.log(2.0), 0.0)
        if self.surprised:
            count = self.evidence.count + 1
            if count >= (1.0 + self.least_growth) * self.fitted:
                self.due = min(self.due, count)

    @property
    def leading(self) -> int:
        """The likeliest shape of the prior, or −1 before the first fit."""
        return int(self.weights.argmax()) if len(self.weights) else -1

    @property
    def surprised(self) -> bool:
        """Whether the rewards since the last fit are not as the prior expects."""
        return self.surprise > SURPRISING

    def learn_many(self, actions: Array, rewards: Array, forecasts: Sequence[Array | None] | None = None) -> None:
        """Add many rewards: one by one while the next choice will use the posterior, the others as sums."""
        for forecast in forecasts or ():
            self._check(forecast)
        start = 0
        while start < len(actions):
            if self.evidence.count < self.due or self.origin is None:
                self.learn(actions[start], float(rewards[start]), forecasts[start] if forecasts else None)
                start += 1
                continue
            # With a half-life, up to where rewards fade: as far as they have the same weight.
            stop = start + self._until_fading(len(actions) - start)
            self._add_block(actions[start:stop], rewards[start:stop], forecasts[start:stop] if forecasts else None)
            self._fade_all(stop - start)
            start = stop

    def _add_block(self, actions: Array, rewards: Array, forecasts: Sequence[Array | None] | None) -> None:
        """Add rewards and leave the posterior to the next choice; the result is the same as with `learn` for each."""
        assert self.origin is not None
        actions, forecasts = scored_many(actions, forecasts)
        if self.score:
            actions, rewards, forecasts = self.repeats.select(actions, rewards, forecasts, self.noise**2)
            if not len(actions):
                return
        made = forecasts_alone(actions, self.members)
        values = rewards
        if forecasts is None or not any(forecast is not None for forecast in forecasts):
            self.censoring.note_many(rewards)
        else:
            values = rewards.copy()
            for place, (reward, forecast) in enumerate(zip(rewards.tolist(), forecasts, strict=True)):
                if forecast is not None:
                    made[place] = forecast
                    values[place] = self.censoring.uncensored(reward, float(forecast[0]))
                self.censoring.note(reward)
        self.evidence.add_many(actions, values - self.origin)
        self.sample.add_many(actions, values - self.origin)
        self.prior.add_many(made, values, self.origin)

    def uncensored(self, reward: float, expected: float) -> float:
        """Return the reward, or the expected value if the reward is at a bound and the expected value is beyond it."""
        return self.censoring.uncensored(reward, expected)

    def accepts(self, forecast: Array | None) -> bool:
        """Return whether a forecast has the shape that this family of priors makes."""
        return forecast is None or accepted(forecast, scored=self.score > 0.0)

    def _check(self, forecast: Array | None) -> None:
        if not self.accepts(forecast):
            raise ValueError("this decision was made by a policy of another kind; pass its action vector instead.")

    def merge(self, replicas: Sequence[Replica[Any]], frame: Frame | None) -> None:
        """Add up the replicas' sums; the next choice learns the prior and recomputes the posterior."""
        if self.memory is not None:
            merging.refuse_faded()
        # Each replica has subtracted its own first reward; one without rewards has subtracted nothing.
        known = [replica.part.origin for replica in replicas if replica.part.origin is not None]
        self.origin = known[0] if known else None
        ours = self.origin or 0.0
        origins = [ours if replica.part.origin is None else replica.part.origin for replica in replicas]
        raised = [theirs - ours for theirs in origins]
        intercept = -2 if self.score else -1
        self.evidence.merge([replica.inside(replica.part.evidence) for replica in replicas], raised, intercept)
        self.sample.merge([replica.inside(replica.part.sample) for replica in replicas], raised)
        self.prior.merge([replica.inside(replica.part.prior) for replica in replicas], origins, ours)
        self.censoring.merge([replica.inside(replica.part.censoring) for replica in replicas])
        self.repeats.merge([replica.inside(replica.part.repeats) for replica in replicas])
        self.mean = next((replica.part.mean for replica in replicas if replica.part.mean is not None), None)
        self.factor, self.version, self.surprise = None, -1, 0.0
        self.recover()

    def translate(self, change: RowMap, rng: np.random.Generator) -> None:
        """Map the sums and the sample; the next frame learns the prior and recomputes the posterior."""
        sample = Sample(self.memory)
        sample.restore(self.sample.state())
        evidence = self.evidence.copy()
        self.start(change.dim, change.intercept)
        evidence.translate(change)
        self.evidence.take(evidence)
        self.sample.translate(sample, change, rng)
        self.take_scores(change.score)
        self.repeats.forget()
        self.mean = None
        self.factor = self.recent = self.solved_action = self.solved = None
        self.recent_count, self.version, self.surprise = 0, -1, 0.0
        self.recover()

    def recover(self) -> None:
        """Let the next choice recompute the posterior."""
        self.due = 0

    def repair(self, evidence: Evidence | None = None) -> None:
        """Let the next choice recompute the posterior."""
        self.recover()

    def _fit(self, basis: Array, spectrum: Array, rank: int) -> None:
        """Learn the prior from the rewards and compute the posterior."""
        count = self.evidence.count
        until = min(max(1, math.ceil(GROWTH * self.evidence.weight)), max(UPDATES, 4 * len(self.center)))
        before = self.weights
        if basis.shape[0] == basis.shape[1]:
            self._fit_all(basis, spectrum, rank)
        else:
            self._fit_sample(basis, spectrum, rank, until)
        self.factor = self.solved_action = self.solved = None
        # Last, so that an interrupted fit is repeated.
        in_vain = self.surprised and np.minimum(before, self.weights).sum() >= 0.5
        self.least_growth = min(2.0 * self.least_growth, GROWTH) if in_vain else SOONEST
        self.due, self.fitted, self.surprise = count + until, count, 0.0

    def _learn_prior(self, reading: Reading, spectrum: Array, tracked: int, rank: int) -> list[Member]:
        squares = self.evidence.squares
        unit = reading.squares / (reading.count or 1.0) if reading.squares > 1e-14 * squares else 1.0
        members = self.prior.fit(reading, spectrum, tracked, rank, unit, self.known_noise, self.origin or 0.0)
        self.weights = np.array([member.weight for member in members])
        self.ratios = np.array([member.ratio for member in members])
        return members

    def _regression(self, dim: int) -> Regression:
        return Regression(self.evidence, self.sample, self.mean, dim, self.kappa, self.score)

    def _fit_all(self, basis: Array, spectrum: Array, rank: int) -> None:
        """Learn the prior and combine the members' posteriors, when all directions are tracked."""
        regression = self._regression(len(basis))
        known = regression.explained
        members, estimates, covariance_of = self._members(basis, spectrum, rank, regression)
        active = np.flatnonzero(self.weights >= LEAST_WEIGHT)
        shares = self.weights[active] / self.weights[active].sum()
        center = shares @ estimates[active]
        variance = float(shares @ [members[place].variance for place in active])
        # The normal distribution with the mean and the covariance of the members' mixture.
        covariance = covariance_of([members[place] for place in active], shares.tolist())
        offsets = np.sqrt(shares)[:, None] * (estimates[active] - center)
        covariance += offsets.T @ offsets
        self._take_members(estimates @ basis.T, known)
        self.center = shares @ self.members[active]
        self.noise = math.sqrt(variance)
        self._take_covariance(basis @ covariance @ basis.T / variance, known)

    def _members(
        self, basis: Array, spectrum: Array, rank: int, regression: Regression
    ) -> tuple[list[Member], Array, Callable[[list[Member], list[float]], Array]]:
        """Return the members, their estimates, and a function for their covariance, in the basis of eigenvectors."""
        dim = len(basis)
        if self.sample.complete:
            rows, rewards, freedom = regression.rows()
            inside = rows @ basis
            members = self._learn_prior(RowsReading(inside, None, rewards, freedom), spectrum, dim, rank)
            estimates = np.array([rows_estimate(member, inside) for member in members])
            return members, estimates, partial(rows_covariance, inside=inside)
        gram, score, squares, freedom = regression.sums()
        reading = SumsReading(basis.T @ gram @ basis, basis.T @ score, squares, freedom)
        members = self._learn_prior(reading, spectrum, dim, rank)
        estimates = np.array([sums_estimate(member) for member in members])
        return members, estimates, sums_covariance

    def _fit_sample(self, basis: Array, spectrum: Array, rank: int, room: int) -> None:
        """In many dimensions, learn the prior from a sample and compute the posterior of its likeliest member."""
        dim = len(basis)
        regression = self._regression(dim)
        known = regression.explained
        rows, rewards, freedom = regression.rows()
        members = self._learn_prior(RowsReading(rows, basis, rewards, freedom), spectrum, basis.shape[1], rank)
        estimates = np.array([rows_estimate(member, rows, basis) for member in members])
        best = members[self.leading]
        self.noise = math.sqrt(best.variance)
        if self.sample.complete and self.sample.fill + room + basis.shape[1] <= dim // 2:
            self._take_members(estimates, known)
            self.center = self.members[self.leading]
            scale, plus, minus = thin_covariance(best, rows, basis)
            self._take_thin(scale, plus, minus, known, room)
            return
        gram, moment, _, _ = regression.sums()
        covariance, estimates[self.leading] = full_covariance(best, gram, moment, basis)
        self._take_members(estimates, known)
        self.center = self.members[self.leading]
        self._take_covariance(covariance, known)

    def _take_members(self, estimates: Array, known: Explained) -> None:
        """Store the members' estimates, each with the intercept and the score's slope that it implies."""
        dim = estimates.shape[1]
        self.members = np.zeros((len(estimates), len(self.center)))
        self.members[:, :dim] = estimates
        self.members[:, dim:] = known.levels - estimates @ known.slopes.T
        if self.kappa:
            self.members[:, dim] += (self.origin or 0.0) / self.kappa
        if self.mean is not None:
            self.members += self.mean

    def _take_covariance(self, covariance: Array, known: Explained) -> None:
        """Store the covariance of θ, in units of the noise variance, extended by the intercept and the score."""
        lifted = with_free(covariance, known)
        self.inverse.reset(lifted)
        self.largest = float(np.diagonal(lifted).max())
        # The norm bounds the largest eigenvalue, which sets the slack of single precision; it is computed from a scaled
        # matrix, since squares may overflow.
        self.ridge = 1.0 / (self.largest * float(np.linalg.norm(lifted / self.largest)))

    def _take_thin(self, scale: float, plus: Array, minus: Array, known: Explained, room: int) -> None:
        """Store the same as scale·I + Σ p pᵀ − Σ x xᵀ with few rows p and x, so that no (d, d) matrix is formed."""
        if len(known.levels):
            plus, minus = thin_with_free(scale, plus, minus, known)
        self.inverse.reset_thin(scale, plus, minus, room)
        largest = scale + linalg.largest_eigenvalue(plus @ plus.T)
        self.largest, self.ridge = largest, 1.0 / largest

    def precision(self, evidence: Evidence | None = None) -> Array:
        """Return the lower half of Z, as a new matrix."""
        covariance = self.inverse.full()
        # Variances below the rounding error of the largest one are unknown, and may come out as zero or less.
        rounding = np.finfo(float).eps * len(covariance) * float(np.diagonal(covariance).max())
        half, _, _ = linalg.inverse(covariance, rounding, self.center)
        return half

    @property
    def deviation(self) -> float:
        """The unit of optimism: `width` standard deviations of the noise."""
        return self.width * self.noise

    def omega(self, radius: str | float | None = None, offered: float = 0.0) -> float:
        """Return the radius for two actions."""
        return self.deviation

    def omega_of(self, count: int) -> float:
        """Return the radius for a decision set of K actions."""
        return self.deviation * max(1.0, expected_maximum(count))

    def refuted(self, lifted: Array) -> Rows | None:
        """Return the actions of a set that their own rewards have shown to be worse than the average."""
        return self.repeats.refuted(lifted, self.noise**2)

    def view(self, lifted: Array) -> View:
        """Return a view of the posterior through a decision set."""
        linear = self.linear(lifted)
        known = self.repeats.known(lifted[:, :-1], self.noise**2) if self.score else None
        return linear if known is None else RepeatedView(linear, *known)

    def linear(self, lifted: Array) -> SpectralView:
        """Return the view of the linear model."""
        return SpectralView(self, lifted, self.omega_of(len(lifted)))

    def diagnostics(self, frame: Frame | None) -> dict[str, Any]:
        """Return the noise, a description of the prior, its widths, and the number of rewards learned."""
        learned = self.evidence.count + self.repeats.skipped
        entries: dict[str, Any] = {"rewards_learned": learned, "noise": None, "prior": None, "widths": None}
        if len(self.weights):
            entries["noise"] = self.noise
            entries["prior"] = SHAPES[self.leading].description
            entries["widths"] = {"signal": self.noise * math.sqrt(self.ratios[self.leading]), "noise": self.noise}
            entries["shapes"] = {shape.name: float(w) for shape, w in zip(SHAPES, self.weights, strict=True)}
        return entries
