"""The view of one or two ellipsoids that each contain θ*: the smallest of their upper bounds counts."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from eigenbandits import linalg
from eigenbandits.belief.base import Finding, Rows, View, among, walk
from eigenbandits.belief.certified.ridge import Ridge
from eigenbandits.inputs import Array


class LeastUpper(View):
    """One or two ellipsoids, each a ridge and its radius, seen through one decision set."""

    def __init__(self, ellipsoids: list[tuple[Ridge, float]], lifted: Array) -> None:
        self.ellipsoids = ellipsoids
        self.lifted = lifted
        self._centers = [ridge.center for ridge, _ in ellipsoids]
        # The bounds of the first ellipsoid and its products Z⁻¹x, for all actions.
        self._first: tuple[Array, Array] | None = None
        # The same for the second ellipsoid, by row, where requested.
        self._second: dict[int, tuple[float, Array]] = {}

    def part(self, rows: slice | Rows) -> LeastUpper:
        """Return the view of a subset of the actions."""
        part = LeastUpper(self.ellipsoids, self.lifted[rows])
        if self._first is not None:
            part._first = self._first[0][rows], self._first[1][rows]
        part._second = among(self._second, rows, len(self.lifted))
        return part

    def estimates(self) -> Array:
        """Return xᵀθ̂ by the first ellipsoid."""
        return np.asarray(self.lifted.astype(np.float64, copy=False) @ self._centers[0])

    def bounds(self, ellipsoid: int, actions: Array) -> tuple[Array, Array]:
        """Return xᵀθ̂ + ω‖x‖_{Z⁻¹} of one ellipsoid, and Z⁻¹x, for each row x."""
        ridge, radius = self.ellipsoids[ellipsoid]
        rows = actions.astype(np.float64, copy=False)
        products = ridge.inverse.times_rows(rows)
        squares = linalg.row_dots(rows, products)
        linalg.take_roots(squares)
        return np.asarray(rows @ self._centers[ellipsoid] + radius * squares), products

    def first(self) -> tuple[Array, Array]:
        """Return the bounds and products of the first ellipsoid for all actions."""
        if self._first is None:
            self._first = self.bounds(0, self.lifted)
        return self._first

    def second(self, rows: Rows) -> Array:
        """Return the bounds of the second ellipsoid for a subset of the actions."""
        values, products = self.bounds(1, self.lifted[rows])
        self._second.update(zip(rows.tolist(), zip(values.tolist(), products, strict=True), strict=True))
        return values

    def least(self, rows: Rows) -> Array:
        """Return the smallest upper bound for each of a subset of the actions."""
        bounds = self.first()[0][rows]
        return bounds if len(self.ellipsoids) == 1 else np.minimum(bounds, self.second(rows))

    def least_of(self, index: int) -> float:
        """Return the smallest upper bound of one action."""
        value = float(self.first()[0][index])
        if len(self.ellipsoids) == 1:
            return value
        if index not in self._second:
            self.second(np.array([index]))
        return min(value, self._second[index][0])

    def highest_of(self, index: int) -> float:
        """Return the highest lower bound of one action; an ellipsoid's bounds are symmetric around its estimate."""
        self.least_of(index)
        row = self.lifted[index].astype(np.float64, copy=False)
        lower = 2.0 * float(row @ self._centers[0]) - float(self.first()[0][index])
        if len(self.ellipsoids) == 1:
            return lower
        return max(lower, 2.0 * float(row @ self._centers[1]) - self._second[index][0])

    def uppers(self) -> Array:
        """Return the smallest upper bound of each action."""
        return self.least(np.arange(len(self.lifted)))

    def lowers(self) -> Array:
        """Return the highest lower bound of each action."""
        rows = self.lifted.astype(np.float64, copy=False)
        lower = 2.0 * (rows @ self._centers[0]) - self.first()[0]
        if len(self.ellipsoids) == 1:
            return np.asarray(lower)
        if len(self._second) < len(rows):
            self.second(np.arange(len(rows)))
        uppers = np.array([self._second[row][0] for row in range(len(rows))])
        return np.asarray(np.maximum(lower, 2.0 * (rows @ self._centers[1]) - uppers))

    def best(self) -> tuple[int, float]:
        """Return the action whose smallest upper bound is highest; the second ellipsoid is for possible winners."""
        return walk(self.first()[0], self.least_of, self.least)

    def prefetch(self, sizes: list[int]) -> None:
        """Compute the first ellipsoid's bounds for all parts at once."""
        self.first()

    def finding(self, index: int) -> Finding | None:
        """Return Z⁻¹x for both ridges, one row each, if both are known."""
        if self._first is None or index not in self._second:
            return None
        return Finding(self.lifted[index].astype(np.float64), np.array([self._first[1][index], self._second[index][1]]))

    def optimist(self, index: int) -> Callable[[], Array]:
        """Return a function that computes θ̂ + ω Z⁻¹x/‖x‖_{Z⁻¹} of the ellipsoid that binds."""
        binds = self.least_of(index) < self.first()[0][index]
        solved = self._second[index][1] if binds else self.first()[1][index]
        center, radius = self._centers[int(binds)], self.ellipsoids[int(binds)][1]
        action, solved = self.lifted[index].astype(np.float64), solved.copy()

        def model() -> Array:
            width = math.sqrt(max(float(action @ solved), 0.0))
            return np.asarray(center + (radius / width * solved if width > 0.0 else 0.0))

        return model

    def believer(self) -> Callable[[], Array]:
        """Return a function that returns θ̂."""
        center = self._centers[0]
        return lambda: center
