"""The ambient ellipsoid with its Gram matrix kept as a frequent-directions sketch: O(dℓ) time and memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from eigenbandits import inputs, linalg, merging
from eigenbandits.belief.base import Finding, Models, RidgeBelief, Rows, View
from eigenbandits.belief.evidence import largest_norm
from eigenbandits.inputs import Array
from eigenbandits.merging import Replica
from eigenbandits.subspace.base import Frame
from eigenbandits.theory import radius as radii


class Sketched(RidgeBelief):
    """‖θ − θ̃‖_Z̃ ≤ Ω̃ with Z̃ = SᵀS + aI, S a sketch of at most 2ℓ rows of the chosen actions.

    Frequent directions (Liberty 2013): when the 2ℓ rows are full, the squared singular values are lowered by the (ℓ +
    1)-th of them, which frees half of the rows. The sum ρ of these reductions bounds the loss: 0 ⪯ Σ − SᵀS ⪯ ρI.
    Without compensation a = λ (SOFUL, Kuzborskij et al. 2019); with it a = λ + ρ (CBSCFD, Chen et al. 2020).

    Parameters
    ----------
    noise, theta_bound, ridge, delta
        R, S, λ and δ, as for `Ambient`.
    size
        ℓ.
    compensate
        Add back, in every direction, what shrinking removed.
    radius
        "logdet": from the sketch's own determinant; "paper": the worst case of Kuzborskij et al. (their theorem on the
        sketched confidence ellipsoid, only without compensation); or a number: a free multiplier.
    action_bound
        L for "paper"; None uses the largest norm seen.
    """

    _state_names: ClassVar[tuple[str, ...]] = ("rows", "fill", "lost", "moment", "count", "largest_norm")
    _derived_names: ClassVar[tuple[str, ...]] = ("_solver",)

    def __init__(
        self,
        noise: float,
        size: int = 20,
        theta_bound: float = 1.0,
        ridge: float = 1.0,
        delta: float = 0.01,
        compensate: bool = False,
        radius: str | float = "logdet",
        action_bound: float | None = None,
    ) -> None:
        radii = ("logdet",) if compensate else ("logdet", "paper")
        super().__init__(noise, theta_bound, ridge, delta, radius, radii, action_bound)
        self.size = inputs.whole(size, "size")
        self.compensate = bool(compensate)
        self.rows: Array = np.zeros((0, 0))
        self.fill = 0
        self.lost = 0.0
        self.moment: Array = np.zeros(0)
        self.count = 0
        self.largest_norm = 0.0
        self._solver: _Solver | None = None

    def start(self, dim: int, intercept: float = 0.0) -> None:
        """Set up the sketch; a sketch of d rows or more would lose nothing, so it never has more."""
        self.rows = np.zeros((2 * min(self.size, dim), dim))
        self.moment = np.zeros(dim)

    def learn(self, action: Array, reward: float, forecast: Array | None = None) -> None:
        """Append the action to the sketch, after shrinking it if it is full."""
        if self.fill == len(self.rows):
            self._shrink()
        self.rows[self.fill] = action
        self.fill += 1
        self.moment = self.moment + reward * action
        self.count += 1
        self.largest_norm = max(self.largest_norm, float(np.linalg.norm(action)))
        self._solver = None

    def merge(self, replicas: Sequence[Replica[Any]], frame: Frame | None) -> None:
        """Stack the sketches and shrink them to one, whose loss has the same bound.

        Σ − SᵀS ⪯ ρI becomes T(Σ − SᵀS)Tᵀ ⪯ ρ‖T‖²I if a replica's rows are mapped by T.
        """
        merging.refuse_base(replicas, "a sketch")
        stacked = np.concatenate([one.shift.rows(one.part.rows[: one.part.fill]) for one in replicas])
        self.lost = sum(one.part.lost * one.shift.square_norm() for one in replicas)
        self.moment = sum((one.shift.vector(one.part.moment) for one in replicas), np.zeros(len(self.moment)))
        self.count = merging.count(replicas, "count")
        self.largest_norm = max(one.shift.longest(one.part.largest_norm) for one in replicas)
        if len(stacked) <= len(self.rows):
            self.rows[:] = 0.0
            self.rows[: len(stacked)] = stacked
            self.fill = len(stacked)
        else:
            self._shrink(stacked)
        self._solver = None

    def _shrink(self, rows: Array | None = None) -> None:
        """Shrink the sketch's own rows, or the given ones, to half the available room."""
        _, singular, right = np.linalg.svd(self.rows if rows is None else rows, full_matrices=False)
        keep = len(self.rows) // 2
        squares = singular**2
        # If as many rows are kept as there are dimensions, there is no further direction to lose.
        taken = float(squares[keep]) if keep < len(squares) else 0.0
        kept = np.sqrt(np.maximum(squares[:keep] - taken, 0.0))[:, None] * right[:keep]
        self.rows[:] = 0.0
        self.rows[: len(kept)] = kept
        self.fill = len(kept)
        self.lost += taken

    def solver(self) -> _Solver:
        """Return Z̃⁻¹ as an operator."""
        if self._solver is None:
            level = self.ridge + (self.lost if self.compensate else 0.0)
            self._solver = _Solver(self.rows[: self.fill], level, self.moment)
        return self._solver

    def omega(self, offered: float = 0.0) -> float:
        """Return the radius: see `Ambient`, with what the sketch lost taken into account.

        With V = Σ + λI, Z̃ ⪯ V ⪯ Z̃ + ρI without compensation gives ‖Xη‖_{Z̃⁻¹} ≤ √(1 + ρ/λ) ‖Xη‖_{V⁻¹} and a bias of
        at most S max(λ, ρ − λ)/√λ; with compensation V ⪯ Z̃, so there is no factor, and the bias is at most S√(λ + ρ).
        """
        if not isinstance(self.radius, str):
            return float(self.radius)
        dim, lost, ridge = len(self.moment), self.lost, self.ridge
        if self.radius == "paper":
            return radii.soful_paper(
                noise=self.noise,
                rounds=self.count + 1,
                delta=self.delta,
                theta_bound=self.theta_bound,
                ridge=ridge,
                action_bound=self.action_bound or max(self.largest_norm, offered),
                dim=dim,
                rows=len(self.rows),
                lost=lost,
            )
        values = self.solver().values
        log_det = float(np.log1p((values + lost) / ridge).sum() + (dim - len(values)) * np.log1p(lost / ridge))
        noise = radii.noise_radius(noise=self.noise, log_det_ratio=log_det, delta=self.delta)
        if self.compensate:
            return noise + self.theta_bound * float(np.sqrt(ridge + lost))
        bias = self.theta_bound * max(ridge, lost - ridge) / float(np.sqrt(ridge))
        return noise * float(np.sqrt(1.0 + lost / ridge)) + bias

    def view(self, lifted: Array) -> SketchedView:
        """Return a view of the sketched ellipsoid through a decision set."""
        offered = largest_norm(lifted) if self.radius == "paper" and self.action_bound is None else 0.0
        return SketchedView(self.solver(), lifted, self.omega(offered), self.noise, offered)

    def note(self, finding: Finding | None) -> None:
        """Store the largest norm offered."""
        if finding is not None:
            self.largest_norm = max(self.largest_norm, finding.largest_norm)

    def diagnostics(self, frame: Frame | None) -> dict[str, Any]:
        """Return the radius and the sketch's loss."""
        known = {"rewards_learned": self.count, "noise": self.noise}
        return known | {"radius_ambient": self.omega(), "sketch_loss": self.lost}


