"""One ambient ellipsoid whose ridge is weak inside the subspace and strong outside: a cut that can be unlearned."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from eigenbandits import inputs, linalg
from eigenbandits.belief import grading
from eigenbandits.belief import radius as radii
from eigenbandits.belief.ambient import Ambient, AmbientView
from eigenbandits.belief.base import firsts, walk
from eigenbandits.belief.projected import Projected
from eigenbandits.subspace.base import Frame

Array = NDArray[np.float64]

# From this many dimensions on, a cheap bound decides which actions are worth an exact look.
PRUNE = 256
# The ridge of an intercept that is not free, in units of R²/S², unless λ_out is less: what λ_out is in 100 dimensions
# and an intercept, where it was measured. An intercept is one direction in any number of dimensions.
HELD = 303.0
# Rewards that it takes to estimate the noise.
ENOUGH = 30


class Graded(Ambient):
    """‖θ − θ̂‖_Z ≤ Ω with Z = Σ + λ_in P̂ + λ_out (I − P̂).

    The paper's projected set forbids what lies outside the subspace; this one doubts it. θ* is taken to have energy
    S² in the m directions of the subspace, and to owe what it has outside to the d − m others together; Gaussian
    noise of size R then asks for ridges of the order R²/S² inside and R² d/S² outside (the ratio of the noise's
    variance to a coordinate's). A reward that only the outside can explain still teaches the outside, just slowly.
    Inside, the ridge is even or rises from λ_in along the spectrum, as λ_in (ℓ₁/ℓ)^p: with each new frame the steepest
    is taken that the rewards allow (`grading.explores_least`). An intercept has a ridge of up to 303 R²/S², and λ_in
    once the rewards show a large offset (`grading.has_offset`).

    With W = λ_in P̂ + λ_out (I − P̂) the theorem of OFUL holds as it stands for the norm ‖W^{1/2}θ*‖ in the place of
    S√λ. The radius takes that norm to be S√λ_in, which is an assumption; θ* in the true subspace has
    ‖W^{1/2}θ*‖² ≤ S²(λ_in + λ_out ε²) with ε ≥ ‖P̂ − P‖₂, which `anytime` uses.

    Parameters
    ----------
    noise
        R, or "estimated": half until 30 rewards are in, then the noise under which the rewards are likeliest, taken
        anew with each frame. Rewards that are not linear in the actions count as noise, which errs on the safe side.
    theta_bound, delta
        S and δ, as for `Ambient`.
    inside
        λ_in in units of R²/S².
    outside
        λ_out in units of R² d/S².
    anytime
        Make the set hold for all rounds at once, given ε: allow for ε in the radius, keep the ridges even, and spend δ
        over the frames, 6δ/(π²k²) for the k-th, since each frame has its own Z; there are about log t of them.
    power
        Let the ridge follow the spectrum instead, λ_in (ℓ₁/ℓ)^power along an eigenvector of eigenvalue ℓ, those after
        the rank with their mean: a soft cut that needs no gap. A new frame then costs O(d³).
    """

    _state_names: ClassVar[tuple[str, ...]] = (
        *Ambient._state_names,
        *("version", "error", "span", "ridges", "inner", "level", "held", "prunes", "noise_level", "reader"),
        *("power_inside", "power_since"),
    )
    _estimates_noise = True

    def __init__(
        self,
        noise: float | str,
        theta_bound: float | None = None,
        delta: float = 0.01,
        inside: float = 4.0,
        outside: float = 3.0,
        anytime: bool = False,
        power: float | None = None,
    ) -> None:
        if isinstance(noise, str):
            inputs.one_of(noise, "noise", ("estimated",))
        if anytime and (power is not None or isinstance(noise, str)):
            raise ValueError(
                "anytime=True is proved for even ridges and a given noise; leave out power and 'estimated'."
            )
        super().__init__(noise, theta_bound, None, delta)
        self.inside = inputs.number(inside, "inside", above=0.0)
        self.outside = inputs.number(outside, "outside", above=0.0)
        self.anytime = bool(anytime)
        self.power = None if power is None else inputs.number(power, "power", least=0.0)
        self.version = 0
        self.error = 1.0
        # λ_in, λ_out, the ridge of an intercept that is not free, and whether cheap bounds are worth their upkeep; all
        # follow from the size of the actions.
        self.inner = 1.0
        self.level = 1.0
        self.held = 1.0
        self.prunes = False
        self.span: Array | None = None
        self.ridges: Array = np.zeros(0)
        # The p of λ_in (ℓ₁/ℓ)^p inside the span, and after how many rewards it last changed.
        self.power_inside = 0
        self.power_since = 0
        self.reader = Projected(0.0)
        self.reader.share(self.evidence)

    @property
    def unit(self) -> float:
        """R²/S², the ridge that a single direction asks for."""
        return (self._noise / self.s_bound) ** 2

    @property
    def _noise(self) -> float:
        # Without noise any ridge will do; one far below the actions' own size leaves the estimate exact enough.
        return max(self.noise_level, 1e-3 * self.s_bound * self.scale)

    @property
    def penalty(self) -> float:
        """The least ridge in any direction."""
        return self.inner

    def start(self, dim: int, scale: float = 1.0) -> None:
        """Lay out Z⁻¹ = I/λ_out and θ̂ = 0."""
        super().start(dim, scale)
        self._size_ridges()
        self.prunes = self.power is None and dim >= PRUNE
        self.inverse.start(dim, linalg.block_for(dim, 32), 1.0 / self.level)
        self.largest = 1.0 / self.level
        self.reader.start(dim, scale)

    def learn(self, action: Array, reward: float) -> None:
        """Add one reward."""
        super().learn(action, reward)
        if self.prunes:
            self.reader.learn(action, reward)

    def learn_many(self, actions: Array, rewards: Array) -> None:
        """Add many rewards."""
        super().learn_many(actions, rewards)
        if self.prunes:
            self.reader.version = -1  # Its sums are read afresh at the next look.

    def precision(self) -> Array:
        """Return the lower half of Z, as a new matrix."""
        matrix = self.evidence.gram.flush().copy(order="F")
        matrix.flat[:: len(matrix) + 1] += self.level
        if self.span is not None:
            matrix -= (self.span * (self.level - self.ridges)) @ self.span.T
        return matrix

    def prior_log_det(self) -> float:
        """Return log det Z before any reward."""
        outside = len(self.center) - len(self.ridges)
        return float(np.log(self.ridges).sum()) + outside * math.log(self.level)

    def omega(self, radius: str | float | None = None) -> float:
        """Return the radius: R√(2 log(√(det Z/det W)/δ)) + S√λ_in, or with `anytime` S√(λ_in + λ_out ε²)."""
        delta, leak = self.delta, 0.0
        if self.anytime:
            delta, leak = radii.spend(self.delta, max(self.version, 1)), self.level * self.error**2
        noise = radii.noise_radius(noise=self.noise_level, log_det_ratio=self.log_det_ratio, delta=delta)
        return noise + self.s_bound * math.sqrt(self.inner + leak)

    def adopt(self, frame: Frame) -> None:
        """Lift the doubt from a new frame's directions and put it back on those of the last.

        Both are changes of rank m, so Z⁻¹ follows by Woodbury's formula in O(d²m).
        """
        self.version, self.error = frame.version, min(frame.error, 1.0)
        self.factor = self.solved_action = self.solved = None
        free = not frame.intercept or self._has_offset()
        if self.noise == "estimated" and self._reestimate():
            # All ridges change with the noise, so that Z⁻¹ is found anew, without a frame.
            self._size_ridges()
            self.span, self.ridges = None, np.zeros(0)
            self.repair()
        ridges = np.full(frame.size, self.inner)
        if not free:
            ridges[-1] = self.held
        if self.power is not None:
            self._follow_spectrum(frame, ridges)
        else:
            self._turn_prior(frame, ridges)

    def _turn_prior(self, frame: Frame, ridges: Array) -> None:
        """Take the last frame's directions back to λ_out and the new one's to their ridges."""
        before, change = self.prior_log_det(), 0.0
        if self.span is not None:
            change += self._reweigh(self.span, self.level - self.ridges)
        # log(det Z/det W) with λ_out in every direction.
        learned = self.log_det_ratio + change - (len(self.center) * math.log(self.level) - before)
        self.span, self.ridges = frame.inside, self._grade(frame, ridges, learned)
        change += self._reweigh(self.span, self.ridges - self.level)
        self.log_det_ratio = max(self.log_det_ratio + change - (self.prior_log_det() - before), 0.0)
        self.center = self.inverse.times(self.evidence.moment)
        self.largest = float(np.diagonal(self.inverse.half).max())
        self.since_repair += 2 * self.span.shape[1]

    def _grade(self, frame: Frame, ridges: Array, learned: float) -> Array:
        """Return the ridges inside a frame; called where Z has λ_out in every direction.

        Without rewards all gradings are alike, and the steepest is taken: it explores least, and the evidence turns
        against it as soon as rewards come from weaker directions.
        """
        if frame.spectrum is None or self.level <= self.inner or self.anytime:
            return ridges
        moment, noise = self.evidence.moment, self._noise
        solved = self.inverse.times_columns(frame.inside)
        found = grading.gradings(
            ridges,
            self.level,
            frame.spectrum[: frame.directions.shape[1]],
            frame.inside.T @ solved,
            moment @ solved,
            noise,
        )
        base = 0.5 * linalg.dot(moment, self.inverse.times(moment)) / noise**2 - 0.5 * learned
        if frame.intercept:
            count, total = self.evidence.count, float(moment[-1])
            base -= grading.offset_alone(total, count, frame.intercept, float(ridges[-1]), noise)
        taken = grading.explores_least(found, base)
        if taken.power != self.power_inside:
            self.power_inside, self.power_since = taken.power, self.evidence.count
        return taken.ridges

    def _reweigh(self, columns: Array, weights: Array) -> float:
        """Add Σ w u uᵀ to Z and return the change of log det Z."""
        # What is added comes first, so that Z stays positive definite on the way.
        return self._reweigh_one_sign(columns, weights, 1.0) + self._reweigh_one_sign(columns, weights, -1.0)

    def _reweigh_one_sign(self, columns: Array, weights: Array, sign: float) -> float:
        chosen = sign * weights > 0.0
        if not chosen.any():
            return 0.0
        scaled = columns[:, chosen] * np.sqrt(sign * weights[chosen])
        solved = self.inverse.times_columns(scaled)
        middle = sign * (scaled.T @ solved)
        middle.flat[:: len(middle) + 1] += 1.0
        root, log_det = linalg.whitening(0.5 * (middle + middle.T), np.finfo(float).eps)
        self.inverse.adjust(root @ solved.T, -sign)
        return log_det

    def _has_offset(self) -> bool:
        """Whether the rewards show an offset that is worth a free intercept."""
        if self.anytime:
            return True  # What is proved is proved for ridges that do not depend on the rewards.
        if self.span is None or not self.evidence.count:
            return False
        unit = np.zeros(len(self.center))
        unit[-1] = 1.0
        spread = float(self.inverse.times(unit)[-1])
        information = max(1.0 / spread - float(self.ridges[-1]), 0.0)
        score = float(self.center[-1]) / spread
        return grading.has_offset(score, information, self.evidence.count, self.inner, self._noise)

    def _size_ridges(self) -> None:
        self.inner = self.inside * self.unit
        self.level = max(self.outside * len(self.center), self.inside) * self.unit
        self.held = min(self.level, HELD * self.unit)

    def _reestimate(self) -> bool:
        """Take the noise anew from the rewards, and return whether it moved by more than a twentieth.

        With the ridge as a prior, rewards are normal with covariance R²(I + XW⁻¹Xᵀ), and the likeliest R² is
        (Σ r² − bᵀZ⁻¹b)/n.
        """
        count = self.evidence.count
        if count < ENOUGH:
            return False
        rest = self.evidence.squares - float(self.evidence.moment @ self.center)
        found = math.sqrt(max(rest, 0.0) / count)
        if abs(found - self.noise_level) <= 0.05 * self.noise_level:
            return False
        self.noise_level = found
        return True

    def _follow_spectrum(self, frame: Frame, ridges: Array) -> None:
        """Take the ridges from the spectrum, λ_in (ℓ₁/ℓ)^p, and find Z⁻¹ anew."""
        assert self.power is not None and frame.spectrum is not None
        rank = frame.directions.shape[1]
        # Along directions that no action has, any ridge will do; a floor keeps the numbers within reach.
        leading = np.maximum(frame.spectrum / max(float(frame.spectrum[0]), np.finfo(float).tiny), 1e-6)
        rest = float(leading[rank:].mean()) if rank < len(leading) else 1.0
        ridges[:rank] *= leading[:rank] ** -self.power
        self.level = self.inner * rest**-self.power
        self.span, self.ridges = frame.inside, ridges
        self.repair()

    def view(self, lifted: Array, dim: int, frame: Frame | None, round_: int) -> AmbientView:
        """Look at the ellipsoid through a decision set."""
        if frame is None:
            raise ValueError("a graded belief needs a subspace with directions, such as PCA; the whole space has none.")
        if frame.version != self.version or self.span is None:
            self.adopt(frame)
        return GradedView(self, lifted, self.omega(), dim)

    def diagnostics(self, frame: Frame | None) -> dict[str, Any]:
        """Return the radius, the ridges and how much has been learned."""
        found = {"ridge_inside": self.inner, "ridge_outside": self.level, "noise": self.noise_level}
        if frame is not None and frame.intercept and len(self.ridges):
            found["intercept"] = bool(self.ridges[-1] < self.held)
        if self.span is not None:
            found["share_outside"] = self._share_outside()
            if self.power is None and not self.anytime:
                found |= {"power_inside": self.power_inside, "power_since": self.power_since}
        return super().diagnostics(frame) | found

    def _share_outside(self) -> float:
        """Return the share of ‖θ̂‖² that lies outside the span: what the rewards say of the low-rank assumption."""
        assert self.span is not None
        whole = linalg.dot(self.center, self.center)
        inside = self.center @ self.span
        return max(1.0 - linalg.dot(inside, inside) / whole, 0.0) if whole > 0.0 else 0.0


class GradedView(AmbientView):
    """The graded ellipsoid through one decision set."""

    belief: Graded
    _bounds: Array | None = None

    def bounds(self) -> Array:
        """Return a bound on the optimistic value of each action that needs no product with Z⁻¹.

        With U the subspace, z = Uᵀx and ρ the rest of x, the inverse of Z in blocks gives
        ‖x‖²_{Z⁻¹} ≤ ‖z‖²_{B⁻¹} + ‖ρ − NᵀB⁻¹z‖²/λ_out with B = UᵀZU and N = UᵀΣ(I − UUᵀ), since the Schur complement of
        B is at least λ_out I.
        """
        if self._bounds is None:
            belief, actions = self.belief, self.lifted
            assert belief.span is not None
            reader = belief.reader
            reader.follow(Frame(belief.span, error=1.0, version=belief.version))
            shape = reader.gram.copy()
            shape.flat[:: len(shape) + 1] += belief.ridges
            whitening, _ = linalg.whitening(shape, belief.inner)
            # One product in the place of three, with a multiple of four columns, which BLAS is quicker at.
            rank = belief.span.shape[1]
            rows = np.zeros((-(-(2 * rank + 1) // 4) * 4, len(self._center)))
            rows[:rank], rows[rank : 2 * rank], rows[2 * rank] = belief.span.T, reader.cross, self._center
            read = linalg.project(actions, rows.T)
            z, leaked, self._estimates = read[:, :rank], read[:, rank : 2 * rank], read[:, 2 * rank]
            white = z @ whitening.T
            solved = white @ whitening
            rest = linalg.square_norms(actions) - linalg.square_norms(z)
            rest -= 2.0 * np.einsum("ij,ij->i", leaked, solved)
            rest += np.einsum("ij,ij->i", solved @ reader.cross_gram, solved)
            squares = np.einsum("ij,ij->i", white, white) + np.maximum(rest, 0.0) / belief.level
            # Rounding must not put the bound below what it bounds.
            margin = 1e-5 if actions.dtype == np.float32 else 1e-9
            self._bounds = self.estimates() + self.omega * np.sqrt(squares) * (1.0 + margin)
        return self._bounds

    def best(self) -> tuple[int, float]:
        """Return the action with the highest optimistic value, looking closely only at those that can have it."""
        if self._uppers is not None or not self.belief.prunes:
            return super().best()
        return walk(self.bounds(), self.upper_of, self.upper)

    def prefetch(self, sizes: list[int]) -> None:
        """Find out at once what `best` will ask for in each part."""
        if not self.belief.prunes:
            super().prefetch(sizes)
        else:
            self.upper(firsts(self.bounds(), sizes))

    def part(self, start: int, stop: int) -> GradedView:
        """Return the view through some of the actions."""
        part = super().part(start, stop)
        assert isinstance(part, GradedView)
        part._bounds = None if self._bounds is None else self._bounds[start:stop]
        return part
