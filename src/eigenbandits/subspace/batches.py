"""How far batches of vectors stray from their mean: what similarity within and between decision sets costs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import ClassVar, NamedTuple

import numpy as np

from eigenbandits.component import Component
from eigenbandits.inputs import Array
from eigenbandits.merging import Replica

# Batches kept; when there are as many, neighbors are merged.
KEPT = 64
# Directions on either side onto which the second moment of a batch is projected.
SIDE = 8
# Batches are merged, for longer ones, as long as this many are left to compare.
FEWEST = 4
# Of a batch no more rows than this, or up to half as many, are examined.
ROWS = 256


class Overdispersion(NamedTuple):
    """How much more batches of about `length` vectors vary than batches of independent vectors would."""

    length: float
    inflation: float


class Batches(Component):
    """Sums of x and x xᵀ over consecutive batches of vectors, projected onto a few fixed directions, in fixed memory.

    The square of what the sum over L vectors strays from L times the mean by is Lv if the vectors are independent, v
    being that of one vector, and DLv if they are not: D is the variance inflation of batch means (Conway 1963). Only
    batches longer than the dependence see all of it, so neighbors are merged to twice, four times, … the length. For
    any two matrices H₁ and H₂ with isotropic random columns, ‖H₁ᵀMH₂‖² is proportional to ‖M‖²_F in expectation.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> batches = Batches()
    >>> for _ in range(50):
    ...     batches.add(np.repeat(rng.standard_normal((20, 30)), 5, axis=0))  # each vector five times in a row
    >>> 4.0 < batches.second_moment().inflation < 6.5
    True
    """

    _state_names: ClassVar[tuple[str, ...]] = ("moments", "sums", "squares", "energies", "used", "stood", "kept")
    _derived_names: ClassVar[tuple[str, ...]] = ("_largest",)

    def __init__(self) -> None:
        # Of full size from the start, so that files and memory do not grow.
        self.moments: Array = np.zeros((KEPT, SIDE * SIDE))
        self.sums: Array = np.zeros((KEPT, 2 * SIDE))
        # Of each batch the sum of ‖H₁ᵀx‖²‖H₂ᵀx‖², that of ‖H₁ᵀx‖² + ‖H₂ᵀx‖², the rows behind them, and the rows that
        # these stand for.
        self.squares: Array = np.zeros(KEPT)
        self.energies: Array = np.zeros(KEPT)
        self.used: Array = np.zeros(KEPT)
        self.stood: Array = np.zeros(KEPT)
        self.kept = 0
        self._largest: Overdispersion | None = None

    def add(self, vectors: Array, scale: float = 1.0) -> None:
        """Record consecutive vectors.

        Parameters
        ----------
        vectors
            (n, d).
        scale
            The size of a vector, about and always the same, so that no fourth power over- or underflows.
        """
        rows = vectors[:: -(-len(vectors) // ROWS)]
        parts = rows @ _directions(rows.shape[1])
        parts /= scale
        first, second = parts[:, :SIDE], parts[:, SIDE:]
        sizes, others = np.einsum("ij,ij->i", first, first), np.einsum("ij,ij->i", second, second)
        if self.kept == KEPT:
            self._merge()
        i = self.kept
        self.moments[i] = (first.T @ second).ravel()
        self.sums[i] = parts.sum(axis=0)
        self.squares[i] = sizes @ others
        self.energies[i] = sizes.sum() + others.sum()
        self.used[i], self.stood[i] = len(rows), len(vectors)
        self.kept += 1
        self._largest = None

    def _merge(self) -> None:
        for array in (self.moments, self.sums, self.squares, self.energies, self.used, self.stood):
            array[: KEPT // 2] = array[::2] + array[1::2]
        self.kept = KEPT // 2

    def merge(self, replicas: Sequence[Replica[Batches]], scales: Sequence[float]) -> None:
        """Take the batches of several replicas, each in its own units, one after the other.

        What they started from is in all of them, and counts as often: the inflation is a ratio, which that hardly
        changes.
        """
        for name, power in (("moments", 2), ("sums", 1), ("squares", 4), ("energies", 2), ("used", 0), ("stood", 0)):
            joined = np.concatenate(
                [
                    getattr(replica.part, name)[: replica.part.kept] * scale**power
                    for replica, scale in zip(replicas, scales, strict=True)
                    if replica.weight > 0
                ]
            )
            while len(joined) > KEPT:
                joined = _pairs(joined)
            getattr(self, name)[: len(joined)] = joined
        self.kept = len(joined)
        self._largest = None

    def second_moment(self) -> Overdispersion:
        """Return the largest inflation of sums of x xᵀ, over all lengths, and the length that shows it.

        Batches no longer than the dependence underestimate it, by a share that falls as 1/L. Twice the estimate at
        twice the length, less the one at this length, does so less (Vats and Flegal 2022); the larger of both counts.
        """
        if self._largest is not None:
            return self._largest
        largest, shorter = Overdispersion(1.0, 1.0), 0.0
        for length, inflation in self._lengths(self.moments, float(self.squares[: self.kept].sum()), FEWEST, True):
            seen = max(inflation, 2.0 * inflation - shorter) if shorter else inflation
            if seen > largest.inflation:
                largest = Overdispersion(length, seen)
            shorter = inflation
        self._largest = self._whole(largest)
        return self._largest

    def shared(self, centered: bool) -> Overdispersion:
        """Return what a part that the vectors of a batch share would inflate sums of x xᵀ by, read from sums of x.

        If the share c of their energy is one vector's, the same for all L of them, sums of x are inflated by 1 + Lc and
        those of x xᵀ by 1 + Lc². Unlike `second_moment` this sees a part that all vectors so far share.

        Parameters
        ----------
        centered
            Whether the vectors' mean is subtracted, and so not shared by them.
        """
        largest = Overdispersion(1.0, 1.0)
        energy = float(self.energies[: self.kept].sum())
        for length, inflation in self._lengths(self.sums, energy, 2 if centered else 1, centered):
            seen = 1.0 + (inflation - 1.0) ** 2 / length
            if inflation > 1.0 and seen > largest.inflation:
                largest = Overdispersion(length, seen)
        return self._whole(largest)

    def _lengths(self, sums: Array, squares: float, fewest: int, centered: bool) -> list[Overdispersion]:
        """Compare the squared norm of sums over batches with that of single terms, at all lengths."""
        sums, used = sums[: self.kept], self.used[: self.kept]
        found: list[Overdispersion] = []
        if self.kept < fewest:
            return found
        total = float(used.sum())
        mean = sums.sum(axis=0) / total if centered else np.zeros(sums.shape[1])
        single = squares / total - float(mean @ mean)
        while len(used) >= fewest:
            deviations = sums - used[:, None] * mean
            length = float(used @ used) / total
            # The mean is the batches' own, which lowers the square of what a batch strays by L/n of itself.
            expected = single * (total - length if centered else total)
            # What rounding leaves of equal vectors says nothing.
            if expected > 1e-9 * squares:
                found.append(Overdispersion(length, float(np.einsum("ij,ij->", deviations, deviations)) / expected))
            if len(used) == 1:
                break
            sums, used = _pairs(sums), _pairs(used)
        return found

    def _whole(self, found: Overdispersion) -> Overdispersion:
        """Add what the rows that were skipped contribute: they resemble each other as much as those examined."""
        if not self.kept:
            return found
        times = float(self.stood[: self.kept].sum() / self.used[: self.kept].sum())
        return Overdispersion(found.length * times, 1.0 + (found.inflation - 1.0) * times)


def lump(found: Overdispersion) -> float:
    """Return how many times one vector's energy a part that many vectors share can hold: Lc, with D = 1 + Lc².

    Examples
    --------
    >>> lump(Overdispersion(100.0, 26.0))  # a hundred vectors that share half of their energy
    50.0
    """
    return max(1.0, math.sqrt((found.inflation - 1.0) * found.length))


def _pairs(values: Array) -> Array:
    """Return the sums of neighbors; the last of an odd number stays alone."""
    even = len(values) // 2 * 2
    sums = values[:even:2] + values[1:even:2]
    return sums if even == len(values) else np.concatenate([sums, values[even:]])


@lru_cache(maxsize=16)
def _directions(dim: int) -> Array:
    """Return H₁ and H₂ side by side; they are the same in every process."""
    rng = np.random.default_rng(dim)
    return np.hstack([np.linalg.qr(rng.standard_normal((max(dim, SIDE), SIDE)))[0][:dim] for _ in range(2)])
