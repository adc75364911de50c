"""How far the estimated subspace may be from the true one: bounds on ‖P̂ − P‖₂."""

import numpy as np

from eigenbandits.inputs import Array

# How far above its typical size the error is allowed to be. `eigenbandits coverage` and `eigenbandits estimates` print
# the share of runs in which the true error exceeds the estimate in any round; 15 % (3δ with δ = 0.05) are granted. With
# 1.25 it is 0 % for d = 100, where 1.15 would do for vectors that are independent draws. In few dimensions chance has
# more room: for (d, m) = (5, 2) and (3, 1) it comes near to what is granted.
SAFETY = 1.25


def estimated_error(spectrum: Array, rank: int, vectors: float, safety: float = SAFETY, largest: float = 0.0) -> float:
    """Estimate ‖P̂ − P‖₂ from the sample's own spectrum (docs/mathematics.md).

    To first order the part of the j-th sample eigenvector along the k-th, j ≤ m < k, is a centered random number of
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
    largest
        The most that one vector, or what many vectors share, may have added to the second moment outside the subspace.
        So much of the weakest direction's eigenvalue may be its, and not the subspace's, and is not counted on.

    Returns
    -------
    float
        The estimate, at most 1; 1 where the spectrum shows no gap after m or fewer than m vectors were seen.

    Examples
    --------
    >>> spectrum = np.array([4.0, 1.0, 1.0])
    >>> round(estimated_error(spectrum, 1, 1_000, safety=1.0), 4)  # sqrt(2 · 4/9000) + sqrt(4/9000)
    0.0509
    >>> round(estimated_error(spectrum, 1, 1_000, safety=1.0, largest=2.0), 4)  # half of the eigenvalue may be chance
    0.1018
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
