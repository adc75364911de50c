"""The top of a symmetric matrix's spectrum: all of it where the matrix is small, tracked from a guess where not."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from eigenbandits.inputs import Array

# Up to this many dimensions a dense eigendecomposition costs no more than the tracking.
DENSE = 128
# Steps of the block power method at one refresh; what is then left of the residual is added to the error bound.
STEPS = 8
TOLERANCE = 1e-3


@dataclass(frozen=True, eq=False)
class Top:
    """Leading eigenvectors (d, q), all d eigenvalues (those after the q-th by their mean), and the residual's angle."""

    vectors: Array
    spectrum: Array
    rank: int
    residual: float = 0.0


def dense(matrix: Array, choose_rank: Callable[[Array], int]) -> Top:
    """Decompose a matrix given by its lower half."""
    values, vectors = np.linalg.eigh(matrix, UPLO="L")
    spectrum = np.maximum(values[::-1], 0.0)
    return Top(vectors[:, ::-1], spectrum, choose_rank(spectrum))


def tracked(
    apply: Callable[[Array], Array],
    trace: float,
    support: int,
    guess: Array,
    choose_rank: Callable[[Array], int],
    steps: int = STEPS,
) -> Top:
    """Follow the leading eigenvectors from a guess by the block power method with Rayleigh–Ritz steps.

    Parameters
    ----------
    apply
        The matrix times a (d, q) block.
    trace
        The matrix's trace: what the block does not hold of it is spread evenly over the other eigenvalues.
    support
        How many eigenvalues can differ from zero: the smaller of d and the number of vectors behind the matrix.
    guess
        (d, q) block to start from, such as the last one found.
    choose_rank
        Gives m for a spectrum.
    steps
        At most this many steps.

    Returns
    -------
    Top
        Its `residual` bounds the sine of the angle by which the span of the first m may still be off: the residual's
        norm over the gap (Davis and Kahan 1970).
    """
    dim, size = guess.shape
    basis, _ = np.linalg.qr(guess)
    for step in range(steps):
        product = apply(basis)
        values, rotation = np.linalg.eigh(basis.T @ product)
        values, rotation = values[::-1], rotation[:, ::-1]
        vectors, image = basis @ rotation, product @ rotation
        spectrum = complete(values, trace, support, dim)
        rank = min(choose_rank(spectrum), size - 1)
        gap = float(values[rank - 1] - values[rank])
        remainder = float(np.linalg.norm(image[:, :rank] - vectors[:, :rank] * values[:rank]))
        residual = min(1.0, remainder / gap) if gap > 0.0 else 1.0
        if residual <= TOLERANCE or step == steps - 1:
            break
        basis, _ = np.linalg.qr(image)
    return Top(vectors, spectrum, rank, residual)


def complete(values: Array, trace: float, support: int, dim: int) -> Array:
    """Return d eigenvalues: those given, then the rest of the trace spread evenly over those that can be nonzero."""
    values = np.maximum(values, 0.0)
    rest = max(min(support, dim) - len(values), 0)
    spectrum = np.zeros(dim)
    spectrum[: len(values)] = values
    if rest:
        level = min(max(trace - float(values.sum()), 0.0) / rest, float(values[-1]))
        spectrum[len(values) : len(values) + rest] = level
    return spectrum
