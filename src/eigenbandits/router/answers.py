"""`Answers`: the latest judged answers, from which a belief can be rebuilt."""

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from eigenbandits.component import Component

CAPACITY = 4096
# Answers of each model that are always kept.
FEWEST = 16


class Answers(Component):
    """Prompts, the models that answered them, rewards and costs, oldest first; the oldest are dropped.

    Vectors are kept in single precision, which is what encoders return.

    Parameters
    ----------
    capacity
        How many answers are kept.
    """

    _state_names: ClassVar[tuple[str, ...]] = ("vectors", "models", "rewards", "costs")

    def __init__(self, capacity: int = CAPACITY) -> None:
        self.capacity = capacity
        self._room: NDArray[np.float32] = np.zeros((0, 0), dtype=np.float32)
        self.models: list[int] = []
        self.rewards: list[float] = []
        self.costs: list[float] = []

    def __len__(self) -> int:
        """Return how many answers are kept."""
        return len(self.models)

    @property
    def vectors(self) -> NDArray[np.float32]:
        """The prompts (n, d)."""
        return self._room[: len(self.models)]

    @vectors.setter
    def vectors(self, rows: NDArray[np.float32]) -> None:
        self._room = np.array(rows, dtype=np.float32)

    def add(self, vector: NDArray[np.floating[Any]], model: int, reward: float, cost: float) -> None:
        """Add one answer; its cost may be NaN."""
        count = len(self)
        if count == len(self._room):
            kept = self._room
            self._room = np.zeros((max(2 * count, 64), len(vector)), dtype=np.float32)
            if count:
                self._room[:count] = kept
        self._room[count] = vector
        self.models.append(model)
        self.rewards.append(reward)
        self.costs.append(cost)

    @property
    def full(self) -> bool:
        """Whether it is time to `trim`: not one answer at a time, since removing the front of a list is slow."""
        return len(self) >= 2 * self.capacity

    def trim(self) -> None:
        """Keep only the latest answers, and the last few of each model, so that no model is forgotten entirely."""
        if len(self) > self.capacity:
            kept = np.arange(len(self)) >= len(self) - self.capacity
            for model in set(self.models):
                kept[self.of(model)[-FEWEST:]] = True
            self.keep(np.flatnonzero(kept))

    def keep(self, rows: NDArray[np.intp]) -> None:
        """Keep only these answers."""
        self._room = self.vectors[rows].copy()
        self.models, self.rewards, self.costs = (
            [values[row] for row in rows] for values in (self.models, self.rewards, self.costs)
        )

    def of(self, model: int) -> NDArray[np.intp]:
        """Return the rows of the answers that a model gave."""
        return np.flatnonzero(np.array(self.models) == model)

    def scale_costs(self, model: int, factor: float) -> None:
        """Multiply the costs of a model's answers."""
        for row in self.of(model).tolist():
            self.costs[row] *= factor
