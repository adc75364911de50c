"""A posterior whose prior follows the spectrum of all actions seen, with its shape, size and noise learned."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from eigenbandits import inputs, linalg
from eigenbandits.belief.ambient import Ambient, AmbientView
from eigenbandits.belief.base import Belief, Finding, Models
from eigenbandits.belief.evidence import Evidence
from eigenbandits.belief.likelihood import SumsReading
from eigenbandits.belief.prior import POWERS, LearnedPrior, Member
from eigenbandits.subspace.base import Frame

Array = NDArray[np.float64]

# Rewards between two fits of the prior, as a part of those known; rank-one updates in between keep the posterior exact.
GROWTH = 0.5
# A member below this weight has no say in the posterior; one in a thousand is less than the weights are known to.
NEGLIGIBLE = 1e-3


class Spectral(Ambient):
    """θ ~ N(0, ρσ² g(C)) with C the second moment of all actions offered: a Gaussian posterior with nothing to set.

    The shape g, the signal-to-noise ratio ρ and the noise σ come from the rewards (`LearnedPrior`), anew whenever their
    number has grown by a half and with each new frame; the members' posteriors are joined into the normal law with
    the mixture's mean and covariance. An intercept is one more direction, with a flat prior. Multiplying the actions,
    or the rewards, by a number, or adding one to all rewards, changes no choice.

    Where the largest reward has come more than once, it is taken for a bound, and so is the smallest: reaching a bound
    is no evidence against a value beyond it, and a reward there counts as what was expected, if that was beyond (Tobin
    1958).

    Parameters
    ----------
    noise
        σ, or None: learned.
    width
        How many posterior standard deviations optimism adds.
    """

    _state_names: ClassVar[tuple[str, ...]] = (
        *Ambient._state_names,
        *("prior", "version", "members", "weights", "ratios", "noise", "due", "origin", "lowest", "highest"),
        *("bounded_below", "bounded_above", "kappa", "ridge"),
    )

    def __init__(self, noise: float | None = None, width: float = 1.0) -> None:
        # The noise as it is used: what was given, or the latest estimate.
        super().__init__(1.0 if noise is None else inputs.size(noise, "noise"))
        self.known_noise = noise
        self.width = inputs.size(width, "width", zero=True)
        self.prior = LearnedPrior()
        self.kappa = 0.0
        self.version = -1
        # The members' estimates, (k, D), and what is known of each.
        self.members: Array = np.zeros((0, 0))
        self.weights: Array = np.zeros(0)
        self.ratios: Array = np.zeros(0)
        # The number of rewards at which the prior is fitted next.
        self.due = 0
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
        super().start(dim, intercept)
        self.members = np.zeros((len(POWERS), dim))
        self.kappa = intercept

    def follow(self, frame: Frame | None) -> None:
        """Fit the prior, where the frame is a new one or the rewards have grown enough."""
        if frame is None or frame.spectrum is None:
            raise ValueError("a spectral belief needs a subspace with a spectrum, such as Spectrum; this one has none.")
        if frame.version != self.version or self.evidence.count >= self.due:
            self._fit(frame.directions, frame.spectrum)
            self.version = frame.version

    def learn(self, action: Array, reward: float, forecast: Array | None = None) -> None:
        """Add one reward."""
        said = self._said(action) if forecast is None else forecast
        value = self._uncensored(reward, float(said[0]))
        # A posterior that the next choice makes anew need not follow.
        if self.evidence.count < self.due:
            self._update(action, value)
        # Last, since everything above can be made anew from the sums (`recover`).
        if self.origin is None:
            self.origin = value if self.kappa else 0.0
        self.evidence.add(action, value - self.origin)
        self.prior.add(said[1:], value, self.origin)
        self._note_range(reward)

    def learn_many(self, actions: Array, rewards: Array, forecasts: Sequence[Array | None] | None = None) -> None:
        """Add many rewards, one by one; only those that the next choice does not make up for cost O(d²) each."""
        Belief.learn_many(self, actions, rewards, forecasts)

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
        """Learn the prior from the sums and make the posterior that follows."""
        dim, count = basis.shape[0], self.evidence.count
        sums, moment = self.evidence.gram.full(), self.evidence.moment
        gram, score, squares, mean, level = sums[:dim, :dim], moment[:dim], self.evidence.squares, np.zeros(dim), 0.0
        freedom = float(count)
        if self.kappa and count:
            # About their means: this is what an intercept with a flat prior leaves of the sums.
            mean, level = sums[dim, :dim] / (self.kappa * count), float(moment[dim]) / (self.kappa * count)
            gram = gram - count * np.multiply.outer(mean, mean)
            score = score - count * level * mean
            squares, freedom = max(squares - count * level**2, 0.0), count - 1.0
        unit = squares / count if squares > 1e-14 * self.evidence.squares else 1.0
        reading = SumsReading(basis.T @ gram @ basis, basis.T @ score, squares, freedom)
        members = self.prior.fit(reading, spectrum, basis.shape[1], unit, self.known_noise)
        self.weights = np.array([member.weight for member in members])
        self.ratios = np.array([member.ratio for member in members])
        self._join(members, basis, mean, level, count)
        # Rounding adds up over rank-one updates, so that there is an end to them even where rewards are many.
        self.due = min(count + max(1, math.ceil(GROWTH * count)), count + max(256, 4 * len(self.center)))

    def _join(self, members: list[Member], basis: Array, mean: Array, level: float, count: int) -> None:
        """Take the normal law that has the mean and the covariance of the members' mixture."""
        dim = len(basis)
        estimates = np.array([_estimate(member) for member in members])
        heard = np.where(self.weights >= NEGLIGIBLE, self.weights, 0.0)
        heard /= heard.sum()
        center = heard @ estimates
        variance = float(heard @ [member.variance for member in members])
        covariance = np.zeros((dim, dim))
        for weight, member, estimate in zip(heard, members, estimates, strict=True):
            if weight:
                covariance += weight * _covariance(member)
                covariance += weight * np.multiply.outer(estimate - center, estimate - center)
        covariance = basis @ covariance @ basis.T / variance
        lifted = np.zeros((len(self.center), len(self.center)), order="F")
        lifted[:dim, :dim] = covariance
        self.members = np.zeros((len(members), len(self.center)))
        self.members[:, :dim] = estimates @ basis.T
        if self.kappa:
            # The intercept is what the mean reward leaves to it, and as uncertain as that and the slopes are.
            slopes = covariance @ mean
            lifted[dim, :dim] = lifted[:dim, dim] = -slopes / self.kappa
            lifted[dim, dim] = (float(mean @ slopes) + 1.0 / max(count, 1)) / self.kappa**2
            self.members[:, dim] = (level + (self.origin or 0.0) - self.members[:, :dim] @ mean) / self.kappa
        self.center = heard @ self.members
        self.noise = math.sqrt(variance)
        self.inverse.reset(lifted)
        self.largest = float(np.diagonal(lifted).max())
        # The norm bounds the largest eigenvalue, for the slack of single precision.
        self.ridge = 1.0 / float(np.linalg.norm(lifted))
        self.factor = self.solved_action = self.solved = None

    def precision(self, evidence: Evidence | None = None) -> Array:
        """Return the lower half of Z, as a new matrix."""
        half, _, _ = linalg.inverse(self.inverse.full(), 0.0, self.center)
        return half

    def omega(self, radius: str | float | None = None, offered: float = 0.0) -> float:
        """Return the radius: as many standard deviations as the width says."""
        return self.width * self.noise

    def view(self, lifted: Array) -> SpectralView:
        """Look at the posterior through a decision set."""
        return SpectralView(self, lifted, self.omega(), self.root())

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