class _Solver:
    """Z̃⁻¹ = (I − Uᵀ diag(s/(s + a)) U)/a for SᵀS = Uᵀ diag(s) U; immutable."""

    def __init__(self, rows: Array, level: float, moment: Array) -> None:
        self.level = level
        # A snapshot, since the sketch changes in place: the rows' own eigenvectors, at most min(2ℓ, d) of them.
        values, left = np.linalg.eigh(rows @ rows.T)
        keep = values > np.finfo(float).eps * max(float(values.max(initial=0.0)), np.finfo(float).tiny)
        self.values = values[keep][::-1][: rows.shape[1]]
        vectors = left[:, keep][:, ::-1][:, : rows.shape[1]]
        self.basis = (vectors.T @ rows) / np.sqrt(self.values)[:, None]
        self.center = self.solve(moment[None])[0]

    def solve(self, vectors: Array) -> Array:
        """Return Z̃⁻¹x for each row x."""
        inside = vectors @ self.basis.T
        return np.asarray((vectors - (inside * (self.values / (self.values + self.level))) @ self.basis) / self.level)

    def root(self, normal: Array) -> Array:
        """Return Z̃^{-1/2} times each row."""
        inside = normal @ self.basis.T
        factor = 1.0 - np.sqrt(self.level / (self.values + self.level))
        return np.asarray((normal - (inside * factor) @ self.basis) / np.sqrt(self.level))


