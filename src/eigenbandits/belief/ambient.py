"""The ellipsoid C_d around the ridge estimate in the ambient space (Abbasi-Yadkori, Pál and Szepesvári 2011)."""

import math
from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np

from eigenbandits import inputs, linalg, merging
from eigenbandits.belief.ambient_view import AmbientView
from eigenbandits.belief.base import Finding, RidgeBelief, View
from eigenbandits.belief.boundary import Root
from eigenbandits.belief.evidence import Evidence, largest_norm
from eigenbandits.belief.shortlist import ShortList
from eigenbandits.inputs import Array
from eigenbandits.linalg import kernels
from eigenbandits.merging import Replica
from eigenbandits.subspace.base import Frame
from eigenbandits.theory import mixture
from eigenbandits.theory import radius as radii
from eigenbandits.translation import RowMap

_ROUNDING = float(np.finfo(float).eps)
# Number of steps in which a half-life fades; between steps, weights are off by at most 2^(1/8), nine percent.
STEPS = 8


class Ambient(RidgeBelief):
    """‖θ − θ̂‖_Z ≤ Ω with Z = Σ + λI and θ̂ = Z⁻¹b, kept by rank-one updates in O(d²) per reward.

    Parameters
    ----------
    noise
        R: rewards are R-sub-Gaussian around their mean; ½ is safe for rewards in [0, 1].
    theta_bound
        S ≥ ‖θ*‖₂ (of the lifted parameter, including the intercept, if actions are centered).
    ridge
        λ.
    delta
        δ: the probability with which θ* may ever leave the set.
    radius
        "logdet": from the determinant, which is known anyway, the tightest of its paper; "mixture": narrower still, the
        root of a sum of squares instead of the sum (docs/certified.md); "paper": the worst case with log(1 + tL²/(mλ))
        and the factor d, as in Lale et al. 2019; or a number: a free multiplier.
    action_bound
        L for "paper"; None uses the largest norm seen.
    rank
        m for "paper"; None uses d, which is OFUL's own worst case.
    memory
        Half-life: a reward has half its weight after this many further ones; None keeps all. The ridge does not fade,
        so that directions that are no longer played are explored again. With a half-life, nothing is proven about the
        radius.
    """

    _state_names: ClassVar[tuple[str, ...]] = (
        *("evidence", "inverse", "center", "log_det_ratio", "since_repair", "largest", "solved_action", "solved"),
        *("factor", "recent", "recent_count", "since_fading"),
    )
    takes_scores: ClassVar[bool] = True

    def __init__(
        self,
        noise: float,
        theta_bound: float = 1.0,
        ridge: float = 1.0,
        delta: float = 0.01,
        radius: str | float = "logdet",
        action_bound: float | None = None,
        rank: int | None = None,
        memory: float | None = None,
    ) -> None:
        super().__init__(noise, theta_bound, ridge, delta, radius, ("logdet", "mixture", "paper"), action_bound)
        self.memory = None if memory is None else inputs.number(memory, "memory", least=1.0)
        self.rank = None if rank is None else inputs.whole(rank, "rank")
        self.evidence = Evidence()
        self.inverse = linalg.SymmetricSum(sign=-1.0)
        self.center: Array = np.zeros(0)
        self.log_det_ratio = 0.0
        self.since_repair = 0
        self.largest = 0.0
        self.solved_action: Array | None = None
        self.solved: Array | None = None
        self.factor: Array | None = None
        self.recent: Array | None = None
        self.recent_count = 0
        self.since_fading = 0
        self.short_list = ShortList()

    def lasting(self, memory: float | None) -> Self:
        """Return a new belief with the same parameters but another half-life."""
        return type(self)(**(self.params() | {"memory": memory}))

    def start(self, dim: int, intercept: float = 0.0) -> None:
        """Set up Z⁻¹ = I/λ and θ̂ = 0."""
        self.evidence.start(dim)
        self.inverse.start(dim, linalg.block_for(dim), 1.0 / self.ridge)
        self.center = np.zeros(dim)
        self.largest = 1.0 / self.ridge

    def follow(self, frame: Frame | None) -> None:
        """Prepare shortlists from the directions in which actions mostly lie; the ellipsoid does not depend on them."""
        self.short_list.follow(frame, self.inverse)

    def learn(self, action: Array, reward: float, forecast: Array | None = None) -> None:
        """Add one reward by the Sherman–Morrison formula."""
        _, lost = self._update(action, reward)
        # Last, since everything above can be recomputed from the sums (`recover`).
        self.evidence.add(action, reward)
        self.since_repair += 1
        # Rounding errors accumulate over rank-one updates. A fresh factorization every 4d of them costs a small part of
        # what the updates themselves cost and limits the drift to that of 4d steps forever.
        patience = max(256, 4 * len(action))
        if self._fade(1) or self.since_repair >= (min(patience, self.evidence.count // 16) if lost else patience):
            self.repair()

    def _fade(self, count: int) -> bool:
        """Let earlier rewards fade after `count` further ones, in steps, since each step requires a factorization."""
        if self.memory is None:
            return False
        self.since_fading += count
        if self.since_fading * STEPS < self.memory:
            return False
        self.evidence.fade(0.5 ** (self.since_fading / self.memory))
        self.since_fading = 0
        return True

    def _until_fading(self, most: int) -> int:
        """Return how many further rewards there are until earlier ones fade, at most as many as given."""
        return most if self.memory is None else min(most, math.ceil(self.memory / STEPS) - self.since_fading)

    def _update(self, action: Array, reward: float) -> tuple[float, bool]:
        """Update Z⁻¹ and θ̂ with one reward; return xᵀZ⁻¹x and whether the reward was lost in rounding."""
        solved = self._solve(action)
        # Since the last factorization, Z⁻¹ has accumulated errors on the scale of the rounding of its largest entry. A
        # gain below them is noise, and such errors would add up: these rewards wait for the next factorization.
        least = 16.0 * _ROUNDING * self.largest
        inverse = self.inverse.lend()
        gain, lost, self.center = kernels.ambient_step(action, solved, self.center, inverse, reward, least)
        if not lost:
            if inverse.size:
                self.inverse.changed()
            else:
                self.inverse.add(solved, 1.0 / (1.0 + gain))
            self.log_det_ratio += math.log1p(gain)
        if self.factor is not None:
            self._remember(action)
        return gain, lost

    def _solve(self, action: Array) -> Array:
        """Return Z⁻¹x, which choosing the action has often computed already."""
        known, solved = self.solved_action, self.solved
        self.solved_action = self.solved = None
        if known is not None and solved is not None and (known is action or known.tobytes() == action.tobytes()):
            return solved
        return self.inverse.times(action)

    def learn_many(self, actions: Array, rewards: Array, forecasts: Sequence[Array | None] | None = None) -> None:
        """Add many rewards, by one rank-k update and one factorization where that is cheaper."""
        if 3 * len(actions) < len(self.center):
            super().learn_many(actions, rewards, forecasts)
            return
        # The sums change only after the factorization has succeeded.
        if self.memory is not None:
            super().learn_many(actions, rewards, forecasts)
            return
        evidence = self.evidence.copy()
        evidence.add_many(actions, rewards)
        self.repair(evidence)
        self.evidence.take(evidence)
        self.factor = None

    def merge(self, replicas: Sequence[Replica[Any]], frame: Frame | None) -> None:
        """Add up Σ and b, from which everything else follows."""
        if self.memory is not None:
            merging.refuse_faded()
        self.evidence.merge([replica.inside(replica.part.evidence) for replica in replicas])
        self.recover()

    def translate(self, change: RowMap, rng: np.random.Generator) -> None:
        """Map Σ and b, from which everything else follows."""
        evidence = self.evidence.copy()
        self.start(change.dim, change.intercept)
        evidence.translate(change)
        self.evidence.take(evidence)
        self.recent, self.recent_count = None, 0
        self.recover()

    def recover(self) -> None:
        """Recompute everything that follows from the sums."""
        self.factor = None
        self.repair()

    def repair(self, evidence: Evidence | None = None) -> None:
        """Recompute Z⁻¹, θ̂ and log det Z from the sums."""
        sums = self.evidence if evidence is None else evidence
        half, center, log_det = linalg.inverse(self.precision(sums), self.ridge, sums.moment)
        self.center = center
        self.inverse.reset(half)
        self.largest = float(np.diagonal(half).max())
        self.log_det_ratio = max(log_det - self.prior_log_det(), 0.0)
        self.since_repair = 0
        self.solved_action = self.solved = None

    def predict(self, action: Array) -> tuple[float, float]:
        """Return the expected reward of a lifted action x, and xᵀZ⁻¹x."""
        return linalg.dot(action, self.center), max(linalg.dot(action, self.inverse.times(action)), 0.0)

    def uncensored(self, reward: float, expected: float) -> float:
        """Return the reward, or the expected value if the reward does not speak against it."""
        return reward

    def noise_variance(self) -> float:
        """Return R² or, if no noise was given, the variance of the rewards around the estimate."""
        if self.noise:
            return self.noise**2
        residual = self.evidence.squares - float(self.evidence.moment @ self.center)
        return max(residual, _ROUNDING * self.evidence.squares) / max(self.evidence.weight, 1.0) or 1.0

    def precision(self, evidence: Evidence | None = None) -> Array:
        """Return the lower half of Z, as a new matrix."""
        sums = self.evidence if evidence is None else evidence
        matrix = sums.gram.copied()
        linalg.add_diagonal(matrix, self.ridge)
        return matrix

    def prior_log_det(self) -> float:
        """Return log det Z before any reward."""
        return len(self.center) * math.log(self.ridge)

    def omega(self, radius: str | float | None = None, offered: float = 0.0) -> float:
        """Return the radius Ω, by default of the kind given; `offered` is the largest norm in the decision set."""
        kind = self.radius if radius is None else radius
        if not isinstance(kind, str):
            return float(kind)
        if kind in ("logdet", "mixture"):
            formula = radii.omega_logdet if kind == "logdet" else mixture.omega_mixture
            return formula(
                noise=self.noise,
                log_det_ratio=self.log_det_ratio,
                delta=self.delta,
                theta_bound=self.theta_bound,
                ridge=self.ridge,
            )
        return radii.omega_paper(
            noise=self.noise,
            rounds=self.evidence.count + 1,
            delta=self.delta,
            theta_bound=self.theta_bound,
            ridge=self.ridge,
            action_bound=self.action_bound or max(self.evidence.largest_norm, offered),
            dim=len(self.center),
            rank=self.rank,
        )

    def view(self, lifted: Array) -> View:
        """Return a view of the ellipsoid through a decision set."""
        offered = largest_norm(lifted) if self.radius == "paper" and self.action_bound is None else 0.0
        return AmbientView(self, lifted, self.omega(offered=offered), offered)

    def root(self) -> Root:
        """Return a source of draws from N(0, Z)."""
        recent = None if self.recent is None else self.recent[: self.recent_count]
        return Root(self.factor, recent, self.precision, self.ridge)

    def note(self, finding: Finding | None) -> None:
        """Store Z⁻¹x of the action likely to be rewarded next, a factor of Z, the largest norm, the list's size."""
        if finding is None:
            return
        if finding.solved is not None:
            self.solved_action, self.solved = finding.action, finding.solved
        if finding.factor is not None and finding.factor is not self.factor:
            self.factor = finding.factor
            self.recent = np.zeros((max(32, len(self.center)), len(self.center)))
            self.recent_count = 0
        if finding.largest_norm > self.evidence.largest_norm:
            self.evidence.largest_norm = finding.largest_norm
        if finding.list_size is not None:
            self.short_list.note(finding.list_size)

    def _remember(self, action: Array) -> None:
        if self.factor is None or self.recent is None:
            return
        if self.recent_count == len(self.recent):
            self.factor = None
            return
        self.recent[self.recent_count] = action
        self.recent_count += 1

    def diagnostics(self, frame: Frame | None) -> dict[str, Any]:
        """Return the radius, the noise and the number of rewards learned."""
        return {"rewards_learned": self.evidence.count, "radius_ambient": self.omega(), "noise": self.noise}
