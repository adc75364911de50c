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


class Compression:
    """M ⪰ 0 as QᵀMQ, for an orthonormal Q of few columns, and how long the rest of a row can be.

    With y = Qᵀx and z = x − Qy, ‖x‖_M ≤ ‖Qy‖_M + ‖z‖_M. The first is a product with a small matrix, and the second at
    most √λ‖z‖ with λ the largest eigenvalue of M among what is orthogonal to Q. Where the rows lie close to the span of
    Q, that is next to nothing. The bounds stay valid while M loses outer products.

    Parameters
    ----------
    half
        The lower half of M (D, D), in Fortran order.
    basis
        Q (D, k).
    largest
        A bound on the eigenvalues of M.
    """

    def __init__(self, half: Array, basis: Array, largest: float) -> None:
        dim, size = basis.shape
        self.basis = basis
        self._single = basis.astype(np.float32)
        self._inner = np.asarray(basis.T @ blas.dsymm(1.0, half, np.asfortranarray(basis), lower=1))
        self._largest = largest
        self._outside = min(largest, self._largest_outside(half, dim - size))
        self._gamma = rounding(dim)
        # The rows that wait to be taken off M, in terms of Q.
        self._held: Array = np.zeros((0, size))

    def _largest_outside(self, half: Array, left: int) -> float:
        """Return a bound on the largest eigenvalue of N = (I − QQᵀ)M(I − QQᵀ), from its trace and its norm.

        ‖N‖ ≤ c + ‖N − c(I − QQᵀ)‖ for every c. With c the mean eigenvalue the last norm, of Frobenius, is small where
        all are alike. ‖N‖²_F = ‖M‖²_F − 2‖MQ‖²_F + ‖QᵀMQ‖²_F.
        """
        if not left:
            return 0.0
        products = blas.dsymm(1.0, half, np.asfortranarray(self.basis), lower=1)
        below = np.tril(half, -1)
        square = 2.0 * float(np.vdot(below, below)) + float(np.vdot(np.diagonal(half), np.diagonal(half)))
        # What cancels leaves errors of the size of rounding.
        slack = 1e-12 * square
        rest = square - 2.0 * float(np.vdot(products, products)) + float(np.vdot(self._inner, self._inner)) + slack
        mean = (float(np.trace(half)) - float(np.trace(self._inner))) / left
        return min(math.sqrt(max(rest, 0.0)), mean + math.sqrt(max(rest - left * mean**2, 0.0) + slack))

    def lose(self, rows: Array, weight: float) -> None:
        """Take weight times the rows' outer products off M."""
        inside = rows @ self.basis
        self._inner -= weight * (inside.T @ inside)
        self._held = self._held[:0]

    def lengths(self, rows: Single, sizes: Array, waiting: Array) -> Array:
        """Return bounds on ‖x‖_M for rows x, given their squared norms, less the outer products that are waiting.

        The coordinates ŷ that single precision finds are off by δ, ‖δ‖ ≤ √k γ‖x‖, and then
        ‖x‖_M ≤ ‖Qŷ‖_M + √λ‖z‖ + √Λ‖δ‖ with ‖z‖² ≤ ‖x‖² − ‖ŷ‖² + 2‖x‖‖δ‖, Λ the largest eigenvalue of all.
        """
        gamma, size = self._gamma, self.basis.shape[1]
        inside = (rows @ self._single).astype(np.float64)
        squares = row_dots(inside, inside @ self._inner)
        if len(waiting):
            if len(self._held) != len(waiting):
                fresh = waiting[len(self._held) :] @ self.basis
                self._held = np.concatenate([self._held, fresh]) if len(self._held) < len(waiting) else fresh
            squares -= square_norms(inside @ self._held.T)
        # What was taken off in turn has left errors of double precision.
        squares += (1e-11 * self._largest) * sizes
        off = math.sqrt(size) * gamma
        left = np.maximum((1.0 + 1.01 * (gamma + 2.0 * off)) * sizes - square_norms(inside), 0.0)
        found = np.sqrt(np.maximum(squares, 0.0))
        found += math.sqrt(self._outside) * np.sqrt(left)
        found += (math.sqrt(self._largest) * off * (1.0 + gamma)) * np.sqrt(sizes)
        return np.asarray(found)
