"""Rewards seen through a prior: the evidence and the posterior under θ ~ N(0, ρσ²H), from sums or from rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

Array = NDArray[np.float64]
# A float, or an array of them.
Number = Any


@dataclass(frozen=True, eq=False)
class Spread:
    """A prior's variances H along the eigenvectors of the second moment, scaled so that tr(HC) = 1.

    ρ is then the variance that the model gives to the values of the actions offered, in units of the noise's.

    Attributes
    ----------
    roots : ndarray of shape (q,)
        Square roots of the variances along the given eigenvectors.
    rest : float
        The same in every other direction.
    """

    roots: Array
    rest: float


# The least ℓ/ℓ_m, since even a direction in which no action has varied yet needs some variance; and the least variance
# that double precision can tell from 0 next to the largest.
LEAST_SHARE, LEAST_VARIANCE = 1e-6, float(np.finfo(float).eps)


def spread(spectrum: Array, tracked: int, power: float, rank: int = 1) -> Spread:
    """Return the variances that follow the spectrum by a power, H = min(C/ℓ_m, 1)^p up to a factor.

    With m = 1 that is (C/ℓ₁)^p. With m the rank, directions that stand out of the noise all have the same variance,
    however strong they are; with a large p little is left for the others, which is the paper's cut, but for what
    enough rewards can still show.

    Parameters
    ----------
    spectrum
        All d eigenvalues of C, in descending order; those after the first `tracked` by their mean.
    tracked
        How many have an eigenvector.
    power
        p.
    rank
        m.

    Examples
    --------
    >>> found = spread(np.array([4.0, 1.0]), 2, 1.0)
    >>> (found.roots**2 * [4.0, 1.0]).sum().round(12), found.roots[0] ** 2 / found.roots[1] ** 2
    (np.float64(1.0), np.float64(4.0))
    """
    reference = float(spectrum[rank - 1])
    if reference <= 0.0:
        return Spread(np.ones(tracked), 1.0)
    variances = np.maximum(np.clip(spectrum / reference, LEAST_SHARE, 1.0) ** power, LEAST_VARIANCE)
    variances /= float(variances @ spectrum)
    roots = np.sqrt(variances)
    return Spread(roots[:tracked], float(roots[min(tracked, len(roots) - 1) :].mean()))


class Reading(Protocol):
    """Rewards, less their mean where there is an intercept, as a kernel and a vector that a prior can be tried on."""

    count: float
    squares: float

    def kernel(self, prior: Spread) -> tuple[Array, Array]:
        """Return the matrix A (symmetric, not negative) and the vector v of a prior."""

    def residual(self, white: Number, ratio: Number) -> Number:
        """Return the sum of squares that the prior leaves, given ‖L⁻¹v‖² with LLᵀ = I + ρA; of many, of each."""


class SumsReading:
    """From Σ and b in the basis of the eigenvectors, for few dimensions.

    Parameters
    ----------
    gram, score
        VᵀΣV and Vᵀb of the chosen actions, about their means where there is an intercept.
    squares, count
        Σr² about the mean, and the degrees of freedom.
    """

    def __init__(self, gram: Array, score: Array, squares: float, count: float) -> None:
        self.gram = gram
        self.score = score
        self.squares = squares
        self.count = count

    def kernel(self, prior: Spread) -> tuple[Array, Array]:
        """Return H^½ΣH^½ and H^½b."""
        roots = prior.roots
        return (self.gram * roots) * roots[:, None], self.score * roots

    def residual(self, white: Number, ratio: Number) -> Number:
        """Return Σr² − ρ bᵀH^½(I + ρA)⁻¹H^½b."""
        return np.maximum(self.squares - ratio * white, 0.0)


class RowsReading:
    """From the actions themselves, for more dimensions than rewards.

    Parameters
    ----------
    rows, basis
        Chosen actions (n, d), about their mean where there is an intercept, and the eigenvectors (d, q); or None where
        the rows are given in the basis of all of these.
    rewards
        Their rewards, in the same order.
    count
        The degrees of freedom.
    """

    def __init__(self, rows: Array, basis: Array | None, rewards: Array, count: float) -> None:
        self.inside = rows if basis is None else rows @ basis
        # Of what lies outside the eigenvectors.
        self.products = None if basis is None else rows @ rows.T - self.inside @ self.inside.T
        self.rewards = rewards
        self.squares = float(rewards @ rewards)
        self.count = count

    def kernel(self, prior: Spread) -> tuple[Array, Array]:
        """Return XHXᵀ and r."""
        scaled = self.inside * prior.roots
        matrix = scaled @ scaled.T
        if self.products is not None:
            matrix += prior.rest**2 * self.products
        return matrix, self.rewards

    def residual(self, white: Number, ratio: Number) -> Number:
        """Return rᵀ(I + ρA)⁻¹r."""
        return white


def factor(kernel: Array, ratio: float) -> tuple[Array, float]:
    """Return the lower factor of I + ρA, and its log determinant."""
    matrix = kernel * ratio
    matrix.flat[:: len(matrix) + 1] += 1.0
    # Symmetric, so that the C order that NumPy gives is the Fortran order of the same matrix.
    lower, info = lapack.dpotrf(matrix.T, lower=1, overwrite_a=1, clean=0)
    if info != 0:
        # Rounding has spoiled it: no eigenvalue of I + ρA is below 1.
        values, vectors = np.linalg.eigh(0.5 * ratio * (kernel + kernel.T))
        values = np.maximum(values, 0.0) + 1.0
        lower, _ = lapack.dpotrf((vectors * values) @ vectors.T, lower=1, clean=0)
    diagonal = lower.diagonal()
    return lower, 2.0 * float(np.log(diagonal).sum())


def whitened(lower: Array, vector: Array) -> Array:
    """Return L⁻¹v."""
    solution: Array = lapack.dtrtrs(lower, vector, lower=1)[0]
    return solution
