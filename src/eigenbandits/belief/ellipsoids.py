"""Two ellipsoids: whether they intersect, and the exact optimum of a linear function over the intersection."""

from dataclasses import dataclass

import numpy as np

from eigenbandits.inputs import Array

# log ρ = log(τ/(1 − τ)) is searched between ±LIMIT, that is, τ from 1e-40 to 1 − 1e-40, until the optimum over E_τ lies
# in both sets up to TOLERANCE. The minimum over τ is flat, so the value is then accurate to the last digit.
LIMIT = 92.0
TOLERANCE = 1e-10
HALVINGS = 6
STEPS = 60

# An axis shorter than this part of the longest is treated as that long: a set without an interior has no metric.
THINNEST = 1e-12


@dataclass(frozen=True, eq=False)
class Ellipsoid:
    """All φ = center + V diag(lengths) u with ‖u‖ ≤ 1, V orthonormal: represented by its axes, not by its matrix.

    The matrix V diag(1/lengths²) Vᵀ of a needle loses the needle's length to rounding; the axes do not.
    """

    center: Array
    vectors: Array
    lengths: Array


class Intersection:
    """E₁ ∩ E₂ through the family E_τ, τ in [0, 1], of ellipsoids that contain it (docs/mathematics.md).

    E_τ is the set of all φ with (1 − τ)q₁(φ) + τq₂(φ) ≤ 1, where q_i ≤ 1 describes E_i. Each contains the intersection,
    so the support function of each bounds the optimum, and by strong duality the smallest of them *is* the optimum. It
    is quasiconvex in τ: there is one number per direction to search for, and even a search that is stopped early ends
    in a valid bound. In coordinates that diagonalize both shapes, everything is a sum over q terms.
    """

    def __init__(self, first: Ellipsoid, second: Ellipsoid) -> None:
        thinnest = THINNEST * max(float(first.lengths.max()), float(second.lengths.max()), np.finfo(float).tiny)
        first_lengths = np.maximum(first.lengths, thinnest)
        second_lengths = np.maximum(second.lengths, thinnest)
        # The second set's axes in coordinates in which the first is the unit ball.
        mixed = (first.vectors.T @ second.vectors) * (second_lengths / first_lengths[:, None])
        left, singular, _ = np.linalg.svd(mixed)
        # In the common coordinates y, φ = first center + axes · y: q₁ = ‖y‖², q₂ = Σ curvatures · (y − gap)².
        self._curvatures = np.maximum(singular, np.finfo(float).eps * singular[0]) ** -2.0
        self._axes = (first.vectors * first_lengths) @ left
        self._first_center = first.center
        self._gap = left.T @ ((first.vectors.T @ (second.center - first.center)) / first_lengths)
        self._log_ratio = self._deepest()

    def _deepest(self) -> float:
        """Return the log ρ at which k(τ), the minimum of (1 − τ)q₁ + τq₂, is largest; k is concave in τ."""
        # Each term of the slope of k changes sign at ρ = e^{-1/2}.
        ends = -0.5 * np.log(self._curvatures)
        low, high = float(ends.min()), float(ends.max())
        # Sixty-four points at a time: seven passes locate the maximum to 1e-11 of the range.
        for _ in range(7):
            places = np.linspace(low, high, 64)
            ratio = np.exp(places)[:, None]
            slopes = ((1.0 - ratio**2 * self._curvatures) / (1.0 + ratio * self._curvatures) ** 2) @ (
                self._curvatures * self._gap**2
            )
            rising = int(np.count_nonzero(slopes[1:-1] > 0.0))
            low, high = float(places[rising]), float(places[rising + 1])
        return 0.5 * (low + high)

    @property
    def depth(self) -> float:
        """The minimum of max(q₁, q₂) over all φ: at most 1 if the ellipsoids meet, above 1 if they do not."""
        return float(self._shrink(np.array([self._log_ratio]))[0])

    @property
    def empty(self) -> bool:
        """Whether the two ellipsoids have no point in common: a certificate, since some E_τ is then empty."""
        return self.depth > 1.0 + 1e-9

    def point(self) -> Array:
        """Return the point that lies deepest in both; it is in the intersection unless that is empty."""
        return np.asarray(self._first_center + self._axes @ self._center(np.array([self._log_ratio]))[0])

    def support(self, directions: Array) -> Array:
        """Return max zᵀφ over the intersection for each row z; −inf for all rows if it is empty."""
        if self.empty:
            return np.full(len(directions), -np.inf)
        z = directions @ self._axes
        return np.asarray(directions @ self._first_center + np.einsum("ij,ij->i", z, self._optima(z)))

    def optimum(self, direction: Array) -> Array:
        """Return the φ in the intersection that maximizes zᵀφ; meaningless if the intersection is empty."""
        return np.asarray(self._first_center + self._axes @ self._optima((direction @ self._axes)[None])[0])

    def boundary(self, count: int, rng: np.random.Generator) -> Array:
        """Return points (count, q) on the boundary of the intersection, in all directions from its deepest point."""
        start = self._center(np.array([self._log_ratio]))[0]
        steps = rng.standard_normal((count, len(start)))
        # Half of the directions are uniform in the first ellipsoid's metric, half in the second's.
        steps[count // 2 :] /= np.sqrt(self._curvatures)
        reach = np.minimum(
            _reach(start, steps, np.ones_like(self._curvatures)), _reach(start - self._gap, steps, self._curvatures)
        )
        return np.asarray(self._first_center + (start + reach[:, None] * steps) @ self._axes.T)

    def _optima(self, z: Array) -> Array:
        """Return the optimum for each row of z, relative to the first center and in the common coordinates."""
        tiny = np.finfo(float).tiny
        norms = np.sqrt(np.einsum("ij,ij->i", z, z))
        best = np.asarray(z / np.maximum(norms, tiny)[:, None])
        # If one ellipsoid's own optimum lies in the other ellipsoid, it is the answer.
        outside_second = (self._second(best - self._gap) > 1.0) & (norms > 0.0)
        scaled = z / self._curvatures
        other = self._gap + scaled / np.sqrt(np.maximum(np.einsum("ij,ij->i", z, scaled), tiny))[:, None]
        inside_first = np.einsum("ij,ij->i", other, other) <= 1.0
        best[outside_second] = other[outside_second]
        rows = np.flatnonzero(outside_second & ~inside_first)
        if len(rows):
            best[rows] = self._at(z[rows], self._search(z[rows]))[0]
        return best

    def _search(self, z: Array) -> Array:
        """Return the log ρ that minimizes the support function of E_τ, for each row of z.

        The derivative with respect to τ has the sign of q₁ − q₂ at the optimum over E_τ. A few bisections find where
        log(q₁/q₂) leaves its flat ends; from there on it is smooth, and the Illinois variant of regula falsi takes few
        steps.
        """
        low, high = np.full(len(z), -LIMIT), np.full(len(z), LIMIT)
        at_low, at_high = np.full(len(z), -1.0), np.full(len(z), 1.0)
        middle = np.full(len(z), self._log_ratio)
        rose = np.zeros(len(z), dtype=bool)
        for step in range(STEPS):
            inside, offset = self._at(z, middle)
            value = np.log(np.einsum("ij,ij->i", inside, inside) / self._second(offset))
            if np.abs(value).max() < TOLERANCE:
                break
            rising = value > 0.0
            # Illinois: the value at an end that is kept twice in a row is halved, so that both ends move.
            again = np.where(rising == rose, 0.5, 1.0)
            at_low, at_high = np.where(rising, again * at_low, value), np.where(rising, value, again * at_high)
            low, high = np.where(rising, low, middle), np.where(rising, middle, high)
            share = at_low / (at_low - at_high) if step >= HALVINGS else 0.5
            middle = low + share * (high - low)
            rose = rising
        return middle

    # Below, ρ = τ/(1 − τ) is the ratio and e are the curvatures; those of E_τ are (1 − τ) + τe = (1 + ρe)/(1 + ρ).

    def _center(self, log_ratio: Array) -> Array:
        """Return the center of E_τ, relative to the first ellipsoid's."""
        ratio = np.exp(log_ratio)[:, None]
        return np.asarray(ratio * self._curvatures * self._gap / (1.0 + ratio * self._curvatures))

    def _shrink(self, log_ratio: Array) -> Array:
        """Return k(τ): E_τ is an ellipsoid of squared radius 1 − k in its own metric."""
        ratio = np.exp(log_ratio)[:, None]
        terms = self._curvatures * self._gap**2 / (1.0 + ratio * self._curvatures)
        return np.asarray((ratio[:, 0] / (1.0 + ratio[:, 0])) * terms.sum(axis=1))

    def _second(self, offset: Array) -> Array:
        """Return q₂ for points relative to the second center."""
        return np.asarray(np.square(offset) @ self._curvatures)

    def _at(self, z: Array, log_ratio: Array) -> tuple[Array, Array]:
        """Return the optimum over E_τ along each row of z, relative to the first center and to the second."""
        ratio = np.exp(log_ratio)[:, None]
        weights = 1.0 + ratio * self._curvatures
        conjugate = z * ((1.0 + ratio) / weights)
        squares = np.maximum(np.einsum("ij,ij->i", z, conjugate), np.finfo(float).tiny)
        radii = np.maximum(1.0 - self._shrink(log_ratio), 0.0)
        step = conjugate * np.sqrt(radii / squares)[:, None]
        # The center of E_τ lies between the two centers.
        from_second = self._gap / weights
        return np.asarray(step + ratio * self._curvatures * from_second), np.asarray(step - from_second)


def _reach(offset: Array, steps: Array, weights: Array) -> Array:
    """Return how far along each step the boundary Σ weights·y² = 1 is, from an offset inside."""
    # The positive root t of Σ weights·(offset + t·step)² = 1, in the form that loses nothing to cancellation.
    squares = (weights * steps**2).sum(axis=1)
    products = (weights * steps * offset).sum(axis=1)
    excess = np.minimum((weights * offset**2).sum() - 1.0, 0.0)
    roots = np.sqrt(np.maximum(products**2 - squares * excess, np.finfo(float).tiny))
    return np.asarray(-excess / (products + roots))
