"""How likely the rewards are under a prior: the evidence that decides between priors (docs/flagship.md).

All evidences are logarithms and leave out one constant that depends on the rewards' count and unit alone, so that those
of the same rewards can be compared with each other. With `noise` the noise R is known; without it σ² has the
inverse-gamma prior IG(w, w·unit), which is worth 2w rewards of variance `unit`.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from scipy.optimize import nnls
from scipy.special import ndtri

Array = NDArray[np.float64]


def residual_evidence(residual: Array, count: float, *, unit: float, weight: float, noise: float | None) -> Array:
    """Return what a residual sum of squares says of the rewards: −(w + n/2) log(1 + residual/(2 w unit)).

    With the noise known it is −residual/(2R²).

    Parameters
    ----------
    residual
        Sums of squares that a model leaves unexplained, of any shape.
    count
        The degrees of freedom n behind each of them.
    unit, weight, noise
        See the module.

    Examples
    --------
    >>> round(float(residual_evidence(np.array(8.0), 4, unit=1.0, weight=2.0, noise=None)), 4)  # −(2 + 2) log 3
    -4.3944
    >>> float(residual_evidence(np.array(8.0), 4, unit=1.0, weight=2.0, noise=2.0))
    -1.0
    """
    if noise is not None:
        return np.asarray(-0.5 * residual / noise**2)
    return np.asarray(-(weight + 0.5 * count) * np.log1p(0.5 * residual / (weight * unit)))


def noise_variance(residual: float, count: float, *, unit: float, weight: float, noise: float | None) -> float:
    """Return the posterior scale of σ²: (w unit + residual/2)/(w + n/2), or R² where the noise is known.

    Examples
    --------
    >>> noise_variance(6.0, 4, unit=0.5, weight=2.0, noise=None)  # (1 + 3)/4
    1.0
    """
    return noise**2 if noise is not None else (weight * unit + 0.5 * residual) / (weight + 0.5 * count)


@lru_cache(maxsize=4096)
def expected_maximum(count: int) -> float:
    """Return the expected maximum of K independent standard normal numbers, to within 2 % (Chen and Tyler 1999).

    Examples
    --------
    >>> round(expected_maximum(2), 2), round(expected_maximum(10), 2), round(expected_maximum(1000), 2)
    (0.6, 1.54, 3.22)
    """
    return float(ndtri(0.5264 ** (1.0 / count)))


def regret_residuals(gram: Array, cross: Array, squares: float, count: float) -> Array:
    """Return what is left of the rewards once a member's forecasts have explained what they can.

    The reading behind it: r = c + α M + β a + γ g, with M the highest value that a member gave to any action of the
    set, a ≤ 0 the value of the action played less M, and g = −1 where a < 0, else 0. A model of the rewards' level
    needs α = β = 1 and γ = 0, and Zellner's prior of one observation's weight is around these. One that only tells the
    right action from the wrong ones needs no more than β or γ above 0. No slope may be negative: to be right where one
    is contradicted is no merit.

    Parameters
    ----------
    gram, cross
        (k, 3, 3) and (k, 3): for each member the sums of products of (M, a, g) with each other and with r, about their
        means.
    squares
        Σr² about its mean.
    count
        n.

    Returns
    -------
    ndarray of shape (k,)
        The residual sums of squares.
    """
    expected = np.array([1.0, 1.0, 0.0])
    found = np.empty(len(gram))
    for place, (matrix, vector) in enumerate(zip(gram, cross, strict=True)):
        # In units of each column; a column of zeros, or one that others make up, explains nothing of its own.
        sizes = np.sqrt(np.maximum(matrix.diagonal(), 0.0))
        used = sizes > 1e-9 * max(math.sqrt(squares), np.finfo(float).tiny)
        sizes = np.where(used, sizes, 1.0)
        scaled = np.where(np.outer(used, used), matrix / np.outer(sizes, sizes), 0.0) + 1e-9 * np.eye(3)
        root = np.linalg.cholesky(scaled + np.diag(~used))
        slopes = nnls(root.T, solve_triangular(root, np.where(used, vector / sizes, 0.0), lower=True))[0] / sizes
        least = max(squares - 2.0 * float(slopes @ vector) + float(slopes @ matrix @ slopes), 0.0)
        at_prior = max(squares - 2.0 * float(expected @ vector) + float(expected @ matrix @ expected), least)
        found[place] = (at_prior + count * least) / (1.0 + count)
    return found


def regret_evidence(
    gram: Array, cross: Array, squares: float, count: float, *, unit: float, weight: float, noise: float | None
) -> Array:
    """Return the evidence of the reading of `regret_residuals` for each member; its slopes cost 1.5 log(1 + n)."""
    residuals = regret_residuals(gram, cross, squares, count)
    freedom = max(count - 1.0, 0.0)
    return residual_evidence(residuals, freedom, unit=unit, weight=weight, noise=noise) - 1.5 * math.log1p(count)
