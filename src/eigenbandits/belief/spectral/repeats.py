"""Repeated rewards of identical actions: how much they say about other actions, and about their own."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from eigenbandits import merging
from eigenbandits.belief.spectral import prior
from eigenbandits.component import Component
from eigenbandits.inputs import Array
from eigenbandits.merging import Replica

# How many actions are remembered, the latest ones: 200 KB, the size of Σ in 157 dimensions. Actions that will recur
# should be among them (`eigenbandits calibrate room`).
ROOM = 8192
# An action is refuted once its own rewards, below the average of all, have more than half of the say about it.
REFUTED = 0.5
# The prior that repetitions are as noisy as all other rewards weighs as much as the prior on the noise (`eigenbandits
# calibrate repeats`).
WEIGHT = 2.0 * prior.WEIGHT


class Repeats(Component):
    """A random effect for each repeated action, on top of the linear model. Actions are the same if their bits are.

    A linear model is wrong about an action x by some u(x), and makes the same error each time x is chosen. Let ι be the
    share of the residual variance that repetitions have in common: 1 less the ratio of the variance of rewards about
    their own action's mean to all of it. Then n rewards of x with mean r̄ say two things:

    - about θ, as much as n/(1 + (n − 1)ι) different actions would: questions that are asked again and again are not
      memorized at the expense of all others;
    - about x itself, that it is worth a share κ = nι/(1 + (n − 1)ι) of the way from the linear estimate to r̄.

    If repetitions vary as much as everything else, ι is 0: every reward counts, and κ is 0. If the same action always
    earns the same, ι is 1: only the first reward counts, and the action is worth what it has earned.

    Examples
    --------
    >>> repeats = Repeats()
    >>> [repeats.count(np.ones(2), 1.0, variance=0.25) for _ in range(7)]  # five say that the reward is always the same
    [True, True, True, True, True, False, False]
    """

    _state_names: ClassVar[tuple[str, ...]] = (
        *("keys", "counts", "means", "fill", "next", "within", "repeated", "owed", "skipped"),
    )

    def __init__(self) -> None:
        self.keys: NDArray[np.uint64] = np.zeros(0, dtype=np.uint64)
        self.counts: Array = np.zeros(0)
        self.means: Array = np.zeros(0)
        self.fill = 0
        self.next = 0
        # The sum of squares of repeated rewards about their action's mean, and how many there are.
        self.within = 0.0
        self.repeated = 0.0
        # The information in repetitions that has not counted yet, and the number of rewards left out.
        self.owed = 0.0
        self.skipped = 0
        self._places: dict[int, int] | None = None

    def restore(self, state: dict[str, Any]) -> None:
        """Restore a saved state."""
        super().restore(state)
        self._places = None

    def count(self, row: Array, reward: float, variance: float) -> bool:
        """Record a reward; return whether it counts toward θ, given the variance of the rewards about the model."""
        key = int(_digests(row[None])[0])
        place = self._find(key)
        if place is None:
            self._remember(key, reward)
            return True
        before, mean = float(self.counts[place]), float(self.means[place])
        self.within += (reward - mean) ** 2 * before / (before + 1.0)
        self.repeated += 1
        self.counts[place], self.means[place] = before + 1.0, mean + (reward - mean) / (before + 1.0)
        common = self._common(variance)
        self.owed += _worth(before + 1.0, common) - _worth(before, common)
        if self.owed < 1.0:
            self.skipped += 1
            return False
        self.owed -= 1.0
        return True

    def known(self, rows: Array, variance: float) -> tuple[NDArray[np.intp], Array, Array] | None:
        """Return the rows learned before, with κ and the mean reward r̄ of each, or None if that says nothing."""
        common = self._common(variance) if self.repeated else 0.0
        if not common:
            return None
        matches = [self._find(key) for key in _digests(rows).tolist()]
        known = np.array([row for row, place in enumerate(matches) if place is not None], dtype=np.intp)
        if not len(known):
            return None
        places = [place for place in matches if place is not None]
        # An action whose rewards have faded to less than one has proportionally less of its share.
        whole, part = np.maximum(self.counts[places], 1.0), np.minimum(self.counts[places], 1.0)
        return known, part * common * _worth(whole, common), self.means[places]

    def refuted(self, rows: Array, variance: float) -> NDArray[np.intp] | None:
        """Return the rows that their own rewards have shown to be worse than the average; None if there are none."""
        found = self.known(rows, variance)
        if found is None:
            return None
        known, shares, means = found
        counts = self.counts[: self.fill]
        average = float(counts @ self.means[: self.fill]) / float(counts.sum())
        refuted = known[(shares > REFUTED) & (means < average)]
        return refuted if len(refuted) else None

    def select(
        self, rows: Array, rewards: Array, forecasts: Sequence[Array | None] | None, variance: float
    ) -> tuple[Array, Array, list[Array | None] | None]:
        """Record many rewards of rows that end with a score; return those that count."""
        kept = [self.count(row[:-1], reward, variance) for row, reward in zip(rows, rewards.tolist(), strict=True)]
        left = None if forecasts is None else [one for one, counts in zip(forecasts, kept, strict=True) if counts]
        return rows[kept], rewards[kept], left

    def fade(self, factor: float) -> None:
        """Multiply the weight of every reward so far by a factor."""
        self.counts *= factor
        self.within *= factor
        self.repeated *= factor

    def forget(self) -> None:
        """Forget the actions, whose vectors change, but not what their repetitions have shown."""
        self.fill = self.next = 0
        self._places = None

    def _find(self, key: int) -> int | None:
        """Return the place of an action, or None if it is not remembered."""
        if self._places is None:
            self._places = {key: place for place, key in enumerate(self.keys[: self.fill].tolist())}
        return self._places.get(key)

    def _common(self, variance: float) -> float:
        """Return a cautious estimate of ι, with the variance of repetitions two standard errors above its estimate."""
        if variance <= 0.0:
            return 0.0
        known = self.repeated + WEIGHT
        own = (self.within + WEIGHT * variance) / known * (1.0 + 2.0 * math.sqrt(2.0 / known))
        return max(1.0 - own / variance, 0.0)

    def _remember(self, key: int, reward: float) -> None:
        assert self._places is not None
        if not len(self.keys):
            self.keys, self.counts, self.means = np.zeros(ROOM, dtype=np.uint64), np.zeros(ROOM), np.zeros(ROOM)
        if self.fill == ROOM:
            del self._places[int(self.keys[self.next])]
        self._places[key] = self.next
        self.keys[self.next], self.counts[self.next], self.means[self.next] = key, 1.0, reward
        self.fill, self.next = max(self.fill, self.next + 1), (self.next + 1) % ROOM

    def merge(self, replicas: Sequence[Replica[Repeats]]) -> None:
        """Add up the statistics of repetitions, and the remembered rewards of each action."""
        sums: dict[int, Array] = {}
        for replica in replicas:
            # Rows in other coordinates have different bits.
            if replica.shift.same:
                part, used = replica.part, slice(replica.part.fill)
                for key, count, mean in zip(part.keys[used].tolist(), part.counts[used], part.means[used], strict=True):
                    sums[key] = sums.get(key, 0.0) + replica.weight * count * np.array([1.0, mean])
        for name in ("within", "repeated", "skipped"):
            setattr(self, name, merging.total(replicas, name))
        # New arrays: the replicas' own arrays are only read.
        self.keys, self.counts, self.means = np.zeros(0, dtype=np.uint64), np.zeros(0), np.zeros(0)
        self.forget()
        self._places = {}
        for key, (count, total) in sums.items():
            if count > 0.0:
                self._remember(key, total / count)
                self.counts[self._places[key]] = count


def _worth(count: Any, common: float) -> Any:
    """Return how many different actions this many repetitions of one action are worth."""
    return count / (1.0 + (count - 1.0) * common)


def _digests(rows: Array) -> NDArray[np.uint64]:
    """Return a hash of each row (n, D), almost surely different for different rows: universal hashing of its bits."""
    bits = np.ascontiguousarray(rows, dtype=np.float64).view(np.uint64)
    return np.asarray(np.einsum("ij,j->i", bits, _multipliers(rows.shape[1])))


@lru_cache(maxsize=8)
def _multipliers(dim: int) -> NDArray[np.uint64]:
    """Return odd random numbers, the same in every process."""
    return np.random.default_rng(0).integers(0, 2**64, size=dim, dtype=np.uint64) | np.uint64(1)
