"""Confidence intervals for the mean of few or skewed numbers, such as importance weights times rewards."""

import math

import numpy as np
from scipy.special import ndtri, stdtrit

from eigenbandits.inputs import Array


def standardized_moment(terms: Array, power: int) -> float:
    """Return the mean of the deviations from the mean to a power, in standard deviations: the skewness, the kurtosis.

    Examples
    --------
    >>> standardized_moment(np.array([0.0, 0.0, 0.0, 4.0]), 3)  # (3 · (−1)³ + 3³)/4 over √3³
    1.1547
    """
    deviations = terms - terms.mean()
    size = math.sqrt(float(deviations @ deviations) / len(terms))
    return float(np.mean((deviations / size) ** power)) if size > 0.0 else 0.0


def standard_error(terms: Array) -> float:
    """Return the standard error of the mean; NaN for a single term."""
    return float(terms.std(ddof=1)) / math.sqrt(len(terms)) if len(terms) > 1 else math.nan


def mean_interval(terms: Array, level: float = 0.95) -> tuple[float, float]:
    """Return a confidence interval for the expectation of independent terms: on each side the farther of two limits.

    Where a few large weights carry a mean, the usual interval is too short in two ways. Its standard error is not well
    known: the variance of n terms of kurtosis κ is as uncertain as that of 2n/(κ − 1) normal ones, which many degrees
    of freedom Student's t allows for. And the mean over its standard error, T, is skewed: with k = skewness/√n Hall's
    cubic T + kT²/3 + k²T³/27 + k/6 of it is normal up to terms of order 1/n, and 3((1 + k(z − k/6))^⅓ − 1)/k, its
    inverse, gives limits that lean. Where there are heavy tails on both sides, the skewness itself is not well known;
    so neither limit is moved in.

    Parameters
    ----------
    terms
        The numbers.
    level
        The probability that the interval is to cover with.

    References
    ----------
    Hall. On the Removal of Skewness by Transformation. Journal of the Royal Statistical Society B 54, 1992.

    Examples
    --------
    >>> mean_interval(np.array([0.0] * 90 + [10.0] * 10))  # the usual one is 1 ∓ 0.59
    (0.382, 1.763)
    """
    mean, error = float(terms.mean()), standard_error(terms)
    if len(terms) < 2 or not error:
        return mean, mean
    tail = 0.5 * (1.0 + level)
    lean = standardized_moment(terms, 3) / math.sqrt(len(terms))
    # A kurtosis is at least 1, and at most n.
    freedom = 2.0 * len(terms) / max(standardized_moment(terms, 4) - 1.0, 1.0)
    plain, normal = float(stdtrit(max(freedom, 1.0), tail)), float(ndtri(tail))
    low = max(plain, _untransformed(normal, lean))
    high = max(plain, -_untransformed(-normal, lean))
    return mean - error * low, mean + error * high


def _untransformed(z: float, lean: float) -> float:
    # Below this the cubic differs from its argument by less than rounding.
    return 3.0 * (math.cbrt(1.0 + lean * (z - lean / 6.0)) - 1.0) / lean if abs(lean) > 1e-8 else z