class SketchedView(View):
    """The sketched ellipsoid, seen through one decision set."""

    def __init__(self, solver: _Solver, lifted: Array, omega: float, noise: float, offered: float = 0.0) -> None:
        self.solver = solver
        self.lifted = lifted
        self.omega = omega
        self._noise = noise
        self._offered = offered

    def part(self, rows: slice | Rows) -> SketchedView:
        """Return the view of a subset of the actions."""
        return SketchedView(self.solver, self.lifted[rows], self.omega, self._noise, self._offered)

    def finding(self, index: int) -> Finding | None:
        """Return the largest norm offered, if the radius depends on it."""
        return Finding(largest_norm=self._offered) if self._offered else None

    def estimates(self) -> Array:
        """Return xᵀθ̃."""
        return linalg.project(self.lifted, self.solver.center)

    def uppers(self) -> Array:
        """Return xᵀθ̃ + Ω̃‖x‖_{Z̃⁻¹}."""
        inside = linalg.project(self.lifted, self.solver.basis.T)
        shrunk = inside**2 @ (self.solver.values / (self.solver.values + self.solver.level))
        squares = (linalg.square_norms(self.lifted) - shrunk) / self.solver.level
        return np.asarray(self.estimates() + self.omega * np.sqrt(np.maximum(squares, 0.0)))

    def optimist(self, index: int) -> Callable[[], Array]:
        """Return a function that computes θ̃ + Ω̃ Z̃⁻¹x/‖x‖_{Z̃⁻¹}."""
        solver, omega, action = self.solver, self.omega, self.lifted[index].copy()

        def model() -> Array:
            solved = solver.solve(action[None])[0]
            width = float(np.sqrt(max(float(action @ solved), 0.0)))
            return np.asarray(solver.center + (omega / width * solved if width > 0.0 else 0.0))

        return model

    def believer(self) -> Callable[[], Array]:
        """Return a function that returns θ̃."""
        center = self.solver.center
        return lambda: center

    def posterior(self, count: int, rng: np.random.Generator, scale: float | None = None) -> Models:
        """Return draws from N(θ̃, scale² Z̃⁻¹); without a scale, the noise R."""
        scale = self._noise if scale is None else scale
        return self._models(scale * self.solver.root(rng.standard_normal((count, self.lifted.shape[1]))))

    def boundary(self, count: int, rng: np.random.Generator) -> Models:
        """Return models spread uniformly over the boundary of the ellipsoid."""
        normal = rng.standard_normal((count, self.lifted.shape[1]))
        normal /= np.maximum(np.linalg.norm(normal, axis=1, keepdims=True), np.finfo(float).tiny)
        return self._models(self.omega * self.solver.root(normal))

    def _models(self, deviations: Array) -> Models:
        center = self.solver.center
        values = (center + deviations) @ self.lifted.T
        return Models(values, lambda index: center + deviations[index])
