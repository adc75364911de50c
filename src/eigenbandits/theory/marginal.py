"""How likely the rewards are under a prior: the marginal likelihood that decides between priors (docs/flagship.md).

All are logarithms and leave out one constant that depends on the rewards' count and unit alone (`left_out`),
so that those of the same rewards can be compared with each other. With `noise` the noise R is known; without it σ² has
the inverse-gamma prior IG(w, w·unit), which is worth 2w rewards of variance `unit`.
"""

import math
from functools import lru_cache
from itertools import product

import numpy as np
from scipy.special import ndtri

from eigenbandits.inputs import Array

# Which of three slopes are not 0: all eight ways.
_SUPPORTS = np.array(list(product((0.0, 1.0), repeat=3)))
_UNIT, _EXPECTED = np.eye(3), np.array([1.0, 1.0, 0.0])


def residual_likelihood(residual: Array, count: float, *, unit: float, weight: float, noise: float | None) -> Array:
    """Return the log likelihood of a residual sum of squares: −(w + n/2) log(1 + residual/(2 w unit)).

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
    >>> round(float(residual_likelihood(np.array(8.0), 4, unit=1.0, weight=2.0, noise=None)), 4)  # −(2 + 2) log 3
    -4.3944
    >>> float(residual_likelihood(np.array(8.0), 4, unit=1.0, weight=2.0, noise=2.0))
    -1.0
    """
    if noise is not None:
        return np.asarray(-0.5 * residual / noise**2)
    return np.asarray(-(weight + 0.5 * count) * np.log1p(0.5 * residual / (weight * unit)))


def left_out(count: float, *, unit: float, weight: float, noise: float | None) -> float:
    """Return what these leave out of the rewards' log density: log Γ(w + n/2) − log Γ(w) − (n/2) log(2π w unit).

    With the noise known it is −(n/2) log(2πR²).

    Examples
    --------
    >>> round(left_out(2, unit=0.5, weight=1.0, noise=None), 4)  # log Γ(2) − log Γ(1) − log π
    -1.1447
    """
    if noise is not None:
        return -0.5 * count * math.log(2.0 * math.pi * noise**2)
    return (
        math.lgamma(weight + 0.5 * count) - math.lgamma(weight) - 0.5 * count * math.log(2.0 * math.pi * weight * unit)
    )


def excess_kurtosis(squares: float, fourths: float, count: float) -> float:
    """Return n Σe⁴/(Σe²)² − 3, but at least 0, the value of normal errors, from sums over n errors e.

    Examples
    --------
    >>> excess_kurtosis(1.0, 1.0, 100.0)  # one failure in 100 rounds
    97.0
    >>> excess_kurtosis(4.0, 4.0, 4.0)
    0.0
    """
    return max(count * (fourths / squares) / squares - 3.0, 0.0) if squares > 0.0 else 0.0


def tempered(gain: Array, freedom: Array, count: float, kurtosis: float) -> Array:
    """Return gains in log likelihood, each divided by 1 + κ df/(2n).

    A gain over the model that explains nothing is a quadratic form eᵀHe in the errors. Its variance is
    2σ⁴ tr H² + κσ⁴ Σ h_ii², with κ the excess kurtosis. For a projection whose leverages are all df/n, this is
    1 + κ df/(2n) times that of normal errors, for which the likelihood was made. Dividing by the ratio of the two gives
    the posterior the spread that the estimates really have (Lyddon, Holmes and Walker 2019). Without it, one failure
    among hundreds of equal rewards decides for whatever prior is flexible enough to explain it.

    Parameters
    ----------
    gain, freedom
        The gains, and the degrees of freedom df that each of them has used.
    count
        n.
    kurtosis
        κ.

    Examples
    --------
    >>> tempered(np.array([8.0]), np.array([3.0]), 100.0, kurtosis=200.0)  # by 1 + 200 · 3/200
    array([2.])
    """
    return np.asarray(gain / (1.0 + 0.5 * kurtosis * freedom / max(count, 1.0)))


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


def neglect(ratios: Array) -> Array:
    """Return √(2 log r), or 0 for r ≤ 1: the optimism that an action deserves if it has been neglected r-fold.

    If one of several unrelated actions was chosen N and another n times, r = N/n, and the optimistic value of the
    latter is its mean reward + σ√(2 log(N/n)/n). With the number of all choices for N this is Lai's index (1987), also
    known as KL-UCB⁺, for normal rewards: in the long run it explores as rarely as any policy can that finds the best
    action in every problem (Honda 2019).

    Examples
    --------
    >>> neglect(np.array([0.5, 1.0, 100.0])).round(2).tolist()
    [0.0, 0.0, 3.03]
    """
    return np.asarray(np.sqrt(2.0 * np.log(np.maximum(ratios, 1.0))))


def regret_residuals(gram: Array, cross: Array, squares: float, count: float) -> Array:
    """Return what is left of the rewards once a member's forecasts have explained what they can.

    The reading behind it: r = c + α M + β a + γ g, with M the highest value that a member gave to any action of the
    set, a ≤ 0 the value of the action played less M, and g = −1 where a < 0, else 0. A model of the rewards' level
    needs α = β = 1 and γ = 0, and Zellner's prior of one observation's weight is around these. One that only tells the
    right action from the wrong ones needs no more than β or γ above 0. No slope may be negative: to be right
    by being contradicted is no merit.

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
    squares_of = np.maximum(np.diagonal(gram, axis1=1, axis2=2), 0.0)
    # In units of each column; a column of zeros, or one that others make up, explains nothing of its own.
    used = squares_of > 1e-18 * max(squares, np.finfo(float).tiny)
    sizes = np.where(used, np.sqrt(squares_of), 1.0)
    # The least squares with slopes of at least 0 are those of one of the eight supports (k, 8, 3), without a bound.
    support = _SUPPORTS * used[:, None, :]
    both = support[..., :, None] * support[..., None, :]
    scaled = (gram / (sizes[:, :, None] * sizes[:, None, :]))[:, None] * both
    scaled += _UNIT * (1.0 + 1e-9 - support)[..., None, :]
    slopes = np.linalg.solve(scaled, ((cross / sizes)[:, None] * support)[..., None])[..., 0] / sizes[:, None]
    left = squares - 2.0 * np.vecdot(slopes, cross[:, None]) + np.vecdot(slopes @ gram, slopes)
    least = np.maximum(np.where((slopes >= 0.0).all(axis=2), left, squares).min(axis=1), 0.0)
    at_prior = np.maximum(squares - 2.0 * (cross @ _EXPECTED) + (gram @ _EXPECTED) @ _EXPECTED, least)
    return np.asarray((at_prior + count * least) / (1.0 + count))


def regret_likelihood(
    gram: Array, cross: Array, squares: float, count: float, *, unit: float, weight: float, noise: float | None
) -> Array:
    """Return the likelihood of the reading of `regret_residuals` by member; its slopes and level cost 2 log(1 + n).

    Half of log(1 + n) each, so that all n rewards count, the first one too.
    """
    residuals = regret_residuals(gram, cross, squares, count)
    return residual_likelihood(residuals, count, unit=unit, weight=weight, noise=noise) - 2.0 * math.log1p(count)
