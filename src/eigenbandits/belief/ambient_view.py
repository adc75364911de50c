"""The view of the ellipsoid C_d through one decision set."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from eigenbandits import linalg
from eigenbandits.belief.base import Finding, Models, Rows, View, among, walk
from eigenbandits.belief.boundary import Root, boundary, models, posterior
from eigenbandits.belief.shortlist import FEW_LEFT, ListSize
from eigenbandits.inputs import Array
from eigenbandits.linalg import kernels

if TYPE_CHECKING:
    from eigenbandits.belief.ambient import Ambient

# From this many actions on, single precision tells which of them are worth computing exactly; from fewer if Z⁻¹ does
# not fit in the cache, where reading half as much of it pays off.
MANY, FEW = 64, 8


@dataclass(slots=True)
class Rough:
    """What single precision says about many actions.

    Attributes
    ----------
    rows, sizes, scale
        The actions in single precision, divided by a scale, and bounds on their squared norms.
    estimates, lengths
        Upper bounds on xᵀθ̂ and on ‖x‖_{Z⁻¹}.
    close
        Which lengths come from all directions; the others, from a few, are less close.
    """

    rows: NDArray[np.float32]
    sizes: Array
    scale: float
    estimates: Array
    lengths: Array
    close: NDArray[np.bool_]


class AmbientView(View):
    """C_d as seen through one decision set."""

    # Until they are needed.
    _estimates: Array | None = None
    _uppers: Array | None = None
    _products: Array | None = None
    _rough: Rough | None = None
    _kept: tuple[int, Array, Array] | None = None
    _root: Root | None = None
    _list_size: ListSize | None = None

    def __init__(self, belief: Ambient, lifted: Array, omega: float, offered: float = 0.0) -> None:
        self.belief = belief
        self.lifted = lifted
        self.omega = omega
        self._offered = offered
        self._center = belief.center
        self._solved: dict[int, Array] = {}
        self._known: dict[int, float] = {}

    def reach(self, lengths: Array) -> Array:
        """Return how far the optimistic value is above the estimate, given ‖x‖_{Z⁻¹}; it grows with the length."""
        return self.omega * lengths

    def radius_of(self, index: int) -> float:
        """Return the radius with which one action's optimistic value was computed."""
        return self.omega

    def estimates(self) -> Array:
        """Return xᵀθ̂."""
        if self._estimates is None:
            self._estimates = linalg.project(self.lifted, self._center)
        return self._estimates

    def estimate(self, index: int) -> float:
        """Return xᵀθ̂ of one action; unless all were requested, in double precision and for this action alone."""
        if self._estimates is None and index in self._known:
            return float(linalg.dot(self.lifted[index].astype(np.float64, copy=False), self._center))
        return float(self.estimates()[index])

    def upper(self, rows: Rows) -> Array:
        """Return xᵀθ̂ + Ω‖x‖_{Z⁻¹} for a subset of the actions, given by their indices."""
        if len(rows) == 1:
            return np.array([self.upper_of(int(rows[0]))])
        actions = self.lifted[rows].astype(np.float64, copy=False)
        solved = self.belief.inverse.times_rows(actions)
        self._solved.update(zip(rows.tolist(), solved, strict=True))
        squares = np.vecdot(actions, solved)
        values = np.asarray(actions @ self._center + self.reach(np.sqrt(np.maximum(squares, 0.0))))
        self._known.update(zip(rows.tolist(), values.tolist(), strict=True))
        return values

    def upper_of(self, index: int) -> float:
        """Return xᵀθ̂ + Ω‖x‖_{Z⁻¹} for one action."""
        if index not in self._known:
            action = self.lifted[index].astype(np.float64, copy=False)
            solved = self._solved.get(index)
            if solved is None:
                solved = self._solved[index] = self.belief.inverse.times(action)
            estimate, length = kernels.ambient_bound(action, solved, self._center)
            self._known[index] = estimate + float(self.reach(np.array([length]))[0])
        return self._known[index]

    def finding(self, index: int) -> Finding | None:
        """Return what is known of: Z⁻¹x, a factor of Z, the largest norm, and the shortlist's size."""
        made = None if self._root is None else self._root.made
        if self._kept is not None or self.solved(index) is not None:
            action, solved = self._copies(index)
            return Finding(action, solved, made, self._offered, list_size=self._list_size)
        return None if made is None and not self._offered else Finding(factor=made, largest_norm=self._offered)

    def _copies(self, index: int) -> tuple[Array, Array]:
        """Return x and Z⁻¹x of one action as arrays of their own."""
        if self._kept is None or self._kept[0] != index:
            solved = self.solved(index)
            if solved is None:
                self.upper_of(index)
                solved = self._solved[index]
            # Copies: the caller may reuse the same array for the next decision set, and keeping one row of the products
            # must not keep all of them alive.
            action = self.lifted[index].astype(np.float64)
            self._kept = index, action, solved if solved.base is None else solved.copy()
        return self._kept[1:]

    def best(self) -> tuple[int, float]:
        """Return the action with the highest optimistic value; of many, only possible winners are computed exactly."""
        if self._uppers is not None or self._products is not None:
            return super().best()
        count, dim = self.lifted.shape
        if count < (FEW if dim >= linalg.LARGE else MANY):
            inverse = self.belief.inverse.lend()
            if not inverse.size:
                return super().best()
            actions = self.lifted.astype(np.float64, copy=False)
            index, self._uppers, self._estimates, self._solved[index] = kernels.ambient_best(
                actions, inverse, self._center, self.omega
            )
            return index, float(self._uppers[index])
        return self._best_of(self._bounds())

    def _best_of(self, bounds: Array) -> tuple[int, float]:
        """Return the action with the highest optimistic value, given bounds on all values.

        A product over several actions at once gives values in double precision whose last digits depend on which
        actions they are. So these values only narrow the choice down, mostly to one action, and the decision is based
        on values computed one by one.
        """
        highest: dict[int, float] = {}

        def exact(row: int) -> float:
            highest[row] = self.upper_of(row)
            return highest[row]

        def least(rows: Rows) -> Array:
            if len(rows) == 1:
                return np.array([exact(int(rows[0]))])
            low, high = self._between(rows)
            highest.update(zip(rows.tolist(), high.tolist(), strict=True))
            return low

        first, reached = walk(bounds, exact, least)
        value = self.upper_of(first)
        for row in [row for row, high in highest.items() if high >= reached and row != first]:
            other = self.upper_of(row)
            if other > value or (other == value and row < first):
                first, value = row, other
        return first, value

    def _between(self, rows: Rows) -> tuple[Array, Array]:
        """Return lower and upper bounds on the optimistic values of a subset of the actions, in double precision."""
        actions = self.lifted[rows].astype(np.float64, copy=False)
        sizes, squares = linalg.square_norms(actions), np.vecdot(actions, self.belief.inverse.times_rows(actions))
        estimates, dim = actions @ self._center, actions.shape[1]
        off = linalg.rounding(2 * dim, single=False) * math.sqrt(linalg.dot(self._center, self._center)) * sizes**0.5
        wide = linalg.rounding(2 * dim**2, single=False) / self.belief.ridge * sizes
        low, high = np.sqrt(np.maximum(squares - wide, 0.0)), np.sqrt(np.maximum(squares + wide, 0.0))
        return estimates - off + self.reach(low), estimates + off + self.reach(high)

    def _bounds(self) -> Array:
        """Return bounds on the optimistic values: from few directions, then from all for those that may still win."""
        rough = self._rough = self._rough or self._measured()
        bounds = np.asarray(rough.estimates + self.reach(rough.lengths))
        if rough.close.all():
            return bounds
        left = np.flatnonzero(bounds >= self.upper_of(int(bounds.argmax())))
        self._list_size = ListSize(len(bounds), len(left))
        if len(left) > FEW_LEFT:
            rows = left[~rough.close[left]]
            closer = rough.scale * self._single_lengths(rough.rows[rows], rough.sizes[rows])
            rough.lengths[rows] = np.minimum(rough.lengths[rows], closer)
            rough.close[rows] = True
            bounds[rows] = rough.estimates[rows] + self.reach(rough.lengths[rows])
        return bounds

    def _measured(self) -> Rough:
        """Return bounds on estimates and lengths in single precision, from few directions if these are at hand."""
        belief = self.belief
        rows, sizes, scale = linalg.to_single(self.lifted)
        # A vector too small for single precision has a square of 0 there: as good as 1e-6 of the largest one.
        sizes += 1e-12 * float(sizes.max())
        off = linalg.rounding(rows.shape[1]) * math.sqrt(linalg.dot(self._center, self._center))
        estimates = scale * (linalg.project(rows, self._center) + off * np.sqrt(sizes))
        self._list_size = ListSize(len(rows), None) if len(rows) >= MANY else None
        few = self._list_size is not None and belief.inverse.compression is not None and belief.short_list.active
        lengths = belief.inverse.lengths(rows) if few else self._single_lengths(rows, sizes)
        return Rough(rows, sizes, scale, estimates, np.asarray(scale * lengths), np.full(len(rows), not few))

    def _single_lengths(self, rows: NDArray[np.float32], sizes: Array) -> Array:
        """Return bounds on ‖x‖_{Z⁻¹} from single precision, with slack for its error and that of the exact value."""
        off = linalg.rounding(rows.shape[1] ** 2, single=False) / self.belief.ridge
        return np.sqrt(self.belief.inverse.most(rows, sizes) + off * sizes)

    def uppers(self) -> Array:
        """Return xᵀθ̂ + Ω‖x‖_{Z⁻¹} for all actions."""
        if self._uppers is None:
            self._compute_products()
            assert self._products is not None
            squares = linalg.row_dots(self.lifted, self._products)
            self._uppers, self._estimates = kernels.ambient_bounds(self.lifted, squares, self._center, self.omega)
        return self._uppers

    def _compute_products(self) -> None:
        """Compute the products Z⁻¹x of all actions."""
        if self._products is None:
            self.lifted = self.lifted.astype(np.float64, copy=False)
            self._products = self.belief.inverse.times_rows(self.lifted)

    def solved(self, index: int) -> Array | None:
        """Return Z⁻¹x of an action if it is already known."""
        return self._products[index] if self._products is not None else self._solved.get(index)

    def optimist(self, index: int) -> Callable[[], Array]:
        """Return a function that computes θ̂ + Ω Z⁻¹x/‖x‖_{Z⁻¹}, with the action's own radius if it has one."""
        action, solved = self._copies(index)
        center, omega = self._center, self.radius_of(index)

        def model() -> Array:
            width = float(np.sqrt(max(float(action @ solved), 0.0)))
            return np.asarray(center + (omega / width * solved if width > 0.0 else 0.0))

        return model

    def part(self, rows: slice | Rows) -> AmbientView:
        """Return the view of a subset of the actions."""
        part = type(self)(self.belief, self.lifted[rows], self.omega, self._offered)
        # One factor for all parts.
        part._root = self._draws()
        part._uppers = None if self._uppers is None else self._uppers[rows]
        part._products = None if self._products is None else self._products[rows]
        part._solved = among(self._solved, rows, len(self.lifted))
        part._known = among(self._known, rows, len(self.lifted))
        return part

    def believer(self) -> Callable[[], Array]:
        """Return a function that returns θ̂."""
        center = self._center
        return lambda: center

    def posterior(self, count: int, rng: np.random.Generator, scale: float | None = None) -> Models:
        """Return draws from N(θ̂, scale² Z⁻¹); without a scale, the noise R."""
        size, dim = self.lifted.shape
        scale = self.belief.noise if scale is None else scale
        if size < dim:
            self._compute_products()
            assert self._products is not None
            return posterior(self.lifted, self.estimates(), self._center, self._products, scale, count, rng)
        deviations = scale * self.belief.inverse.times_columns(self._draws().draw(count, rng))
        return models(self.lifted, self.estimates(), self._center, deviations)

    def boundary(self, count: int, rng: np.random.Generator) -> Models:
        """Return models spread uniformly over the boundary of the ellipsoid."""
        return boundary(
            self.lifted, self.estimates(), self._center, self.omega, self.belief.inverse, self._draws(), count, rng
        )

    def _draws(self) -> Root:
        """Return the source of draws from N(0, Z)."""
        if self._root is None:
            self._root = self.belief.root()
        return self._root