def _estimate(member: Member) -> Array:
    """Return a member's posterior mean in the basis of the eigenvectors: ρH^½(I + ρA)⁻¹H^½b."""
    solved: Array = lapack.dtrtrs(member.lower, member.white, lower=1, trans=1)[0]
    return member.ratio * member.prior.roots * solved


def _covariance(member: Member) -> Array:
    """Return a member's posterior covariance in the same basis: σ²ρH^½(I + ρA)⁻¹H^½."""
    half = lapack.dpotri(member.lower, lower=1)[0]
    linalg.mirror(half)
    scaled = member.prior.roots * math.sqrt(member.variance * member.ratio)
    return np.asarray(half * scaled * scaled[:, None])


class SpectralView(AmbientView):
    """The posterior through one decision set, with what each member says of it."""

    belief: Spectral
    _values: Array | None = None

    def estimates(self) -> Array:
        """Return xᵀθ̂, and find the members' values in the same pass."""
        if self._estimates is None or self._values is None:
            belief = self.belief
            read = linalg.project(self.lifted, np.column_stack([belief.center, belief.members.T]))
            self._estimates, self._values = np.ascontiguousarray(read[:, 0]), read[:, 1:]
        return self._estimates

    def finding(self, index: int) -> Finding:
        """Return Z⁻¹x where it is known, and the forecast that the decision carries until its reward comes."""
        found = super().finding(index) or Finding()
        self.estimates()
        assert self._values is not None and self._estimates is not None
        best = self._values.max(axis=0)
        found.forecast = np.concatenate([self._estimates[index : index + 1], best, self._values[index] - best])
        return found

    def part(self, start: int, stop: int) -> SpectralView:
        """Return the view through some of the actions."""
        part = super().part(start, stop)
        assert isinstance(part, SpectralView)
        if self._values is not None and self._estimates is not None:
            part._values, part._estimates = self._values[start:stop], self._estimates[start:stop]
        return part

    def posterior(self, count: int, rng: np.random.Generator, scale: float | None = None) -> Models:
        """Return draws from the posterior, times the scale where one is given."""
        return super().posterior(count, rng, self.belief.noise * (1.0 if scale is None else scale))
