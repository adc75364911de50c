"""The floor under any method that looks at its decision set: one pass over it, measured between a method's rounds."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
# After the first, cold call the same product is timed this often; the median is the time in cache.
REPEATS = 7


class Floor:
    """Times `actions @ theta` and `actions @ V` on decision sets that nothing has touched yet, then in cache.

    V is tried in both memory layouts at the start, and the faster is kept: the floor must not be a slow one.

    Parameters
    ----------
    sets
        Decision sets (K, d) kept back for this; each measurement takes two.
    theta, basis
        The model (d,) and the (d, m) matrix.
    """

    def __init__(self, sets: Iterable[Array], theta: Array, basis: Array) -> None:
        self.theta = theta
        self.seconds: dict[str, list[float]] = {"theta_cold": [], "theta_warm": [], "basis_cold": [], "basis_warm": []}
        self._sets = iter(sets)
        first = next(self._sets)
        layouts = [np.ascontiguousarray(basis), np.asfortranarray(basis)]
        self.basis = min(layouts, key=lambda matrix: _warm(lambda: first @ matrix))

    def measure(self) -> None:
        """Take one measurement of each kind; nothing happens once the sets are used up."""
        first, second = next(self._sets, None), next(self._sets, None)
        if first is None or second is None:
            return
        for name, product in (("theta", lambda: first @ self.theta), ("basis", lambda: second @ self.basis)):
            self.seconds[f"{name}_cold"].append(_once(product))
            self.seconds[f"{name}_warm"].append(_warm(product))

    def medians(self) -> dict[str, float]:
        """Return the median of each kind, in seconds."""
        return {name: float(np.median(times)) for name, times in self.seconds.items() if times}


def _once(product: Callable[[], Array]) -> float:
    start = perf_counter()
    product()
    return perf_counter() - start


def _warm(product: Callable[[], Array]) -> float:
    return float(np.median([_once(product) for _ in range(REPEATS)]))
