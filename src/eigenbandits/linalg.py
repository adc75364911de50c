"""Symmetric matrices kept as one half, in place, through BLAS."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas, lapack

Array = NDArray[np.float64]

# SciPy's wrappers take these matrices without a copy only in Fortran order; the lower half is the one that counts.


def zeros(dim: int) -> Array:
    """Return a zero matrix in the layout that the functions here work on in place."""
    return np.zeros((dim, dim), order="F")


def scaled_identity(dim: int, scale: float) -> Array:
    """Return scale · I in the same layout."""
    matrix = zeros(dim)
    np.fill_diagonal(matrix, scale)
    return matrix


def add_outer(matrix: Array, vector: Array, weight: float = 1.0) -> None:
    """Add weight · v vᵀ to the lower half, in place."""
    _inplace(blas.dsyr(weight, vector, lower=1, a=matrix, overwrite_a=1), matrix)


def add_rows(matrix: Array, rows: Array) -> None:
    """Add the sum of x xᵀ over the rows x to the lower half, in place, as one rank-k update."""
    if rows.shape[0] == 1:
        add_outer(matrix, rows[0])
        return
    # rows.T of a C-ordered block is Fortran-ordered: BLAS reads it as it lies.
    _inplace(blas.dsyrk(1.0, rows.T, beta=1.0, c=matrix, lower=1, overwrite_c=1), matrix)


def times_vector(matrix: Array, vector: Array) -> Array:
    """Return A v for a symmetric A given by its lower half."""
    result: Array = blas.dsymv(1.0, matrix, vector, lower=1)
    return result


def times_columns(matrix: Array, columns: Array) -> Array:
    """Return A C for a symmetric A given by its lower half."""
    result: Array = blas.dsymm(1.0, matrix, np.asfortranarray(columns), lower=1)
    return result


def full(matrix: Array) -> Array:
    """Return both halves as an ordinary array."""
    lower = np.tril(matrix)
    return lower + np.tril(lower, -1).T


def inverse(matrix: Array) -> tuple[Array, float] | None:
    """Return (lower half of A⁻¹, log det A) from the lower half of a positive definite A, or None if it is not."""
    factor, info = lapack.dpotrf(matrix, lower=1, clean=1)
    if info != 0:
        return None
    log_det = 2.0 * float(np.log(np.diagonal(factor)).sum())
    result, info = lapack.dpotri(factor, lower=1, overwrite_c=1)
    if info != 0 or not np.isfinite(result[-1, -1]):
        return None
    return result, log_det


def robust_inverse(matrix: Array, floor: float) -> tuple[Array, float]:
    """Return (lower half of A⁻¹, log det A), lifting eigenvalues that rounding has pushed under `floor`."""
    found = inverse(matrix)
    if found is not None:
        return found
    values, vectors = np.linalg.eigh(full(matrix))
    values = np.maximum(values, floor)
    return np.asfortranarray((vectors / values) @ vectors.T), float(np.log(values).sum())


def _inplace(result: Any, target: Array) -> None:
    if result is not target and not np.shares_memory(result, target):
        raise RuntimeError("BLAS worked on a copy: the matrix must be float64 and in Fortran order.")
