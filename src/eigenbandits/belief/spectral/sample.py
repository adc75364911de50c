"""An evenly spaced sample of the rewards seen, in bounded memory, from which a prior is learned in many dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from eigenbandits import merging
from eigenbandits.component import Component
from eigenbandits.inputs import Array
from eigenbandits.merging import Replica
from eigenbandits.translation import RowMap

# Beyond this many dimensions the subspace tracks only the leading directions, and the prior is learned from a sample.
MANY_DIMENSIONS = 512
# The size of that sample: half of it may be all that is left, and in many dimensions fewer rewards than that mistake
# weak signals for noise. The time of a fit grows with the cube of the size (`eigenbandits calibrate sample`). In fewer
# dimensions, the sample is used while there are fewer rewards than d/2, because that is faster.
SAMPLE = 1024


class Sample(Component):
    """Every reward at first; once the room is full, every second reward, then every fourth, and so on.

    With a half-life, the latest rewards, the only ones that still carry weight.

    Examples
    --------
    >>> sample = Sample()
    >>> sample.start(1, 512)
    >>> for number in range(600):
    ...     sample.add(np.array([float(number)]), 0.0)
    >>> sample.fill, sample.stride, sample.rows[1, 0]
    (300, 2, np.float64(2.0))
    """

    _state_names: ClassVar[tuple[str, ...]] = ("rows", "rewards", "fill", "seen", "stride", "drawn")

    def __init__(self, half_life: float | None = None) -> None:
        self.half_life = half_life
        self.rows: Array = np.zeros((0, 0))
        self.rewards: Array = np.zeros(0)
        self.fill = 0
        self.seen = 0
        self.stride = 1
        # Whether rows were drawn by `translate`, so that the sums are more accurate.
        self.drawn = False

    def start(self, dim: int, size: int) -> None:
        """Allocate room for this many rewards, or one fewer if the number is odd."""
        even = 2 * (size // 2)
        self.rows = np.zeros((even, dim))
        self.rewards = np.zeros(even)

    def add(self, row: Array, reward: float) -> None:
        """Record one lifted action and its reward."""
        number, size = self.seen, len(self.rewards)
        self.seen += 1
        if number % self.stride or not size:
            return
        if self.half_life is not None:
            self.rows[number % size], self.rewards[number % size] = row, reward
            self.fill = min(self.fill + 1, size)
            return
        if self.fill == size:
            half = size // 2
            self.rows[:half], self.rewards[:half] = self.rows[::2].copy(), self.rewards[::2].copy()
            self.fill, self.stride = half, 2 * self.stride
        if number % self.stride == 0:
            self.rows[self.fill], self.rewards[self.fill] = row, reward
            self.fill += 1

    def add_many(self, rows: Array, rewards: Array) -> None:
        """Record many."""
        if not len(self.rewards):
            self.seen += len(rows)
            return
        if self.half_life is not None:
            size = len(self.rewards)
            places = np.arange(self.seen, self.seen + len(rows))[-size:] % size
            self.rows[places], self.rewards[places] = rows[-size:], rewards[-size:]
            self.seen += len(rows)
            self.fill = min(self.fill + len(rows), size)
            return
        place = 0
        while place < len(rows):
            self.add(rows[place], float(rewards[place]))
            # Rewards before the next one kept are only counted.
            skipped = min(-self.seen % self.stride, len(rows) - place - 1)
            self.seen += skipped
            place += 1 + skipped

    def merge(self, replicas: Sequence[Replica[Sample]], raised: Sequence[float]) -> None:
        """Become an even sample of all replicas' rewards, each replica's raised by a constant of its own."""
        base = next((replica.part for replica in replicas if replica.weight < 0), None)
        stride = max(replica.part.stride for replica in replicas)
        kept: list[tuple[Array, Array]] = []
        for place, (replica, level) in enumerate(zip(replicas, raised, strict=True)):
            part = replica.part
            if replica.weight < 0:
                continue
            # A sample keeps its rows in order of arrival: those of the common base come first.
            first = -(-base.fill * base.stride // part.stride) if base is not None and place else 0
            step = stride // part.stride
            rows, rewards = part.rows[first : part.fill : step], part.rewards[first : part.fill : step]
            kept.append((replica.shift.rows(rows), rewards + level))
        rows, rewards = (np.concatenate(columns) for columns in zip(*kept, strict=True))
        while len(rows) > len(self.rewards):
            rows, rewards, stride = rows[::2], rewards[::2], 2 * stride
        self.seen, self.stride, self.fill = merging.count(replicas, "seen"), stride, len(rows)
        self.rows[: self.fill], self.rewards[: self.fill] = rows, rewards

    def translate(self, old: Sample, change: RowMap, rng: np.random.Generator) -> None:
        """Become a copy of another sample, with each row drawn as the new encoder may have embedded it."""
        places = np.arange(old.fill)
        if old.half_life is not None:
            # In order of arrival.
            places = np.argsort((places - old.seen) % max(len(old.rewards), 1), kind="stable")
        rows, rewards, stride = change.draws(old.rows[places], rng), old.rewards[places], old.stride
        size = len(self.rewards)
        if self.half_life is not None:
            # The latest are kept.
            first = max(len(rows) - size, 0)
            rows, rewards = rows[first:], rewards[first:]
        if not size and len(rows):
            rows, rewards, stride = rows[:0], rewards[:0], 1
        while len(rows) > size:
            rows, rewards, stride = rows[::2], rewards[::2], 2 * stride
        self.fill, self.stride, self.drawn = len(rows), stride, True
        self.seen = old.seen if self.half_life is None else self.fill
        self.rows[: self.fill], self.rewards[: self.fill] = rows, rewards

    @property
    def complete(self) -> bool:
        """Whether the sample has every reward, at full weight and with its original row."""
        return self.fill == self.seen and self.half_life is None and not self.drawn

    def residuals(self, model: Array | None) -> tuple[Array, Array, float]:
        """Return rows and rewards less a model's predictions, times the square roots of the weights; and Σ weights."""
        rows, rewards, weights = self.rows[: self.fill], self.rewards[: self.fill], self.weights()
        if model is not None:
            rewards = rewards - rows @ model
        if self.half_life is not None:
            rows, rewards = rows * np.sqrt(weights)[:, None], rewards * np.sqrt(weights)
        return rows, rewards, float(weights.sum())

    def weights(self) -> Array:
        """Return the weight of each row, which halves with each half-life since it was added."""
        if self.half_life is None:
            return np.ones(self.fill)
        ages = (self.seen - 1 - np.arange(self.fill)) % max(len(self.rewards), 1)
        return np.asarray(0.5 ** (ages / self.half_life))
