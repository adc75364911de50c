"""A symmetric matrix compressed to a few directions: bounds on the norms of many rows at a fraction of their cost."""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas

from eigenbandits.inputs import Array
from eigenbandits.linalg.primitives import row_dots, square_norms

Single = NDArray[np.float32]

# The unit roundoff of single and of double precision.
_UNIT, _UNIT_DOUBLE = 2.0**-24, 2.0**-53
# Columns of a matrix scaled at a time: of a few thousand rows, they fit the cache.
_COLUMNS = 64
# Multiplications in one product, and the fewest rows of one. SciPy keeps all other threads waiting during a product,
# for about a millisecond this way, and the rows stay in the cache. Fewer rows would take longer each: every product
# reads the whole matrix.
_PRODUCT, _FEWEST = 2**26, 64


def rounding(terms: int, single: bool = True) -> float:
    """Return γ: a sum of this many rounded products, in any order, is off by at most γ times the sum of their sizes.

    γ_n = nu/(1 − nu), Higham (2002), Accuracy and Stability of Numerical Algorithms, section 3.1. A few extra terms
    cover the rounding of the factors themselves and of what is done with the sum.

    Examples
    --------
    >>> bool(1e-5 < rounding(384) < 3e-5), bool(rounding(384, single=False) < 1e-13)
    (True, True)
    """
    share = (terms + 8) * (_UNIT if single else _UNIT_DOUBLE)
    return share / (1.0 - share) if share < 0.5 else math.inf


