"""What labeled examples in the order of a seed have in common, whether they are held or formed when they are due."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eigenbandits.inputs import Array, whole


class OrderedExamples:
    """Examples of which one row earns 1 and every other 0, in the order of one seed.

    Parameters
    ----------
    environment : Any
        Where they are from; has a ``name`` and says whether to ``shuffle`` them.
    seed : int
        At least 0.
    examples, classes, dim : int
        How many there are, K and d.
    """

    structure = None
    noise = 0.5

    def __init__(self, environment: Any, seed: int, examples: int, classes: int, dim: int) -> None:
        self.environment = environment
        self.seed = whole(seed, "seed", least=0)
        self.examples = examples
        self.basis: Array = np.zeros((dim, 0))
        # Row k is what the actions are worth where the right one is k.
        self._worth: Array = np.eye(classes)
        self._worth.flags.writeable = False

    @property
    def name(self) -> str:
        """The name of the environment."""
        return str(self.environment.name)

    def _orders(self) -> Iterator[NDArray[np.int64]]:
        """Give the numbers of all examples in an order, and then in another, without end."""
        rng = np.random.default_rng(self.seed)
        while True:
            yield rng.permutation(self.examples) if self.environment.shuffle else np.arange(self.examples)
