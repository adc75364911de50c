"""The third axis: which action follows from a belief, seen through the decision set."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from eigenbandits.belief.base import Finding, View
from eigenbandits.component import Component

Array = NDArray[np.float64]


# Not frozen: one is made in every round, and that would triple its cost.
@dataclass(slots=True, eq=False)
class Choice:
    """What a rule decided.

    Attributes
    ----------
    index, upper, model
        The action chosen, its optimistic value, and what gives the model behind it.
    finding
        What looking found that the belief wants to keep; `View.finding` gives it.
    propensity
        How likely the choice was, where the rule is randomized.
    """

    index: int
    upper: float
    model: Callable[[], Array]
    finding: Finding | None = None
    propensity: float | None = None


class Rule(Component):
    """Base of the rule axis."""

    # What it asks of a view, of "estimates", "uppers", "posterior" and "boundary"; checked against `Belief.offers`.
    needs: ClassVar[tuple[str, ...]] = ()

    def choose_many(self, view: View, sizes: list[int], rng: np.random.Generator) -> list[Choice]:
        """Choose one action in each of the consecutive parts of a view."""
        starts = np.cumsum([0, *sizes]).tolist()
        return [
            self.choose(view.part(start, start + size), size, rng)
            for start, size in zip(starts[:-1], sizes, strict=True)
        ]

    def choose(self, view: View, size: int, rng: np.random.Generator) -> Choice:
        """Choose one of `size` actions."""
        raise TypeError(f"{type(self).__name__} does not say how it chooses: give it a method choose().")
