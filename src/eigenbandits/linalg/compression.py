"""A symmetric matrix seen in few directions: bounds on the lengths of many rows at a fraction of their cost."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas

from eigenbandits.linalg.primitives import row_dots, square_norms

Array = NDArray[np.float64]
Single = NDArray[np.float32]

# Half the distance from 1 to the next number, in single and in double precision.
_UNIT, _UNIT_DOUBLE = 2.0**-24, 2.0**-53


def rounding(terms: int, single: bool = True) -> float:
    """Return γ: a sum of so many rounded products, in any order, is off by at most γ times that of their sizes.

    γ_n = nu/(1 − nu), Higham (2002), Accuracy and Stability of Numerical Algorithms, section 3.1. A few more terms
    stand for rounding the factors themselves, and what is done with the sum.

    Examples
    --------
    >>> bool(1e-5 < rounding(384) < 3e-5), bool(rounding(384, single=False) < 1e-13)
    (True, True)
    """
    share = (terms + 8) * (_UNIT if single else _UNIT_DOUBLE)
    return share / (1.0 - share) if share < 0.5 else math.inf


class Scaled:
    """M ⪰ 0 as S N S with S diagonal and ones on the diagonal of N, in which coordinates of any size count alike.

    What single precision loses of xᵀMx is then in proportion to Σ M_ii x_i², not to ‖M‖‖x‖²: directions that have never
    been played, whose variance is large, cost no digits of actions that have no part in them.

    Parameters
    ----------
    half
        The lower half of M (D, D), in Fortran order.
    """

    def __init__(self, half: Array) -> None:
        diagonal = np.diagonal(half)
        self.size = math.sqrt(float(diagonal.max())) or 1.0
        self.scales = np.sqrt(np.maximum(diagonal, 1e-24 * self.size**2)) / self.size
        self.half = np.tril(half)
        self.half /= self.scales
        self.half /= (self.size**2 * self.scales)[:, None]
        square = 2.0 * float(np.vdot(self.half, self.half)) - float(np.vdot(*[np.diagonal(self.half)] * 2))
        # The norm of N, which |x|ᵀ|N||x| ≤ ‖N‖_F‖x‖² goes by; half of what was rounded is in it twice.
        self.norm = math.sqrt(square)
        self._single = self.scales.astype(np.float32)

    def rows(self, rows: Single) -> tuple[Single, Array]:
        """Return Sx for rows x, up to the size of S, and the squared norms."""
        scaled = rows * self._single
        sizes = square_norms(scaled)
        # What is too small for single precision has a square of 0 there: as good as 1e-6 of the largest one.
        sizes += 1e-12 * float(sizes.max())
        return scaled, sizes


class Compression:
    """M ⪰ 0 as QᵀNQ, for an orthonormal Q of few columns, and how long the rest of a row can be.

    With x the rows of `Scaled`, y = Qᵀx and z = x − Qy, ‖x‖_N ≤ ‖Qy‖_N + ‖z‖_N. The first is a product with a small
    matrix, and the second at most √λ‖z‖ with λ the largest eigenvalue of N among what is orthogonal to Q. Where the
    rows lie close to the span of Q, that is next to nothing. The bounds stay valid while M loses outer products.

    Parameters
    ----------
    half
        The lower half of M (D, D), in Fortran order.
    basis
        Directions (D, k) that the rows lie close to the span of.
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
        # The rows that wait to be taken off M, in terms of Q.
        self._held: Array = np.zeros((0, size))

    def _largest_outside(self, products: Array, left: int) -> float:
        """Return a bound on the largest eigenvalue of A = (I − QQᵀ)N(I − QQᵀ), from its trace and its norm.

        ‖A‖ ≤ c + ‖A − c(I − QQᵀ)‖ for every c. With c the mean eigenvalue the last norm, of Frobenius, is small where
        all are alike. ‖A‖²_F = ‖N‖²_F − 2‖NQ‖²_F + ‖QᵀNQ‖²_F, and the trace of N is D.
        """
        if not left:
            return 0.0
        square = self._scaled.norm**2
        # What cancels leaves errors of the size of rounding.
        slack = 1e-12 * square
        rest = square - 2.0 * float(np.vdot(products, products)) + float(np.vdot(self._inner, self._inner)) + slack
        mean = (len(products) - float(np.trace(self._inner))) / left
        return min(math.sqrt(max(rest, 0.0)), mean + math.sqrt(max(rest - left * mean**2, 0.0) + slack))

    def _inside(self, rows: Array) -> Array:
        return np.asarray((rows / (self._scaled.size * self._scaled.scales)) @ self.basis)

    def lose(self, rows: Array, weight: float) -> None:
        """Take weight times the rows' outer products off M."""
        inside = self._inside(rows)
        self._inner -= weight * (inside.T @ inside)
        self._held = self._held[:0]

    def lengths(self, rows: Single, waiting: Array) -> Array:
        """Return bounds on ‖x‖_M for rows x, less the outer products that are waiting.

        The coordinates ŷ that single precision finds are off by δ, ‖δ‖ ≤ √k γ‖x‖, and then
        ‖x‖_N ≤ ‖Qŷ‖_N + √λ‖z‖ + √Λ‖δ‖ with ‖z‖² ≤ ‖x‖² − ‖ŷ‖² + 2‖x‖‖δ‖, Λ ≤ ‖N‖_F the largest eigenvalue of all.
        """
        scaled, sizes = self._scaled.rows(rows)
        gamma, size, norm = self._gamma, self.basis.shape[1], self._scaled.norm
        inside = (scaled @ self._single).astype(np.float64)
        squares = row_dots(inside, inside @ self._inner)
        if len(waiting):
            if len(self._held) != len(waiting):
                held = self._held if len(self._held) < len(waiting) else self._held[:0]
                self._held = np.concatenate([held, self._inside(waiting[len(held) :])])
            squares -= square_norms(inside @ self._held.T)
        # What was taken off in turn has left errors of double precision.
        squares += (1e-11 * norm) * sizes
        off = math.sqrt(size) * gamma
        left = np.maximum((1.0 + 1.01 * (gamma + 2.0 * off)) * sizes - square_norms(inside), 0.0)
        found = np.sqrt(np.maximum(squares, 0.0))
        found += math.sqrt(self._outside) * np.sqrt(left)
        found += (math.sqrt(norm) * off * (1.0 + gamma)) * np.sqrt(sizes)
        return np.asarray(self._scaled.size * found)


