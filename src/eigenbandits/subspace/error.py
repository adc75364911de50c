"""How far the estimated subspace may be from the true one: bounds on ‖P̂ − P‖₂."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

# How far above its typical size the error is allowed to be. `eigenbandits coverage` prints the share of runs in which
# the true error exceeds the estimate in any round; of 200 runs of 1,000 rounds, with a factor of 1.25, it was
# - 0 % for d = 100 with m = 1, 4 and 16, perturbation 1 and 9, spread 1 and 10, vectors on the sphere and in the cube,
#   where 1.15 would do and 1 is exceeded in up to 35 % of the runs (m = 1, perturbation 1);
# - 0.5, 6.5 and 11.5 % for (d, m) = (20, 2), (5, 2) and (3, 1), perturbation 1: in few dimensions chance has more
#   room, and 15 % (3δ with δ = 0.05) are granted.
# It trusts that vectors are independent: with near-duplicates in pairs it was exceeded in 97 % of the runs.
SAFETY = 1.25


def estimated_error(spectrum: Array, rank: int, vectors: float, largest: float = 0.0, safety: float = SAFETY) -> float:
    """Estimate ‖P̂ − P‖₂ from the sample's own spectrum (docs/mathematics.md).

    To first order the part of the j-th sample eigenvector along the k-th, j ≤ m < k, is a centred random number of
    variance ℓ_j ℓ_k / (n (ℓ_j − ℓ_k)²) (Anderson 1963). ‖P̂ − P‖₂ is the spectral norm of the (m, d − m) matrix of
    these numbers, which is at most its largest row norm plus its largest column norm in expectation (Bandeira and
    van Handel 2016, up to lower-order terms). An estimate, not a proof: it trusts the sample's eigenvalues.

    Parameters
    ----------
    spectrum
        All d sample eigenvalues, in descending order.
    rank
        m.
    vectors
        The number n of (effectively) independent vectors behind the spectrum.
    safety
        Factor on the expected size.

    Returns
    -------
    float
        The estimate, at most 1; 1 where the spectrum shows no gap after m or fewer than m vectors were seen.

    Examples
    --------
    >>> spectrum = np.array([4.0, 1.0, 1.0])
    >>> round(estimated_error(spectrum, 1, 1_000, safety=1.0), 4)  # sqrt(2 · 4/9000) + sqrt(4/9000)
    0.0509
    >>> estimated_error(spectrum, 3, 1_000)
    0.0
    """
    dim = len(spectrum)
    if rank >= dim:
        return 0.0
    top, rest = spectrum[:rank, None], np.maximum(spectrum[None, rank:], 0.0)
    gaps = top - rest
    if vectors <= rank or gaps[-1, 0] <= 0.0:
        return 1.0
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        # As ratios to the gap, so that no scale of the actions over- or underflows.
        variances = (top / gaps) * (rest / gaps) / vectors
    size = np.sqrt(variances.sum(axis=1).max()) + np.sqrt(variances.sum(axis=0).max())
    # Of the weakest direction's eigenvalue only what one vector cannot have brought speaks for it.
    kept = 1.0 - largest / top[-1, 0]
    size = size / kept if kept > 0.0 else np.inf
    return float(min(1.0, safety * size)) if np.isfinite(size) else 1.0


def subspace_distance(first: Array, second: Array) -> float:
    """Return ‖P₁ − P₂‖₂ for two orthonormal bases of equal rank: the sine of the largest angle (eq. error=sine).

    Examples
    --------
    >>> subspace_distance(np.array([[1.0], [0.0]]), np.array([[0.6], [0.8]]))
    0.8
    """
    outside = second - first @ (first.T @ second)
    return float(np.round(np.linalg.norm(outside, 2), 15))
