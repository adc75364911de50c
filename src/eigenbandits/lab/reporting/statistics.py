"""Comparisons over seeds: confidence intervals, and paired tests corrected for how many there are."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from eigenbandits.inputs import Array, one_of
from eigenbandits.lab.reporting.tables import bootstrap_band, standard_error

PairedTest = Literal["t", "wilcoxon"]
Bands = Literal["standard error", "bootstrap"]


@dataclass(frozen=True)
class Mean:
    """A mean over `count` seeds with Student's confidence interval, whose ends are NaN for a single seed."""

    mean: float
    low: float
    high: float
    count: int


@dataclass(frozen=True)
class Comparison:
    """Two policies on the same seeds of one environment.

    `difference` is the mean of first − second; `corrected` is the p-value after Holm's correction for all comparisons.
    """

    environment: str
    first: str
    second: str
    difference: Mean
    p: float
    corrected: float


def mean_interval(values: ArrayLike, level: float = 0.95) -> Mean:
    """Return a mean and Student's confidence interval for it.

    Examples
    --------
    >>> mean_interval([1.0, 3.0])  # 2 ± 12.706 · 1
    Mean(mean=2.0, low=-10.706, high=14.706, count=2)
    """
    array = np.asarray(values, dtype=np.float64)
    error = standard_error(array)
    half = float(stats.t.ppf((1.0 + level) / 2.0, len(array) - 1)) * error if len(array) > 1 else math.nan
    mean = float(array.mean())
    return Mean(mean, mean - half, mean + half, len(array))


def band(runs: Array, kind: str) -> tuple[Array, Array]:
    """Return the lower and the upper end of a band around the mean of runs (seeds, n).

    `kind` is "standard error", for the mean ± its standard error, or "bootstrap", the 95 % percentile bootstrap over
    seeds.
    """
    if one_of(kind, "band", get_args(Bands)) == "bootstrap":
        return bootstrap_band(runs, resamples=2000)
    mean = runs.mean(axis=0)
    error = runs.std(axis=0, ddof=1) / math.sqrt(len(runs)) if len(runs) > 1 else np.zeros(runs.shape[1])
    return mean - error, mean + error


def paired_p(first: ArrayLike, second: ArrayLike, test: str = "t") -> float:
    """Return the two-sided p-value of paired values: Student's t on the differences, or Wilcoxon's signed ranks.

    NaN for fewer than two pairs; 1 if all pairs are equal; 0 if all differ by the same amount.

    Examples
    --------
    >>> paired_p([1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 3.0, 4.0])
    1.0
    """
    difference = np.asarray(first, dtype=np.float64) - np.asarray(second, dtype=np.float64)
    one_of(test, "test", get_args(PairedTest))
    if len(difference) < 2 or not np.isfinite(difference).all():
        return math.nan
    if not difference.any():
        return 1.0
    if test == "wilcoxon":
        return float(stats.wilcoxon(difference).pvalue)
    if np.ptp(difference) == 0.0:
        return 0.0
    return float(stats.ttest_1samp(difference, 0.0).pvalue)


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values corrected by Holm's method, which bounds the chance of any false finding among them.

    The i-th smallest of n is multiplied by n − i + 1, and none may be below a smaller one's. NaN stays NaN.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    known = [i for i, p in enumerate(p_values) if not math.isnan(p)]
    corrected = [math.nan] * len(p_values)
    reached = 0.0
    for rank, i in enumerate(sorted(known, key=lambda i: p_values[i])):
        reached = max(reached, min(1.0, (len(known) - rank) * p_values[i]))
        corrected[i] = reached
    return corrected


def compare(
    final: Array, policies: Sequence[str], environments: Sequence[str], test: str = "t", level: float = 0.95
) -> list[Comparison]:
    """Compare every two policies on every environment, seed by seed, and correct for the number of comparisons.

    `final` (policies, environments, seeds) is what is compared, such as the final regret; `test` is "t" or "wilcoxon",
    and `level` that of each interval.
    """
    found = [
        (place, first, second, final[first, e], final[second, e])
        for e, place in enumerate(environments)
        for first, second in combinations(range(len(policies)), 2)
    ]
    p_values = [paired_p(a, b, test) for *_, a, b in found]
    return [
        Comparison(place, policies[first], policies[second], mean_interval(a - b, level), p, corrected)
        for (place, first, second, a, b), p, corrected in zip(found, p_values, holm(p_values), strict=True)
    ]
