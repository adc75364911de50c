"""C_m ∩ C_d: the projected and the ambient set together (Algorithm 1, line 8)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from eigenbandits import merging
from eigenbandits.belief import ellipsoids
from eigenbandits.belief.ambient import Ambient
from eigenbandits.belief.ambient_view import AmbientView
from eigenbandits.belief.base import Belief, Finding, Models, Rows, View, firsts, walk
from eigenbandits.belief.projected import Projected, ProjectedView
from eigenbandits.inputs import Array
from eigenbandits.merging import Replica
from eigenbandits.subspace.base import Frame
from eigenbandits.translation import RowMap


class Both(Belief):
    """θ* lies in both sets, so the lower of the two optimistic values counts for each action.

    While the projection error is vacuous (ε ≥ 1), and while the two sets have no point in common, which certifies that
    the low-rank assumption fails on this data, only the ambient set is used; `diagnostics` says so.
    """

    _state_names: ClassVar[tuple[str, ...]] = (
        *("ambient", "projected", "contradiction", "checked_version", "choices", "warmup", "contradicted"),
        *("bound_by_projected", "bound_by_ambient"),
    )

    offers: ClassVar[tuple[str, ...]] = (*Ambient.offers, "joint")

    def __init__(self, projected: Projected, ambient: Ambient) -> None:
        self.projected = projected
        self.ambient = ambient
        projected.share(ambient.evidence)
        self.contradiction = False
        self.checked_version = -1
        self.choices = 0
        self.warmup = 0
        self.contradicted = 0
        self.bound_by_projected = 0
        self.bound_by_ambient = 0
        self._frame: Frame | None = None
        self.intercept = ambient.intercept

    def start(self, dim: int, intercept: float = 0.0) -> None:
        """Set up both."""
        self.ambient.start(dim, intercept)
        self.projected.start(dim, intercept)

    def follow(self, frame: Frame | None) -> None:
        """Let both follow the subspace, and check whether a new frame's set still intersects the ambient one."""
        self._frame = frame
        self.ambient.follow(frame)
        if frame is None:
            return
        self.projected.follow(frame)
        if frame.error < 1.0 and frame.version != self.checked_version:
            # The check costs m solves with Z; the sets change slowly, so it is made once per new frame.
            self.checked_version = frame.version
            beta = self.projected.beta(frame, self.projected.rounds)
            self.contradiction = self.geometry(frame, beta, self.ambient.omega()).empty

    @property
    def _vacuous(self) -> bool:
        return self._frame is None or self._frame.error >= 1.0

    def view(self, lifted: Array) -> View:
        """Return a view of the intersection, or of the ambient set alone, through a decision set."""
        ambient = self.ambient.view(lifted)
        if self._vacuous or self.contradiction:
            return ambient
        assert isinstance(ambient, AmbientView)
        return BothView(self, self.projected.view(lifted), ambient)

    def note(self, finding: Finding | None) -> None:
        """Count which set decided, and let the ambient set store what it needs."""
        self.choices += 1
        self.ambient.note(finding)
        if self._vacuous:
            self.warmup += 1
        elif self.contradiction or (finding is not None and finding.decided_by == "contradicted"):
            self.contradicted += 1
        elif finding is not None and finding.decided_by == "projected":
            self.bound_by_projected += 1
        elif finding is not None and finding.decided_by == "ambient":
            self.bound_by_ambient += 1

    # The ambient set learns last, since it adds to the sums from which everything can be recomputed.

    def learn(self, action: Array, reward: float, forecast: Array | None = None) -> None:
        """Teach both, which share one set of sums."""
        self.projected.learn(action, reward)
        self.ambient.learn(action, reward)

    def learn_many(self, actions: Array, rewards: Array, forecasts: Sequence[Array | None] | None = None) -> None:
        """Teach both."""
        if 3 * len(actions) < len(self.ambient.center):
            super().learn_many(actions, rewards, forecasts)
            return
        self.projected.learn_many(actions, rewards)
        self.ambient.learn_many(actions, rewards)

    def merge(self, replicas: Sequence[Replica[Any]], frame: Frame | None) -> None:
        """Add up the shared sums, and how often each set has decided."""
        self.ambient.merge([replica.inside(replica.part.ambient) for replica in replicas], frame)
        self.projected.merge([replica.inside(replica.part.projected) for replica in replicas], frame)
        for name in ("choices", "warmup", "contradicted", "bound_by_projected", "bound_by_ambient"):
            setattr(self, name, merging.count(replicas, name))
        self.checked_version = -1

    def translate(self, change: RowMap, rng: np.random.Generator) -> None:
        """Map the sums that both share."""
        self.ambient.translate(change, rng)
        self.projected.translate(change, rng)
        self.contradiction, self.checked_version = False, -1

    def recover(self) -> None:
        """Recompute both from the sums."""
        self.ambient.recover()
        self.projected.recover()

    def geometry(self, frame: Frame, beta: float, omega: float) -> ellipsoids.Intersection:
        """Return the projected set and the ambient set's shadow as a pair of ellipsoids (docs/mathematics.md)."""
        ellipse = self.projected.ellipse(frame)
        shadow = frame.shadow.T @ self.ambient.inverse.times_columns(frame.shadow)
        values, vectors = np.linalg.eigh(0.5 * (shadow + shadow.T))
        values = np.maximum(values, np.finfo(float).eps * max(float(values[-1]), np.finfo(float).tiny))
        shape_values, shape_vectors = np.linalg.eigh(ellipse.shape)
        shape_values = np.maximum(shape_values, self.projected.ridge)
        return ellipsoids.Intersection(
            ellipsoids.Ellipsoid(ellipse.center, shape_vectors, beta / np.sqrt(shape_values)),
            ellipsoids.Ellipsoid(frame.shadow.T @ self.ambient.center, vectors, omega * np.sqrt(values)),
        )

    def diagnostics(self, frame: Frame | None) -> dict[str, Any]:
        """Return both radii, which set binds and how often, and warnings."""
        decided = self.bound_by_projected + self.bound_by_ambient
        warnings = []
        if self.choices and self.warmup == self.choices:
            warnings.append(
                "The projection error is still vacuous (at least 1): all choices were made by the ambient set alone."
            )
        if self.contradicted:
            warnings.append(
                f"In {self.contradicted} of {self.choices} rounds the projected and the ambient set had no point in "
                "common, so the low-rank assumption fails on this data; the ambient set was used alone."
            )
        return (
            self.ambient.diagnostics(frame)
            | self.projected.diagnostics(frame)
            | {
                "rounds_in_warmup": self.warmup,
                "rounds_contradicted": self.contradicted,
                "share_bound_by_projected": self.bound_by_projected / decided if decided else None,
                "warnings": warnings,
            }
        )


