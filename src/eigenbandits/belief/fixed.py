"""A model that rewards do not change."""

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from eigenbandits import merging
from eigenbandits.belief.base import Belief, Rows, View
from eigenbandits.inputs import Array
from eigenbandits.merging import Replica
from eigenbandits.subspace.base import Frame


class FixedModel(Belief):
    """A model that rewards do not change: the truth, or zero.

    Parameters
    ----------
    theta
        The model; None is the zero vector.
    """

    _state_names: ClassVar[tuple[str, ...]] = ("model", "count")

    def __init__(self, theta: Array | None = None) -> None:
        self.theta = theta
        self.model: Array = np.zeros(0)
        self.count = 0

    def start(self, dim: int, intercept: float = 0.0) -> None:
        """Check the model's length, or set up zeros."""
        if self.theta is not None and len(self.theta) != dim:
            raise ValueError(f"theta has length {len(self.theta)}; the actions have length {dim}.")
        self.model = np.zeros(dim) if self.theta is None else self.theta

    def learn(self, action: Array, reward: float, forecast: Array | None = None) -> None:
        """Count the reward."""
        self.count += 1

    def merge(self, replicas: Sequence[Replica[Any]], frame: Frame | None) -> None:
        """Add up the numbers of rewards learned."""
        self.count = merging.count(replicas, "count")

    def view(self, lifted: Array) -> View:
        """Return a view of the model through a decision set."""
        return _FixedView(self.model, lifted)

    def diagnostics(self, frame: Frame | None) -> dict[str, Any]:
        """Return the number of rewards learned."""
        return {"rewards_learned": self.count}


class _FixedView(View):
    def __init__(self, model: Array, lifted: Array) -> None:
        self.model = model
        self.lifted = lifted

    def estimates(self) -> Array:
        return np.asarray(self.lifted @ self.model)

    def part(self, rows: slice | Rows) -> View:
        return _FixedView(self.model, self.lifted[rows])

    def believer(self) -> Callable[[], Array]:
        model = self.model
        return lambda: model