class Scaled:
    """M ⪰ 0 as S N S, with S diagonal and ones on the diagonal of N, so that coordinates of any size count equally.

    The error of xᵀMx in single precision is then proportional to Σ M_ii x_i², not to ‖M‖‖x‖²: directions that have
    never been played, whose variance is large, cost no digits of actions that have no component in them.

    Parameters
    ----------
    half
        The lower half of M (D, D), in Fortran order.
    dtype
        The precision in which N is kept.
    """

    def __init__(self, half: Array, dtype: type[np.floating] = np.float64) -> None:
        diagonal = np.diagonal(half)
        self.size = math.sqrt(float(diagonal.max())) or 1.0
        self.scales = np.sqrt(np.maximum(diagonal, 1e-24 * self.size**2)) / self.size
        inverse = 1.0 / (self.size * self.scales)
        self.half: NDArray[np.floating] = np.zeros(half.shape, dtype, order="F")
        square = 0.0
        # Some columns at a time, since they stay in the cache and half of the matrix is never touched.
        for first in range(0, len(half), _COLUMNS):
            last = min(first + _COLUMNS, len(half))
            part = half[first:, first:last] * inverse[first:, None]
            part *= inverse[first:last]
            part[: last - first] = np.tril(part[: last - first])
            square += float(np.vdot(part.T, part.T))
            self.half[first:, first:last] = part
        # The norm of N, for |x|ᵀ|N||x| ≤ ‖N‖_F‖x‖²; half of the rounding errors are counted twice.
        self.norm = math.sqrt(2.0 * square - float(np.sum((diagonal * inverse**2) ** 2)))
        self._single = self.scales.astype(np.float32)

    def each(self, rows: Single, action: Callable[[slice, Single], None]) -> Array:
        """Pass Sx for rows x, up to the scale of S, to a function, some rows at a time; return the squared norms."""
        sizes, step = np.empty(len(rows)), max(_FEWEST, _PRODUCT // rows.shape[1] ** 2)
        for start in range(0, len(rows), step):
            part = slice(start, start + step)
            scaled = rows[part] * self._single
            sizes[part] = square_norms(scaled)
            action(part, scaled)
        # Values too small for single precision have a square of 0 there: as good as 1e-6 of the largest one.
        sizes += 1e-12 * float(sizes.max())
        return sizes


class Compression:
    """M ⪰ 0 as QᵀNQ for an orthonormal Q with few columns, and a bound on the length of the rest of a row.

    With x the rows of `Scaled`, y = Qᵀx and z = x − Qy, ‖x‖_N ≤ ‖Qy‖_N + ‖z‖_N. The first term is a product with a
    small matrix; the second is at most √λ‖z‖, with λ the largest eigenvalue of N restricted to the complement of Q. If
    the rows lie close to the span of Q, it is almost nothing. The bounds remain valid while outer products are
    subtracted from M.

    Parameters
    ----------
    half
        The lower half of M (D, D), in Fortran order.
    basis
        Directions (D, k) whose span the rows lie close to.
    """

    def __init__(self, half: Array, basis: Array) -> None:
        self._scaled = scaled = Scaled(half)
        self.basis: Array = np.linalg.qr(scaled.scales[:, None] * basis)[0]
        dim, size = self.basis.shape
        self._single = self.basis.astype(np.float32)
        products = blas.dsymm(1.0, scaled.half, np.asfortranarray(self.basis), lower=1)
        self._inner = np.asarray(self.basis.T @ products)
        self._outside = self._largest_outside(products, dim - size)
        self._gamma = rounding(dim)
        # The waiting rows still to be subtracted from M, in terms of Q.
        self._waiting: Array = np.zeros((0, size))

    def _largest_outside(self, products: Array, left: int) -> float:
        """Return a bound on the largest eigenvalue of A = (I − QQᵀ)N(I − QQᵀ), from its trace and its norm.

        ‖A‖ ≤ c + ‖A − c(I − QQᵀ)‖ for every c. With c the mean eigenvalue, the last norm (Frobenius) is small if all
        eigenvalues are similar. ‖A‖²_F = ‖N‖²_F − 2‖NQ‖²_F + ‖QᵀNQ‖²_F, and the trace of N is D.
        """
        if not left:
            return 0.0
        square = self._scaled.norm**2
        # Cancellation leaves errors on the scale of rounding.
        slack = 1e-12 * square
        rest = square - 2.0 * float(np.vdot(products, products)) + float(np.vdot(self._inner, self._inner)) + slack
        mean = (len(products) - float(np.trace(self._inner))) / left
        return min(math.sqrt(max(rest, 0.0)), mean + math.sqrt(max(rest - left * mean**2, 0.0) + slack))

    def _inside(self, rows: Array) -> Array:
        return np.asarray((rows / (self._scaled.size * self._scaled.scales)) @ self.basis)

    def lose(self, rows: Array, weight: float) -> None:
        """Subtract weight times the rows' outer products from M."""
        inside = self._inside(rows)
        self._inner -= weight * (inside.T @ inside)
        self._waiting = self._waiting[:0]

    def lengths(self, rows: Single, waiting: Array) -> Array:
        """Return bounds on ‖x‖_M for rows x, less the waiting outer products.

        The coordinates ŷ computed in single precision are off by δ, ‖δ‖ ≤ √k γ‖x‖, and then ‖x‖_N ≤ ‖Qŷ‖_N + √λ‖z‖ +
        √Λ‖δ‖ with ‖z‖² ≤ ‖x‖² − ‖ŷ‖² + 2‖x‖‖δ‖, and Λ ≤ ‖N‖_F the largest eigenvalue of N.
        """
        gamma, size, norm = self._gamma, self.basis.shape[1], self._scaled.norm
        inside = np.empty((len(rows), size))

        def project(part: slice, scaled: Single) -> None:
            inside[part] = scaled @ self._single

        sizes = self._scaled.each(rows, project)
        squares = row_dots(inside, inside @ self._inner)
        if len(waiting):
            if len(self._waiting) != len(waiting):
                kept = self._waiting if len(self._waiting) < len(waiting) else self._waiting[:0]
                self._waiting = np.concatenate([kept, self._inside(waiting[len(kept) :])])
            squares -= square_norms(inside @ self._waiting.T)
        # The repeated subtractions have left errors of double precision.
        squares += (1e-11 * norm) * sizes
        off = math.sqrt(size) * gamma
        left = np.maximum((1.0 + 1.01 * (gamma + 2.0 * off)) * sizes - square_norms(inside), 0.0)
        lengths = np.sqrt(np.maximum(squares, 0.0))
        lengths += math.sqrt(self._outside) * np.sqrt(left)
        lengths += (math.sqrt(norm) * off * (1.0 + gamma)) * np.sqrt(sizes)
        return np.asarray(self._scaled.size * lengths)


class SingleSquares:
    """Bounds on xᵀMx for many rows x from one product in single precision, including its error.

    Parameters
    ----------
    half
        The lower half of M (D, D), in Fortran order.
    room
        How many rows may wait.
    """

    def __init__(self, half: Array, room: int) -> None:
        self._scaled = scaled = Scaled(half, np.float32)
        # With half of the diagonal, the lower half L satisfies N = L + Lᵀ, and xᵀNx = 2 xᵀLx: half the arithmetic.
        self._lower = scaled.half
        self._lower.flat[:: len(half) + 1] *= 0.5
        # Each product is rounded twice.
        self._gamma = 2.0 * rounding(len(half))
        # The waiting rows, scaled like those whose bounds are asked for, and the sum of their squared norms.
        self._waiting = np.empty((room, len(half)), dtype=np.float32)
        self._fill = 0
        self._energy = 0.0

    def bounds(self, rows: Single, sizes: Array, waiting: Array) -> Array:
        """Return bounds for rows with these squared norms, less the waiting outer products."""
        squares, terms = np.empty(len(rows)), self._scaled.norm
        if len(waiting):
            if self._fill != len(waiting):
                self._scale_waiting(waiting)
            terms += self._energy

        def square(part: slice, scaled: Single) -> None:
            product = blas.strmm(2.0, self._lower, scaled.T, lower=1, trans_a=1).T
            squares[part] = row_dots(scaled, product)
            if len(waiting):
                squares[part] -= square_norms(scaled @ self._waiting[: self._fill].T)

        sizes = self._scaled.each(rows, square)
        return np.asarray(self._scaled.size**2 * (np.maximum(squares, 0.0) + (self._gamma * terms) * sizes))

    def _scale_waiting(self, waiting: Array) -> None:
        """Scale the rows that are new among the waiting ones."""
        if self._fill > len(waiting):
            self._fill, self._energy = 0, 0.0
        scaled = waiting[self._fill :] / (self._scaled.size * self._scaled.scales)
        self._waiting[self._fill : len(waiting)] = scaled
        self._fill = len(waiting)
        self._energy += float(np.vdot(scaled, scaled))


class ThinSquares:
    """The same for scale·I + Σ p pᵀ; its bounds exceed the exact values by a few roundings of the trace times ‖x‖².

    Parameters
    ----------
    scale, plus
        The scale and the rows p.
    room
        How many rows may wait. They only become more.
    """

    def __init__(self, scale: float, plus: Array, room: int) -> None:
        self._scale = scale
        self._plus = plus.astype(np.float32)
        self._gamma = 2.0 * rounding(plus.shape[1])
        self._waiting = np.empty((room, plus.shape[1]), dtype=np.float32)
        self._fill = 0
        # The sum of the squared norms of all rows.
        self._terms = scale + float(np.vdot(plus, plus))

    def bounds(self, rows: Single, sizes: Array, waiting: Array) -> Array:
        """Return bounds for rows with these squared norms, less the waiting outer products."""
        fresh, count = waiting[self._fill :], len(waiting)
        self._waiting[self._fill : count] = fresh
        self._terms += float(np.vdot(fresh, fresh))
        self._fill = count
        squares = self._scale * sizes + square_norms(rows @ self._plus.T)
        squares -= square_norms(rows @ self._waiting[:count].T)
        return np.asarray(np.maximum(squares, 0.0) + (self._gamma * self._terms) * sizes)