class SingleSquares:
    """Bounds on xᵀMx for many rows x from one product in single precision, with what that is off.

    Parameters
    ----------
    half
        The lower half of M (D, D), in Fortran order.
    """

    def __init__(self, half: Array) -> None:
        self._scaled = scaled = Scaled(half)
        # With half of the diagonal the lower half L makes N = L + Lᵀ, and xᵀNx = 2 xᵀLx: half the arithmetic.
        self._lower = np.asarray(scaled.half, dtype=np.float32, order="F")
        self._lower.flat[:: len(half) + 1] *= 0.5
        # Each product is rounded twice.
        self._gamma = 2.0 * rounding(len(half))

    def bounds(self, rows: Single, waiting: Array) -> Array:
        """Return bounds for rows, less the outer products that are waiting."""
        scaled, sizes = self._scaled.rows(rows)
        product = blas.strmm(2.0, self._lower, scaled.T, lower=1, trans_a=1).T
        found, terms = row_dots(scaled, product), self._scaled.norm
        if len(waiting):
            held = waiting / (self._scaled.size * self._scaled.scales)
            found -= square_norms(scaled @ held.astype(np.float32).T)
            terms += float(np.vdot(held, held))
        return np.asarray(self._scaled.size**2 * (np.maximum(found, 0.0) + (self._gamma * terms) * sizes))
