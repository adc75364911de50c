"""The ellipsoid C_d around the ridge estimate in the ambient space (Abbasi-Yadkori, Pál and Szepesvári 2011)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from eigenbandits import inputs, linalg, merging
from eigenbandits.belief.base import Finding, Models, RidgeBelief, Rows, View, among, walk
from eigenbandits.belief.boundary import Root, boundary, models, posterior
from eigenbandits.belief.evidence import Evidence, largest_norm
from eigenbandits.linalg import kernels
from eigenbandits.merging import Replica
from eigenbandits.subspace.base import Frame
from eigenbandits.theory import mixture
from eigenbandits.theory import radius as radii
from eigenbandits.translation import RowMap

Array = NDArray[np.float64]
_ROUNDING = float(np.finfo(float).eps)
# From this many actions on, single precision tells which of them are worth an exact look; from fewer where Z⁻¹ does not
# fit in the cache, and reading half as much of it counts.
MANY, FEW = 64, 8
# Steps in which a half-life fades: within one, weights are off by 2^(1/8), at most nine percent.
STEPS = 8
# Roundings of single precision, per root of the dimension, that its squares are allowed to be off.
SLACK = 8.0 * float(np.finfo(np.float32).eps)


class Ambient(RidgeBelief):
    """‖θ − θ̂‖_Z ≤ Ω with Z = Σ + λI and θ̂ = Z⁻¹b, kept by rank-one updates in O(d²) per reward.

    Parameters
    ----------
    noise
        R: rewards are R-sub-Gaussian around their mean; ½ is safe for rewards in [0, 1].
    theta_bound
        S ≥ ‖θ*‖₂ (of the lifted parameter, intercept included, where actions are centered).
    ridge
        λ.
    delta
        δ: the probability with which θ* may leave the set, ever.
    radius
        "logdet": from the determinant, which is known anyway, the tightest of its paper; "mixture": narrower still, the
        root of a sum of squares instead of the sum (docs/certified.md); "paper": the worst case with
        log(1 + tL²/(mλ)) under the factor d, as in Lale et al. 2019; or a number: a free multiplier.
    action_bound
        L for "paper"; None takes the largest norm seen.
    rank
        m for "paper"; None takes d, which is OFUL's own worst case.
    memory
        Half-life: a reward weighs half after this many further ones; None keeps all. The ridge does not fade, so that
        directions that are no longer played are explored again. Nothing is proved of the radius then.
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
        super().__init__(noise, theta_bound, ridge, delta)
        self.memory = None if memory is None else inputs.number(memory, "memory", least=1.0)
        if isinstance(radius, str):
            inputs.one_of(radius, "radius", ("logdet", "mixture", "paper"))
        else:
            inputs.size(radius, "radius", zero=True)
        self.radius = radius
        self.action_bound = None if action_bound is None else inputs.size(action_bound, "action_bound")
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

    def lasting(self, memory: float | None) -> Self:
        """Return a new belief with the same parameters and another half-life."""
        return type(self)(**(self.params() | {"memory": memory}))

    def start(self, dim: int, intercept: float = 0.0) -> None:
        """Set up Z⁻¹ = I/λ and θ̂ = 0."""
        self.evidence.start(dim)
        self.inverse.start(dim, linalg.block_for(dim), 1.0 / self.ridge)
        self.center = np.zeros(dim)
        self.largest = 1.0 / self.ridge

    def learn(self, action: Array, reward: float, forecast: Array | None = None) -> None:
        """Add one reward by the Sherman–Morrison formula."""
        _, lost = self._update(action, reward)
        # Last, since everything above can be recomputed from the sums (`recover`).
        self.evidence.add(action, reward)
        self.since_repair += 1
        # Rounding adds up over rank-one updates. A fresh factorization every 4d of them costs a small part of what
        # the updates themselves cost and keeps the drift at that of 4d steps forever.
        patience = max(256, 4 * len(action))
        if self._fade(1) or self.since_repair >= (min(patience, self.evidence.count // 16) if lost else patience):
            self.repair()

    def _fade(self, count: int) -> bool:
        """Let earlier rewards fade after `count` further ones, in steps, since each asks for a factorization."""
        if self.memory is None:
            return False
        self.since_fading += count
        if self.since_fading * STEPS < self.memory:
            return False
        self.evidence.fade(0.5 ** (self.since_fading / self.memory))
        self.since_fading = 0
        return True

    def _update(self, action: Array, reward: float) -> tuple[float, bool]:
        """Follow one reward in Z⁻¹ and θ̂, and return xᵀZ⁻¹x and whether the reward was lost in rounding."""
        solved = self._solve(action)
        # Z⁻¹ carries errors of the size of rounding in its largest entry since the last factorization. A gain below
        # them is noise, and such errors would add up: these rewards wait for the next factorization.
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
        """Return Z⁻¹x, which choosing the action has often found already."""
        known, solved = self.solved_action, self.solved
        self.solved_action = self.solved = None
        if known is not None and solved is not None and known.tobytes() == action.tobytes():
            return solved
        return self.inverse.times(action)

    def learn_many(self, actions: Array, rewards: Array, forecasts: Sequence[Array | None] | None = None) -> None:
        """Add many rewards: one rank-k update and one factorization where that is cheaper."""
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
        """Add up Σ and b, from which everything follows."""
        if self.memory is not None:
            merging.refuse_faded()
        self.evidence.merge([replica.inside(replica.part.evidence) for replica in replicas])
        self.recover()

    def translate(self, change: RowMap, rng: np.random.Generator) -> None:
        """Carry Σ and b over, from which everything follows."""
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
        """Return what the next reward of a lifted action x is expected to be, and xᵀZ⁻¹x."""
        return linalg.dot(action, self.center), max(linalg.dot(action, self.inverse.times(action)), 0.0)

    def uncensored(self, reward: float, expected: float) -> float:
        """Return the reward, or what was expected where the reward is no evidence against that."""
        return reward

    def noise_variance(self) -> float:
        """Return R² or, where no noise was given, the variance of the rewards around the estimate."""
        if self.noise:
            return self.noise**2
        left = self.evidence.squares - float(self.evidence.moment @ self.center)
        return max(left, _ROUNDING * self.evidence.squares) / max(self.evidence.weight, 1.0) or 1.0

    def precision(self, evidence: Evidence | None = None) -> Array:
        """Return the lower half of Z, as a new matrix."""
        sums = self.evidence if evidence is None else evidence
        matrix = sums.gram.copied()
        matrix.flat[:: len(matrix) + 1] += self.ridge
        return matrix

    def prior_log_det(self) -> float:
        """Return log det Z before any reward."""
        return len(self.center) * math.log(self.ridge)

    def omega(self, radius: str | float | None = None, offered: float = 0.0) -> float:
        """Return the radius Ω; by default the one chosen. `offered` is the largest norm in the decision set."""
        kind = self.radius if radius is None else radius
        if not isinstance(kind, str):
            return float(kind)
        if kind in ("logdet", "mixture"):
            found = radii.omega_logdet if kind == "logdet" else mixture.omega_mixture
            return found(
                noise=self.noise,
                log_det_ratio=self.log_det_ratio,
                delta=self.delta,
                theta_bound=self.theta_bound,
                ridge=self.ridge,
            )
        dim = len(self.center)
        return radii.omega_paper(
            noise=self.noise,
            rounds=self.evidence.count + 1,
            delta=self.delta,
            theta_bound=self.theta_bound,
            ridge=self.ridge,
            action_bound=self.action_bound or max(self.evidence.largest_norm, offered),
            dim=dim,
            rank=dim if self.rank is None else self.rank,
        )

    def view(self, lifted: Array) -> View:
        """Look at the ellipsoid through a decision set."""
        offered = largest_norm(lifted) if self.radius == "paper" and self.action_bound is None else 0.0
        return AmbientView(self, lifted, self.omega(offered=offered), self.root(), offered)

    def root(self) -> Root:
        """Return what draws from N(0, Z)."""
        recent = None if self.recent is None else self.recent[: self.recent_count]
        return Root(self.factor, recent, self.precision, self.ridge)

    def note(self, finding: Finding | None) -> None:
        """Keep Z⁻¹x of the action whose reward is likely to be learned next, a factor of Z, and the largest norm."""
        if finding is None:
            return
        if finding.solved is not None:
            self.solved_action, self.solved = finding.action, finding.solved
        if finding.factor is not None and finding.factor is not self.factor:
            self.factor = finding.factor
            self.recent = np.zeros((max(32, len(self.center)), len(self.center)))
            self.recent_count = 0
        self.evidence.largest_norm = max(self.evidence.largest_norm, finding.largest_norm)

    def _remember(self, action: Array) -> None:
        if self.factor is None or self.recent is None:
            return
        if self.recent_count == len(self.recent):
            self.factor = None
            return
        self.recent[self.recent_count] = action
        self.recent_count += 1

    def diagnostics(self, frame: Frame | None) -> dict[str, Any]:
        """Return the radius and how much has been learned."""
        return {"rewards_learned": self.evidence.count, "radius_ambient": self.omega(), "noise": self.noise}


class AmbientView(View):
    """C_d through one decision set."""

    def __init__(self, belief: Ambient, lifted: Array, omega: float, root: Root, offered: float = 0.0) -> None:
        self.belief = belief
        self.lifted = lifted
        self.omega = omega
        self._root = root
        self._offered = offered
        self._center = belief.center
        self._estimates: Array | None = None
        self._uppers: Array | None = None
        self._products: Array | None = None
        self._solved: dict[int, Array] = {}
        self._known: dict[int, float] = {}
        self._kept: tuple[int, Array, Array] | None = None

    def estimates(self) -> Array:
        """Return xᵀθ̂."""
        if self._estimates is None:
            self._estimates = linalg.project(self.lifted, self._center)
        return self._estimates

    def upper(self, rows: Rows) -> Array:
        """Return xᵀθ̂ + Ω‖x‖_{Z⁻¹} for some of the actions, given by their indices."""
        if len(rows) == 1:
            return np.array([self.upper_of(int(rows[0]))])
        actions = self.lifted[rows].astype(np.float64, copy=False)
        solved = self.belief.inverse.times_rows(actions)
        self._solved.update(zip(rows.tolist(), solved, strict=True))
        squares = np.vecdot(actions, solved)
        values = np.asarray(actions @ self._center + self.omega * np.sqrt(np.maximum(squares, 0.0)))
        self._known.update(zip(rows.tolist(), values.tolist(), strict=True))
        return values

    def upper_of(self, index: int) -> float:
        """Return the same for one action."""
        if index not in self._known:
            action = self.lifted[index].astype(np.float64, copy=False)
            solved = self._solved[index] = self.belief.inverse.times(action)
            self._known[index] = kernels.ambient_bound(action, solved, self._center, self.omega)
        return self._known[index]

    def finding(self, index: int) -> Finding | None:
        """Return Z⁻¹x where it is known, a factor of Z where one was made, and the largest norm where it counts."""
        known = self.solved(index) is not None
        if not known and self._root.made is None and not self._offered:
            return None
        action, solved = self._keep(index) if known else (None, None)
        return Finding(action, solved, self._root.made, self._offered)

    def _keep(self, index: int) -> tuple[Array, Array]:
        """Return x and Z⁻¹x of one action as arrays of their own."""
        if self._kept is None or self._kept[0] != index:
            if self.solved(index) is None:
                self.upper_of(index)
            solved = self.solved(index)
            assert solved is not None
            # Copies: the caller may go on to use the same array for the next decision set, and who keeps one row of
            # the products must not keep all of them.
            action = self.lifted[index].astype(np.float64)
            self._kept = index, action, solved if solved.base is None else solved.copy()
        return self._kept[1], self._kept[2]

    def best(self) -> tuple[int, float]:
        """Return the action with the highest optimistic value; of many, look closely only at those that may have it."""
        count, dim = self.lifted.shape
        if self._uppers is not None:
            return super().best()
        if count < (FEW if dim >= linalg.LARGE else MANY):
            inverse = self.belief.inverse.lend()
            if not inverse.size:
                return super().best()
            actions = self.lifted.astype(np.float64, copy=False)
            index, self._uppers, self._estimates, self._solved[index] = kernels.ambient_best(
                actions, inverse, self._center, self.omega
            )
            return index, float(self._uppers[index])
        return walk(self._single_bounds(), self.upper_of, self.upper)

    def _single_bounds(self) -> Array:
        """Return bounds on the optimistic values from single precision, with room for what that may be off.

        The squares ‖x‖²_{Z⁻¹} are sums of d rounded terms that together are at most ‖x‖²/λ.
        """
        rows, scale = linalg.to_single(self.lifted)
        # A vector too small for single precision has a square of 0 there: as good as 1e-6 of the largest one.
        sizes = linalg.square_norms(rows)
        sizes += 1e-12 * float(sizes.max())
        off = (SLACK * math.sqrt(rows.shape[1]) / self.belief.ridge) * sizes
        squares = np.maximum(self.belief.inverse.squares(rows), 0.0) + off
        return np.asarray(self.estimates() + (self.omega * scale) * np.sqrt(squares))

    def uppers(self) -> Array:
        """Return xᵀθ̂ + Ω‖x‖_{Z⁻¹} for all actions."""
        if self._uppers is None:
            self._look()
            assert self._products is not None
            squares = linalg.row_dots(self.lifted, self._products)
            self._uppers, self._estimates = kernels.ambient_bounds(self.lifted, squares, self._center, self.omega)
        return self._uppers

    def _look(self) -> None:
        """Find the products Z⁻¹x of all actions."""
        if self._products is None:
            self.lifted = self.lifted.astype(np.float64, copy=False)
            self._products = self.belief.inverse.times_rows(self.lifted)

    def solved(self, index: int) -> Array | None:
        """Return Z⁻¹x of an action where it is known already."""
        return self._products[index] if self._products is not None else self._solved.get(index)

    def optimist(self, index: int) -> Callable[[], Array]:
        """Give θ̂ + Ω Z⁻¹x/‖x‖_{Z⁻¹}."""
        action, solved = self._keep(index)
        center, omega = self._center, self.omega

        def model() -> Array:
            width = float(np.sqrt(max(float(action @ solved), 0.0)))
            return np.asarray(center + (omega / width * solved if width > 0.0 else 0.0))

        return model

    def part(self, rows: slice | Rows) -> AmbientView:
        """Return the view through some of the actions."""
        part = type(self)(self.belief, self.lifted[rows], self.omega, self._root, self._offered)
        part._uppers = None if self._uppers is None else self._uppers[rows]
        part._products = None if self._products is None else self._products[rows]
        part._solved = among(self._solved, rows, len(self.lifted))
        part._known = among(self._known, rows, len(self.lifted))
        return part

    def believer(self) -> Callable[[], Array]:
        """Give θ̂."""
        center = self._center
        return lambda: center

    def posterior(self, count: int, rng: np.random.Generator, scale: float | None = None) -> Models:
        """Return draws from N(θ̂, scale² Z⁻¹), with the noise R for the scale where none is given."""
        size, dim = self.lifted.shape
        scale = self.belief.noise if scale is None else scale
        if size < dim:
            self._look()
            assert self._products is not None
            return posterior(self.lifted, self.estimates(), self._center, self._products, scale, count, rng)
        deviations = scale * self.belief.inverse.times_columns(self._root.draw(count, rng))
        return models(self.lifted, self.estimates(), self._center, deviations)

    def boundary(self, count: int, rng: np.random.Generator) -> Models:
        """Return models spread evenly over the boundary of the ellipsoid."""
        return boundary(
            self.lifted, self.estimates(), self._center, self.omega, self.belief.inverse, self._root, count, rng
        )
