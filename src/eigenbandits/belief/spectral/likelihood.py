"""The marginal likelihood and the posterior of rewards under a prior θ ~ N(0, ρσ²H), from sums or from rows."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from scipy.linalg import lapack

from eigenbandits import linalg
from eigenbandits.inputs import Array

# A float, or an array of them.
Number = Any


@dataclass(frozen=True, eq=False)
class Spread:
    """A prior's variances H along the eigenvectors of the second moment, scaled so that tr(HC) = 1.

    With this scale, ρ is the prior variance of the values of the actions offered, in units of the noise variance.

    Attributes
    ----------
    roots : ndarray of shape (q,)
        Square roots of the variances along the given eigenvectors.
    rest : float
        The square root of the variance in every other direction.
    """

    roots: Array
    rest: float


# The smallest ℓ/ℓ_m, since even a direction in which no action has varied yet needs some variance; and the smallest
# variance that double precision can distinguish from 0 next to the largest.
LEAST_SHARE, LEAST_VARIANCE = 1e-6, float(np.finfo(float).eps)


def spreads(spectrum: Array, tracked: int, powers: Sequence[float], ranks: Sequence[int]) -> list[Spread]:
    """Return variances that follow powers of the spectrum, H = min(C/ℓ_m, 1)^p up to a factor, for each p and m.

    With m = 1 this is (C/ℓ₁)^p. With m the rank, all directions that stand out from the noise have the same variance,
    however strong they are. A large p then leaves little for the others: the paper's cut, except for what enough
    rewards can still show.

    Parameters
    ----------
    spectrum
        All d eigenvalues of C, in descending order; those after the first `tracked` are given as their mean.
    tracked
        How many of them have an eigenvector.
    powers, ranks
        Each p, and its m.

    Examples
    --------
    >>> variances = spreads(np.array([4.0, 1.0]), 2, [1.0], [1])[0]
    >>> (variances.roots**2 * [4.0, 1.0]).sum().round(12), variances.roots[0] ** 2 / variances.roots[1] ** 2
    (np.float64(1.0), np.float64(4.0))
    """
    if spectrum[0] <= 0.0:
        return [Spread(np.ones(tracked), 1.0) for _ in powers]
    references = spectrum[np.subtract(ranks, 1), None]
    variances = np.minimum(np.maximum(spectrum / references, LEAST_SHARE), 1.0) ** np.array(powers)[:, None]
    np.maximum(variances, LEAST_VARIANCE, out=variances)
    variances /= (variances @ spectrum)[:, None]
    roots = np.sqrt(variances)
    rest = roots[:, min(tracked, len(spectrum) - 1) :].mean(axis=1)
    return [Spread(*each) for each in zip(roots[:, :tracked], rest.tolist(), strict=True)]


class Reading(Protocol):
    """Rewards, centered if there is an intercept, as a kernel and a vector with which to evaluate a prior."""

    count: float
    squares: float

    def kernel(self, prior: Spread) -> tuple[Array, Array]:
        """Return the matrix A (symmetric, positive semidefinite) and the vector v of a prior."""

    def residual(self, white: Number, ratio: Number) -> Number:
        """Return the residual sum of squares under the prior, given ‖L⁻¹v‖² with LLᵀ = I + ρA; elementwise."""


class SumsReading:
    """A reading from Σ and b in the basis of the eigenvectors, for few dimensions.

    Parameters
    ----------
    gram, score
        VᵀΣV and Vᵀb of the chosen actions, about their means if there is an intercept.
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
    """A reading from the actions themselves, for more dimensions than rewards.

    Parameters
    ----------
    rows, basis
        Chosen actions (n, d), about their mean if there is an intercept, and the eigenvectors (d, q), or None if the
        rows are given in a basis of all eigenvectors.
    rewards
        Their rewards, in the same order.
    count
        The degrees of freedom.
    """

    def __init__(self, rows: Array, basis: Array | None, rewards: Array, count: float) -> None:
        self.inside = rows if basis is None else rows @ basis
        # Products of the components outside the eigenvectors.
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


def factor(kernel: Array, ratio: float) -> Array:
    """Return the lower Cholesky factor of I + ρA."""
    matrix = kernel * ratio
    linalg.add_diagonal(matrix, 1.0)
    # The matrix is symmetric, so NumPy's C order is the Fortran order of the same matrix.
    lower: Array
    lower, info = lapack.dpotrf(matrix.T, lower=1, overwrite_a=1, clean=0)
    if info != 0:
        # The factorization failed because of rounding: no eigenvalue of I + ρA is below 1.
        values, vectors = np.linalg.eigh(0.5 * ratio * (kernel + kernel.T))
        values = np.maximum(values, 0.0) + 1.0
        lower, _ = lapack.dpotrf((vectors * values) @ vectors.T, lower=1, clean=0)
    return lower


def whitened(lower: Array, vector: Array) -> Array:
    """Return L⁻¹v."""
    solution: Array = lapack.dtrtrs(lower, vector, lower=1)[0]
    return solution
