"""Whether a series of minutes is flat: the slope of a line through it, with an error that allows for memory."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike


@dataclass(frozen=True)
class Trend:
    """A straight line through a series, as a change over the whole of it.

    Attributes
    ----------
    level
        The mean.
    change
        What the line gains from the first point to the last.
    error
        The standard error of that.
    """

    level: float
    change: float
    error: float

    @property
    def interval(self) -> tuple[float, float]:
        """The change as a share of the level, from and to, with 95 % confidence."""
        return (self.change - 1.96 * self.error) / self.level, (self.change + 1.96 * self.error) / self.level

    def verdict(self, allowed: float) -> str:
        """Say whether it is flat, that is, whether the whole interval lies within ± `allowed` of the level."""
        low, high = self.interval
        if -allowed <= low and high <= allowed:
            return "flat"
        if low <= 0.0 <= high:
            return "no trend, but too noisy to call flat"
        return "rises" if low > 0.0 else "falls"


def trend(values: ArrayLike, lags: int | None = None) -> Trend:
    """Return the least-squares line through equally spaced values.

    The error is Newey and West's: neighbouring minutes resemble each other, and would else be taken for more evidence
    than they are.

    Parameters
    ----------
    values
        At least three.
    lags
        How many neighbours may depend on each other; None takes 4 (n/100)^(2/9), their rule.
    """
    y = np.asarray(values, dtype=np.float64)
    n = len(y)
    if n < 3:
        raise ValueError(f"a trend needs at least three values; there are {n}.")
    x = np.linspace(-0.5, 0.5, n)
    spread = float(x @ x)
    slope = float(x @ y) / spread
    scores = x * (y - y.mean() - slope * x)
    count = int(4 * (n / 100) ** (2 / 9)) if lags is None else lags
    variance = float(scores @ scores)
    for lag in range(1, min(count, n - 1) + 1):
        variance += 2 * (1 - lag / (count + 1)) * float(scores[lag:] @ scores[:-lag])
    # Two degrees of freedom went into the line.
    return Trend(float(y.mean()), slope, float(np.sqrt(max(variance, 0.0) * n / (n - 2))) / spread)
