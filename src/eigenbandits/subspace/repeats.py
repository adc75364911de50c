"""What vectors are worth that come again and again: a catalogue says no more than its items can."""

from __future__ import annotations

from functools import lru_cache
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from eigenbandits.component import Component

Array = NDArray[np.float64]

# Vectors that are remembered, by a mark of eight bytes each.
KEPT = 512


class Repeats(Component):
    """Counts how often vectors come again, from a sample of the decision sets and in fixed memory.

    Each vector gets a mark, the same whenever it comes, and the vectors with the smallest marks are kept with the
    number of their visits: an even sample of the different vectors seen (a bottom-k sketch, Cohen and Kaplan 2007). As
    the limit only ever falls, a vector that is kept has been counted from its first visit on.
    """

    _state_names: ClassVar[tuple[str, ...]] = ("marks", "visits", "kept", "sampled")

    def __init__(self) -> None:
        # Of full size from the start, so that files and memory do not grow.
        self.marks: NDArray[np.int64] = np.zeros(KEPT, dtype=np.int64)
        self.visits: NDArray[np.int64] = np.zeros(KEPT, dtype=np.int64)
        self.kept = 0
        self.sampled = 0

    def add(self, vectors: Array) -> None:
        """Take note of one decision set; a vector that is in it twice has come once."""
        self.sampled += len(vectors)
        came = np.unique(_marks(vectors))
        marks = self.marks[: self.kept]
        where = np.searchsorted(marks, came)
        known = where < self.kept
        known[known] = marks[where[known]] == came[known]
        self.visits[where[known]] += 1
        new = ~known if self.kept < KEPT else ~known & (where < KEPT)
        if not new.any():
            return
        visits = np.insert(self.visits[: self.kept], where[new], 1)[:KEPT]
        marks = np.insert(marks, where[new], came[new])[:KEPT]
        self.kept = len(marks)
        self.marks[: self.kept], self.visits[: self.kept] = marks, visits

    def worth(self, count: int) -> float:
        """Return how many vectors that come once the `count` vectors seen are worth.

        A mean in which vector i has the weight w_i is as exact as one of (Σw)²/Σw² vectors of equal weight (Kish
        1965). With visits by chance, at the rate r_i, that is Σr/(1 + Σr²/Σr) in expectation; and in a sample of the
        visits, of which v_i fall on vector i, Σv(v − 1)/Σv estimates Σr²/Σr times the share that was sampled.

        Examples
        --------
        >>> seen = Repeats()
        >>> seen.add(np.array([[1.0, 2.0], [3.0, 4.0]]))
        >>> seen.worth(1_000)  # nothing came twice
        1000.0
        """
        total = int(self.visits.sum())
        if total == self.kept:
            return float(count)
        again = float(self.visits @ (self.visits - 1)) / total
        return count / (1.0 + again * count / self.sampled)


@lru_cache(maxsize=16)
def _directions(dim: int, dtype: str) -> Array:
    """Return the vector that vectors are multiplied by for their marks; it is the same in every process."""
    return np.asarray(np.cos(np.arange(1.0, dim + 1.0)), dtype=dtype)


def _marks(vectors: Array) -> NDArray[np.int64]:
    """Return a number for each row that depends on the row alone, and is as good as drawn by chance."""
    dim = vectors.shape[1]
    # Row by row, so that the position in a block cannot move the last bit of the sum.
    keys = np.vecdot(vectors, _directions(dim, vectors.dtype.str)).astype(np.float64)
    mixed = keys.view(np.uint64).copy()
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        mixed ^= mixed >> np.uint64(33)
        mixed *= np.uint64(factor)
    return np.asarray(mixed ^ (mixed >> np.uint64(33))).view(np.int64)
