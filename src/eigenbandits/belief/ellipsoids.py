"""Two ellipsoids: the exact optimum of a linear function over their intersection, and whether there is one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

# log ρ = log(τ/(1 − τ)) is searched between these, τ from 1e-40 to 1 − 1e-40, down to 2e-10; the minimum is flat, so
# that the value is then good to the last digit.
LIMIT = 92.0
STEPS = 40

# An axis shorter than this part of the longest is taken to be as long: a set with no inside has no metric.
THINNEST = 1e-12


@dataclass(frozen=True, eq=False)
class Ellipsoid:
    """All φ = center + V diag(lengths) u with ‖u‖ ≤ 1, V orthonormal: given by its axes, not by its matrix.

    The matrix V diag(1/lengths²) Vᵀ of a needle loses the needle's length to rounding; the axes do not.
    """

    center: Array
    vectors: Array
    lengths: Array

    @classmethod
    def from_shape(cls, center: Array, shape: Array) -> Self:
        """Return the set (φ − center)ᵀ shape (φ − center) ≤ 1, with a positive definite shape."""
        values, vectors = np.linalg.eigh(shape)
        return cls(center, vectors, 1.0 / np.sqrt(values))


class Intersection:
    """E₁ ∩ E₂ through the family E_τ, τ in [0, 1], of ellipsoids that contain it (DESIGN 4.3).

    E_τ is the set of all φ with (1 − τ)q₁(φ) + τq₂(φ) ≤ 1, where q_i ≤ 1 describes E_i. Each contains the
    intersection, so the support function of each bounds the optimum, and by strong duality the smallest of them *is*
    the optimum. It is quasiconvex in τ: one number per direction to search for, and a search that is stopped early
    still ends in a valid bound. In coordinates that diagonalise both shapes everything is a sum over q terms.
    """

    def __init__(self, first: Ellipsoid, second: Ellipsoid) -> None:
        thinnest = THINNEST * max(float(first.lengths.max()), float(second.lengths.max()), np.finfo(float).tiny)
        first_lengths = np.maximum(first.lengths, thinnest)
        second_lengths = np.maximum(second.lengths, thinnest)
        # The second set's axes in coordinates in which the first is the unit ball.
        mixed = (first.vectors.T @ second.vectors) * (second_lengths / first_lengths[:, None])
        left, singular, _ = np.linalg.svd(mixed)
        self._e = np.maximum(singular, np.finfo(float).eps * singular[0]) ** -2.0
        self._to = (first.vectors * first_lengths) @ left  # z̃ = toᵀ z, φ = c₁ + to y
        self._c1 = first.center
        self._c2 = second.center
        self._gap = left.T @ ((first.vectors.T @ (second.center - first.center)) / first_lengths)
        self._log_ratio = self._deepest()

    def _deepest(self) -> float:
        """Return log ρ at which k(τ), the least value of (1 − τ)q₁ + τq₂, is largest; k is concave in τ."""

        def slope(log_ratio: float) -> float:
            ratio = np.exp(log_ratio)
            terms = self._e * self._gap**2 * (1.0 - ratio**2 * self._e) / (1.0 + ratio * self._e) ** 2
            return float(terms.sum())

        low, high = -LIMIT, LIMIT
        if slope(low) <= 0.0:
            return low
        if slope(high) >= 0.0:
            return high
        from scipy.optimize import brentq  # half of the time that importing this library would take

        return float(brentq(slope, low, high, xtol=1e-14, rtol=1e-14))

    @property
    def depth(self) -> float:
        """The least max(q₁, q₂) over all φ: at most 1 where the ellipsoids meet, above 1 where they do not."""
        return float(self._shrink(np.array([self._log_ratio]))[0])

    @property
    def empty(self) -> bool:
        """Whether the two ellipsoids have no point in common: a certificate, since some E_τ is then empty."""
        return self.depth > 1.0 + 1e-9

    def point(self) -> Array:
        """Return the point that lies deepest in both; it is in the intersection unless that is empty."""
        return np.asarray(self._c1 + self._to @ self._center(np.array([self._log_ratio]))[0])

    def support(self, directions: Array) -> Array:
        """Return max zᵀφ over the intersection for each row z; −inf everywhere if it is empty."""
        if self.empty:
            return np.full(len(directions), -np.inf)
        z = directions @ self._to
        ends = [self._height(z, log_ratio) for log_ratio in (self._search(z), np.full(len(z), -np.inf))]
        second = z @ self._gap + np.sqrt(np.square(z / np.sqrt(self._e)).sum(axis=1))
        return np.asarray(directions @ self._c1 + np.minimum(np.minimum(*ends), second))

    def optimum(self, direction: Array) -> Array:
        """Return the φ of the intersection at which zᵀφ is largest; meaningless if it is empty."""
        z = (direction @ self._to)[None]
        log_ratio = self._search(z)
        ratio = float(np.exp(log_ratio[0]))
        axes = z[0] * (1.0 + ratio) / (1.0 + ratio * self._e)
        spread = float(z[0] @ axes)
        room = max(1.0 - float(self._shrink(log_ratio)[0]), 0.0)
        step = axes * np.sqrt(room / spread) if spread > 0.0 else 0.0
        return np.asarray(self._c1 + self._to @ (self._center(log_ratio)[0] + step))

    def boundary(self, count: int, rng: np.random.Generator) -> Array:
        """Return points (count, q) on the boundary of the intersection, in all directions from its deepest point."""
        start = self._center(np.array([self._log_ratio]))[0]
        steps = rng.standard_normal((count, len(start)))
        # Half of the directions are even in the first ellipsoid's metric, half in the second's.
        steps[count // 2 :] /= np.sqrt(self._e)
        reach = np.minimum(_reach(start, steps, np.ones_like(self._e)), _reach(start - self._gap, steps, self._e))
        return np.asarray(self._c1 + (start + reach[:, None] * steps) @ self._to.T)

    def _search(self, z: Array) -> Array:
        """Return the log ρ at which the support function of E_τ is least, for each row of z."""
        low = np.full(len(z), -LIMIT)
        high = np.full(len(z), LIMIT)
        for _ in range(STEPS):
            middle = 0.5 * (low + high)
            rising = self._slope(z, middle) > 0.0
            high = np.where(rising, middle, high)
            low = np.where(rising, low, middle)
        return np.asarray(0.5 * (low + high))

    # Below, ρ = τ/(1 − τ) and u = 1 + ρe; then the weights of E_τ are (1 − τ) + τe = u/(1 + ρ).

    def _center(self, log_ratio: Array) -> Array:
        """Return the centre of E_τ, from the first ellipsoid's."""
        ratio = np.exp(log_ratio)[:, None]
        return np.asarray(ratio * self._e * self._gap / (1.0 + ratio * self._e))

    def _shrink(self, log_ratio: Array) -> Array:
        """Return k(τ): E_τ is an ellipsoid of squared radius 1 − k in its own metric."""
        ratio = np.exp(log_ratio)[:, None]
        terms = self._e * self._gap**2 / (1.0 + ratio * self._e)
        return np.asarray((ratio[:, 0] / (1.0 + ratio[:, 0])) * terms.sum(axis=1))

    def _height(self, z: Array, log_ratio: Array) -> Array:
        """Return the support function of E_τ along z, from the first ellipsoid's centre."""
        ratio = np.exp(log_ratio)[:, None]
        spread = (z**2 * (1.0 + ratio) / (1.0 + ratio * self._e)).sum(axis=1)
        room = np.maximum(1.0 - self._shrink(log_ratio), 0.0)
        return np.asarray((z * self._center(log_ratio)).sum(axis=1) + np.sqrt(room * spread))

    def _slope(self, z: Array, log_ratio: Array) -> Array:
        """Return the derivative of the support function of E_τ by τ, up to a positive factor."""
        ratio = np.exp(log_ratio)[:, None]
        u = 1.0 + ratio * self._e
        weight = 1.0 + ratio
        move = (z * self._e * self._gap * (weight / u) ** 2).sum(axis=1)
        shrink = (self._e * self._gap**2 * (1.0 - ratio**2 * self._e) / u**2).sum(axis=1)
        spread = (z**2 * weight / u).sum(axis=1)
        narrow = -(z**2 * (self._e - 1.0) * (weight / u) ** 2).sum(axis=1)
        room = np.maximum(1.0 - self._shrink(log_ratio), 0.0)
        root = np.sqrt(room * spread)
        return np.asarray(2.0 * root * move + room * narrow - shrink * spread)


def _reach(offset: Array, steps: Array, weights: Array) -> Array:
    """Return how far along each step the boundary Σ weights·y² = 1 is, from an offset inside."""
    a = (weights * steps**2).sum(axis=1)
    b = (weights * steps * offset).sum(axis=1)
    c = np.minimum((weights * offset**2).sum() - 1.0, 0.0)
    return np.asarray(-c / (b + np.sqrt(np.maximum(b**2 - a * c, np.finfo(float).tiny))))
