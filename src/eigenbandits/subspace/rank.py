"""How many directions of a spectrum stand out from noise."""

import numpy as np

from eigenbandits.inputs import Array


def bulk_edge(spectrum: Array, vectors: float) -> float:
    """Return the largest eigenvalue that noise alone would show; see `bulk_edge_rank` for what goes in.

    Eigenvalues of n isotropic noise vectors in d dimensions fill the interval σ²(1 ± √(d/n))² (Marchenko and Pastur
    1967). σ² is taken from the median eigenvalue, which a few strong directions do not move; a margin of Tracy–Widom
    size, n^{-2/3}, keeps the largest noise eigenvalue inside.
    """
    dim = len(spectrum)
    ratio = dim / max(vectors, 1.0)
    positive = spectrum[: int(min(dim, max(vectors, 1.0)))]
    # With fewer vectors than dimensions the zero eigenvalues say nothing about the noise.
    middle = float(np.median(positive)) / _median_of_bulk(min(ratio, 1.0 / ratio)) / max(1.0, ratio)
    return float(middle * (1.0 + np.sqrt(ratio)) ** 2 * (1.0 + 4.0 * max(vectors, 1.0) ** (-2.0 / 3.0)))


def bulk_edge_rank(spectrum: Array, vectors: float) -> int:
    """Count the eigenvalues above the edge of the bulk that pure noise would fill.

    Parameters
    ----------
    spectrum
        All d sample eigenvalues, in descending order.
    vectors
        How many vectors are behind it.

    Returns
    -------
    int
        At least 1, at most d.

    Examples
    --------
    >>> bulk_edge_rank(np.array([5.0, 4.0, 1.02, 1.01, 1.0, 0.99, 0.98, 0.97]), 100_000)
    2
    """
    if spectrum[0] <= 0.0:
        return 1
    return int(np.clip(np.count_nonzero(spectrum > bulk_edge(spectrum, vectors)), 1, len(spectrum)))


def _median_of_bulk(ratio: float) -> float:
    # Median of the Marchenko–Pastur law with unit variance: between its mean-one limit and the edge cases the
    # interpolation 1 − ratio/3 is within 2 % for ratio ≤ 1, far below the gap that a usable structure shows.
    return 1.0 - ratio / 3.0
