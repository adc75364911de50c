"""Labeled examples in an order drawn by a seed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eigenbandits.environments.base import DataInstance


class OrderedExamples(DataInstance):
    """Examples of which one row earns 1 and every other 0, in an order drawn by the seed if they are shuffled."""

    def __init__(self, environment: Any, seed: int, dim: int, examples: int, classes: int) -> None:
        super().__init__(environment, seed, dim)
        self.examples = examples
        # Row k is what the actions are worth where the right one is k.
        self._worth = np.eye(classes)
        self._worth.flags.writeable = False

    def _orders(self) -> Iterator[NDArray[np.int64]]:
        """Yield one order of all examples after another, without end."""
        rng = np.random.default_rng(self.seed)
        while True:
            yield rng.permutation(self.examples) if self.environment.shuffle else np.arange(self.examples)