class BothView(View):
    """The intersection, seen through one decision set."""

    def __init__(self, belief: Both, projected: ProjectedView, ambient: AmbientView) -> None:
        self.belief = belief
        self.projected = projected
        self.ambient = ambient
        self._geometry: ellipsoids.Intersection | None = None
        self._contradicted = False
        self._decided_by = ""

    def estimates(self) -> Array:
        """Return the projected estimate of each action."""
        return self.projected.estimates()

    def uppers(self) -> Array:
        """Return the lower of the two optimistic values of each action."""
        return np.minimum(self.projected.uppers(), self.ambient.uppers())

    def lowers(self) -> Array:
        """Return the higher of the two pessimistic values of each action."""
        return np.maximum(self.projected.lowers(), self.ambient.lowers())

    def best(self) -> tuple[int, float]:
        """Return the action whose lower value is highest; the ambient value is computed only where it can matter."""
        bounds = self.projected.uppers()
        index, value = self._walk(bounds, None)
        self._decided_by = "projected" if value >= bounds[index] else "ambient"
        return index, value

    def best_exact(self) -> tuple[int, float]:
        """Return the action with the highest exact optimum over the intersection."""
        geometry = self._intersection()
        if geometry is None:
            return self.ambient.best()
        bounds = self.projected.uppers()
        index, value = self._walk(bounds, geometry)
        self._decided_by = "projected" if value >= bounds[index] else "ambient"
        return index, value

    def best_joint(self) -> tuple[int, float]:
        """Return the action with the highest joint maximum over P′ and C_m, or its value in C_d if that is less."""
        if self._intersection() is None:
            return self.ambient.best()
        joint, ambient = self.projected.joint(), self.ambient.uppers()
        index, value = walk(
            np.minimum(joint.bounds(), ambient),
            lambda row: min(joint.value(row), float(ambient[row])),
            lambda rows: np.minimum(joint.values(rows), ambient[rows]),
        )
        self._decided_by = "projected" if joint.value(index) <= ambient[index] else "ambient"
        return index, value

    def optimist_joint(self, index: int) -> Callable[[], Array]:
        """Return θ̃ and P̃, or the most optimistic model of the ambient set if that binds."""
        return self.projected.optimist_joint(index) if self._decided_by == "projected" else self.ambient.optimist(index)

    def _intersection(self) -> ellipsoids.Intersection | None:
        """Return the two sets as a pair, or None if they have no point in common."""
        if self._geometry is None and not self._contradicted:
            geometry = self.belief.geometry(self.projected.frame, self.projected.beta, self.ambient.omega)
            self._contradicted = geometry.empty
            self._geometry = None if geometry.empty else geometry
        return self._geometry

    def finding(self, index: int) -> Finding | None:
        """Return what either set has computed, and which of them decided."""
        finding = self.ambient.finding(index) or Finding()
        other = self.projected.finding(index)
        if other is not None:
            finding.largest_norm = max(finding.largest_norm, other.largest_norm)
        finding.decided_by = "contradicted" if self._contradicted else self._decided_by
        return finding

    def part(self, rows: slice | Rows) -> BothView:
        """Return the view of a subset of the actions."""
        part = BothView(self.belief, self.projected.part(rows), self.ambient.part(rows))
        part._geometry, part._contradicted = self._geometry, self._contradicted
        return part

    def prefetch(self, sizes: list[int]) -> None:
        """Compute the projected values of all actions, and the ambient value of each part's first candidate."""
        self.ambient.upper(firsts(self.projected.uppers(), sizes))

    def _walk(self, bounds: Array, geometry: ellipsoids.Intersection | None) -> tuple[int, float]:
        if geometry is not None:
            return walk(
                bounds,
                lambda index: float(self._values(np.array([index]), bounds, geometry)[0]),
                lambda rows: self._values(rows, bounds, geometry),
            )
        return walk(
            bounds,
            lambda index: min(float(bounds[index]), self.ambient.upper_of(index)),
            lambda rows: self._values(rows, bounds, None),
        )

    def _values(self, rows: Rows, bounds: Array, geometry: ellipsoids.Intersection | None) -> Array:
        """Return the lowest of all available bounds for a subset of the actions."""
        values = np.minimum(bounds[rows], self.ambient.upper(rows))
        if geometry is not None:
            exact = geometry.support(self.projected.coordinates[rows]) + self.projected.slack[rows]
            values = np.minimum(values, exact)
        return np.asarray(values)

    def optimist(self, index: int) -> Callable[[], Array]:
        """Return the most optimistic model of the set that binds for this action."""
        inside = self.projected.uppers()[index] <= self.ambient.upper_of(index)
        self._decided_by = "projected" if inside else "ambient"
        return self.projected.optimist(index) if inside else self.ambient.optimist(index)

    def optimist_exact(self, index: int) -> Callable[[], Array]:
        """Return the most optimistic model of the intersection itself, or of the ambient set if that binds."""
        geometry, frame, z = self._geometry, self.projected.frame, self.projected.coordinates[index].copy()
        if geometry is None:
            return self.ambient.optimist(index)
        exact = float(geometry.support(z[None])[0]) + float(self.projected.slack[index])
        if self.ambient.upper_of(index) < exact:
            return self.ambient.optimist(index)
        return lambda: frame.lower(geometry.optimum(z))

    def believer(self) -> Callable[[], Array]:
        """Return a function that returns the projected estimate."""
        return self.projected.believer()

    def posterior(self, count: int, rng: np.random.Generator, scale: float | None = None) -> Models:
        """Return draws around the projected estimate."""
        return self.projected.posterior(count, rng, scale)

    def boundary(self, count: int, rng: np.random.Generator) -> Models:
        """Return models from the boundary of the intersection, in the frame's coordinates, with the slack added."""
        geometry = self._intersection()
        if geometry is None:
            return self.ambient.boundary(count, rng)
        return self.projected.models(geometry.boundary(count, rng), slack=True)
