"""Rules that ignore uncertainty: the best estimate, and chance."""

import numpy as np

from eigenbandits.belief.base import View
from eigenbandits.rules.base import Choice, Rule


class BestEstimate(Rule):
    """The action with the highest estimated value."""

    needs = ("estimates",)

    def choose(self, view: View, size: int, rng: np.random.Generator) -> Choice:
        """Choose by the estimate alone."""
        estimates = view.estimates()
        index = int(estimates.argmax())
        return Choice(index, float(estimates[index]), view.believer(), view.finding(index))


class Uniform(Rule):
    """An action drawn uniformly."""

    needs = ("estimates",)

    def choose(self, view: View, size: int, rng: np.random.Generator) -> Choice:
        """Choose uniformly at random."""
        index = int(rng.integers(size))
        chances = np.full(size, 1.0 / size)
        return Choice(index, view.estimate(index), view.believer(), view.finding(index), chances)
