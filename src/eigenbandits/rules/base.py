"""Rule: which action follows from a belief, as seen through the decision set."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eigenbandits.belief.base import Finding, View
from eigenbandits.component import Component
from eigenbandits.inputs import Array
from eigenbandits.merging import Replica


# Not frozen: one is made in every round, and freezing would triple its cost.
@dataclass(slots=True, eq=False)
class Choice:
    """What a rule decided.

    Attributes
    ----------
    index, upper, model
        The chosen action, its optimistic value, and a function that returns the model behind it.
    finding
        What the view has computed that the belief can reuse: `View.finding`.
    chances
        The probability (K,) with which each action could have been chosen, if the rule is randomized.
    """

    index: int
    upper: float
    model: Callable[[], Array]
    finding: Finding | None = None
    chances: Array | None = None

    @property
    def propensity(self) -> float | None:
        """The probability of the chosen action, if the rule is randomized."""
        return None if self.chances is None else float(self.chances[self.index])

    def certain(self, size: int) -> Array:
        """Return the probabilities (size,) of a choice that involved no chance."""
        chances = np.zeros(size)
        chances[self.index] = 1.0
        return chances

    def spread(self, rows: NDArray[np.intp], size: int) -> None:
        """Express the choice in terms of the `size` actions that these rows come from; no others could be chosen."""
        self.index = int(rows[self.index])
        if self.chances is not None:
            chances = np.zeros(size)
            chances[rows] = self.chances
            self.chances = chances


class Rule(Component):
    """Base of all rules."""

    # What the rule needs from a view: any of "estimates", "uppers", "lowers", "posterior", "boundary" and "joint";
    # checked against `Belief.offers`.
    needs: tuple[str, ...] = ()

    def choose_many(self, view: View, sizes: list[int], rng: np.random.Generator) -> list[Choice]:
        """Choose one action in each of the consecutive parts of a view."""
        return [self.choose(part, size, rng) for part, size in zip(parts_of(view, sizes), sizes, strict=True)]

    def choose(self, view: View, size: int, rng: np.random.Generator) -> Choice:
        """Choose one of `size` actions."""
        raise TypeError(f"{type(self).__name__} has no method choose(); define one.")

    def merge(self, replicas: Sequence[Replica[Any]]) -> None:
        """Become the rule that would have made all the replicas' choices; see `Belief.merge`."""


def parts_of(view: View, sizes: Iterable[int]) -> Iterator[View]:
    """Yield the consecutive parts of a view, given how many actions each has."""
    start = 0
    for size in sizes:
        yield view.part(slice(start, start + size))
        start += size


def draw(chances: Array, rng: np.random.Generator) -> int:
    """Draw an index with these probabilities; an index with probability 0 is never drawn.

    Examples
    --------
    >>> draw(np.array([0.0, 1.0, 0.0]), np.random.default_rng(0))
    1
    """
    reached = chances.cumsum()
    return int(reached.searchsorted(rng.random() * reached[-1], side="right"))
