"""C_m ∩ C_d: the projected and the ambient set at once (Algorithm 1, line 8)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from eigenbandits.belief import ellipsoids
from eigenbandits.belief.ambient import Ambient, AmbientView
from eigenbandits.belief.base import Belief, Models, Rows, View, firsts, walk
from eigenbandits.belief.projected import Projected, ProjectedView
from eigenbandits.subspace.base import Frame

Array = NDArray[np.float64]


class Both(Belief):
    """θ* lies in both sets, so the lower of the two optimistic values counts for each action.

    While the projection error is vacuous (ε ≥ 1), and while the two sets have no point in common, which certifies
    that the low-rank assumption fails on this data, the ambient set is used alone; `diagnostics` says so.
    """

    _state_names: ClassVar[tuple[str, ...]] = (
        *("ambient", "projected", "contradiction", "checked_version", "views", "warmup", "contradicted"),
        *("bound_by_projected", "bound_by_ambient"),
    )

    def __init__(self, projected: Projected, ambient: Ambient) -> None:
        self.projected = projected
        self.ambient = ambient
        projected.share(ambient.evidence)
        self.contradiction = False
        self.checked_version = -1
        self.views = 0
        self.warmup = 0
        self.contradicted = 0
        self.bound_by_projected = 0
        self.bound_by_ambient = 0

    def start(self, dim: int, scale: float = 1.0) -> None:
        """Lay out both."""
        self.ambient.start(dim, scale)
        self.projected.start(dim, scale)

    def learn(self, action: Array, reward: float) -> None:
        """Teach both; they share one set of sums."""
        self.ambient.learn(action, reward)
        self.projected.learn(action, reward)

    def learn_many(self, actions: Array, rewards: Array) -> None:
        """Teach both."""
        self.ambient.learn_many(actions, rewards)
        self.projected.learn_many(actions, rewards)

    def view(self, lifted: Array, dim: int, frame: Frame | None, round_: int) -> View:
        """Look at the intersection, or at the ambient set alone, through a decision set."""
        ambient = self.ambient.view(lifted, dim, frame, round_)
        self.views += 1
        if frame is None or frame.error >= 1.0:
            self.warmup += 1
            return ambient
        projected = self.projected.view(lifted, dim, frame, round_)
        if frame.version != self.checked_version:
            # The check costs m solves with Z; the sets change slowly, so each new frame is a good time for it.
            self.checked_version = frame.version
            self.contradiction = self.geometry(projected, ambient).empty
        if self.contradiction:
            self.contradicted += 1
            return ambient
        return BothView(self, projected, ambient)

    def geometry(self, projected: ProjectedView, ambient: AmbientView) -> ellipsoids.Intersection:
        """Return the projected set and the ambient set's shadow as a pair of ellipsoids (docs/mathematics.md)."""
        ellipse, frame = projected.ellipse, projected.frame
        shadow = frame.shadow.T @ self.ambient.inverse.times_columns(frame.shadow)
        values, vectors = np.linalg.eigh(0.5 * (shadow + shadow.T))
        values = np.maximum(values, np.finfo(float).eps * max(float(values[-1]), np.finfo(float).tiny))
        shape_values, shape_vectors = np.linalg.eigh(ellipse.shape)
        shape_values = np.maximum(shape_values, self.projected.penalty)
        return ellipsoids.Intersection(
            ellipsoids.Ellipsoid(ellipse.center, shape_vectors, projected.beta / np.sqrt(shape_values)),
            ellipsoids.Ellipsoid(frame.shadow.T @ self.ambient.center, vectors, ambient.omega * np.sqrt(values)),
        )

    def count_binding(self, projected_binds: bool) -> None:
        """Count which set decided the optimistic value of a chosen action."""
        if projected_binds:
            self.bound_by_projected += 1
        else:
            self.bound_by_ambient += 1

    def diagnostics(self, frame: Frame | None) -> dict[str, Any]:
        """Return both radii, which set binds and how often, and what that means."""
        decided = self.bound_by_projected + self.bound_by_ambient
        warnings = []
        if self.views and self.warmup == self.views:
            warnings.append(
                "The projection error is still vacuous (at least 1): every choice came from the ambient set alone."
            )
        if self.contradicted:
            warnings.append(
                f"In {self.contradicted} of {self.views} rounds the projected and the ambient set had no point in "
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
    """The intersection through one decision set."""

    def __init__(self, belief: Both, projected: ProjectedView, ambient: AmbientView) -> None:
        self.belief = belief
        self.projected = projected
        self.ambient = ambient
        self._geometry: ellipsoids.Intersection | None = None

    def estimates(self) -> Array:
        """Return the projected estimate of each action."""
        return self.projected.estimates()

    def uppers(self) -> Array:
        """Return the lower of the two optimistic values of each action."""
        return np.minimum(self.projected.uppers(), self.ambient.uppers())

    def best(self) -> tuple[int, float]:
        """Return the action with the highest lower value; the ambient one is computed only where it can matter."""
        bounds = self.projected.uppers()
        index, value = self._walk(bounds, None)
        self.ambient.expect(index)
        self.belief.count_binding(value >= bounds[index])
        return index, value

    def best_exact(self) -> tuple[int, float]:
        """Return the action with the highest exact optimum over the intersection."""
        geometry = self.belief.geometry(self.projected, self.ambient)
        if geometry.empty:
            self.belief.contradicted += 1
            return self.ambient.best()
        self._geometry = geometry
        index, value = self._walk(self.projected.uppers(), geometry)
        self.belief.count_binding(value >= self.projected.uppers()[index])
        return index, value

    def part(self, start: int, stop: int) -> BothView:
        """Return the view through some of the actions."""
        return BothView(self.belief, self.projected.part(start, stop), self.ambient.part(start, stop))

    def prefetch(self, sizes: list[int]) -> None:
        """Find the projected values of all actions, and the ambient value of each part's first candidate."""
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
        """Return the lower of all the bounds there are for some actions."""
        values = np.minimum(bounds[rows], self.ambient.upper(rows))
        if geometry is not None:
            exact = geometry.support(self.projected.coordinates[rows]) + self.projected.slack[rows]
            values = np.minimum(values, exact)
        return np.asarray(values)

    def optimist(self, index: int) -> Callable[[], Array]:
        """Give the most optimistic model of the set that binds for this action."""
        ambient = self.ambient.upper_of(index)
        binding: View = self.projected if self.projected.uppers()[index] <= ambient else self.ambient
        return binding.optimist(index)

    def optimist_exact(self, index: int) -> Callable[[], Array]:
        """Give the most optimistic model of the intersection itself, or of the ambient set where that binds."""
        geometry, frame, z = self._geometry, self.projected.frame, self.projected.coordinates[index].copy()
        if geometry is None:
            return self.ambient.optimist(index)
        exact = float(geometry.support(z[None])[0]) + float(self.projected.slack[index])
        if self.ambient.upper_of(index) < exact:
            return self.ambient.optimist(index)
        return lambda: frame.lower(geometry.optimum(z))

    def believer(self) -> Callable[[], Array]:
        """Give the projected estimate."""
        return self.projected.believer()

    def posterior(self, count: int, scale: float, rng: np.random.Generator) -> Models:
        """Return draws around the projected estimate."""
        return self.projected.posterior(count, scale, rng)

    def boundary(self, count: int, rng: np.random.Generator) -> Models:
        """Return models from the boundary of the intersection, in the frame's coordinates, with the slack on top."""
        geometry = self.belief.geometry(self.projected, self.ambient)
        if geometry.empty:
            self.belief.contradicted += 1
            return self.ambient.boundary(count, rng)
        return self.projected.models(geometry.boundary(count, rng), slack=True)
