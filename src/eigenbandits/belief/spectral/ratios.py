"""The marginal likelihood of each shape of a prior at each signal-to-noise ratio on a grid."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.linalg import lapack

from eigenbandits.belief.spectral.likelihood import Reading
from eigenbandits.inputs import Array
from eigenbandits.theory.marginal import residual_likelihood, tempered

# Signal to noise: the variance of the values of the actions offered, in units of the noise variance. Half a decade is
# finer than rewards can resolve; a log-normal prior of 1.5 decades around 1 keeps a run of equal rewards from freezing
# it.
RATIOS = 10.0 ** np.arange(-4.0, 4.25, 0.5)
_LOG_RATIOS = np.log(RATIOS)
_LOG_PRIOR = -0.5 * (np.log10(RATIOS) / 1.5) ** 2
_LOG_PRIOR -= np.log(np.exp(_LOG_PRIOR).sum())
# A function's values at the ratios, times this matrix, are its slopes in the ratios' logarithms.
_SLOPES = np.gradient(np.eye(len(RATIOS)), _LOG_RATIOS, axis=1)


def likelihoods(
    reading: Reading, kernels: Sequence[tuple[Array, Array]], kurtosis: float, known: dict[str, Any]
) -> tuple[Array, Array]:
    """Return the log marginal likelihood (k,) of each shape over all ratios, and the geometric mean (k,) of the ratios.

    The ratios are weighted by tempered gains, so that a failure that nobody expected does not make a flexible shape
    follow every reward. The likelihoods are not tempered: most of what a good shape gains is signal, which varies no
    more with heavy tails.

    Parameters
    ----------
    reading, kernels
        The rewards, and for each shape the reading's A and v.
    kurtosis
        The excess kurtosis of the errors (`tempered`).
    known
        Keyword arguments of `residual_likelihood` about the noise.
    """
    log_dets, whites = pivots([tridiagonal(kernel, vector) for kernel, vector in kernels])
    nothing = float(residual_likelihood(np.asarray(reading.squares), reading.count, **known))
    gains = residual_likelihood(reading.residual(whites, RATIOS), reading.count, **known) - 0.5 * log_dets - nothing
    totals = nothing + np.logaddexp.reduce(gains + _LOG_PRIOR, axis=1)
    # d log det(I + ρA) / d log ρ = tr ρA(I + ρA)⁻¹.
    logs = tempered(gains, log_dets @ _SLOPES, reading.count, kurtosis) + _LOG_PRIOR
    weights = np.exp(logs - logs.max(axis=1, keepdims=True))
    return totals, np.exp((weights @ _LOG_RATIOS) / weights.sum(axis=1))


def tridiagonal(kernel: Array, vector: Array) -> tuple[Array, Array]:
    """Return the diagonal (n + 1,) and the off-diagonal (n,) of [[0, vᵀ], [v, A]] after reduction to tridiagonal form.

    Reflections that leave the first coordinate alone turn v into ±‖v‖ times a unit vector, and A into T = QᵀAQ in a
    basis that starts with it: one decomposition serves all ratios.

    Examples
    --------
    >>> diagonal, off_diagonal = tridiagonal(np.diag([1.0, 2.0]), np.array([0.0, 3.0]))
    >>> diagonal.round(12).tolist(), np.abs(off_diagonal).round(12).tolist()
    ([0.0, 2.0, 1.0], [3.0, 0.0])
    """
    size = len(vector) + 1
    # Only the lower half is read. The kernel is symmetric; transposed, it has the same memory order.
    bordered = np.empty((size, size), order="F")
    bordered[0, 0], bordered[1:, 0] = 0.0, vector
    bordered[1:, 1:] = kernel.T
    # A block of 8 columns at a time: at 100 dimensions a fifth faster than the 32 that LAPACK would take.
    _, diagonal, off_diagonal, _, _ = lapack.dsytrd(bordered, lower=1, lwork=8 * size, overwrite_a=1)
    return diagonal, off_diagonal


def pivots(tridiagonals: Sequence[tuple[Array, Array]]) -> tuple[Array, Array]:
    """Return log det(I + ρA) and vᵀ(I + ρA)⁻¹v, both (k, ratios), for several A and v in tridiagonal form.

    By cyclic reduction, for all of them at once: eliminating every second coordinate, with pivots D and the
    off-diagonal entries e and e′ on its two sides, leaves a tridiagonal matrix of half the size, with e²/D and
    e′²/D subtracted from the diagonal and off-diagonal entries ee′/D. The determinant is the product of all pivots,
    and the inverse's first entry is one over the last pivot. Since A is positive semidefinite, only rounding can
    make a pivot less than 1.
    """
    # Arrays are (n, k, ratios).
    diagonals, off_diagonals = (np.array(each).T[:, :, None] for each in zip(*tridiagonals, strict=True))
    eliminated = np.multiply(diagonals[1:], RATIOS, order="C")
    eliminated += 1.0
    squares = np.square(off_diagonals)
    border, squares = squares[0], np.multiply(squares[1:], RATIOS**2, order="C")
    # In place, so that in the end all pivots are in one array.
    left = eliminated
    while len(left) > 1:
        before = squares[::2] / left[1::2]
        after = squares[1::2] / left[1::2][: len(squares) // 2]
        left = left[::2]
        left[: len(before)] -= before
        left[1:] -= after
        np.maximum(left, 1.0, out=left)
        squares = before[: len(after)] * after
    return np.log(eliminated).sum(axis=0), border / left[0]
