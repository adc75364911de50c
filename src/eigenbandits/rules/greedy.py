"""Rules that do not look at uncertainty: the best estimate, with or without chance."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from eigenbandits import inputs
from eigenbandits.belief.base import View
from eigenbandits.rules.base import Choice, Rule


class BestEstimate(Rule):
    """The action with the highest estimated value."""

    needs: ClassVar[tuple[str, ...]] = ("estimates",)

    def choose(self, view: View, size: int, rng: np.random.Generator) -> Choice:
        """Choose by the estimate alone."""
        estimates = view.estimates()
        index = int(estimates.argmax())
        return Choice(index, float(estimates[index]), view.believer(), view.finding(index))


class EpsilonBest(Rule):
    """The best estimate, but with probability ε any action, evenly.

    Parameters
    ----------
    epsilon
        ε in [0, 1].
    """

    needs: ClassVar[tuple[str, ...]] = ("estimates",)

    def __init__(self, epsilon: float = 0.1) -> None:
        self.epsilon = inputs.number(epsilon, "epsilon", least=0.0)
        if self.epsilon > 1.0:
            raise ValueError(f"epsilon is {self.epsilon:g}; expected a probability, from 0 to 1.")

    def choose(self, view: View, size: int, rng: np.random.Generator) -> Choice:
        """Choose by the estimate, or by chance."""
        estimates = view.estimates()
        best = int(estimates.argmax())
        index = int(rng.integers(size)) if rng.random() < self.epsilon else best
        propensity = self.epsilon / size + (1.0 - self.epsilon) * (index == best)
        return Choice(index, float(estimates[index]), view.believer(), view.finding(index), propensity)


class Uniform(Rule):
    """Any action, evenly."""

    needs: ClassVar[tuple[str, ...]] = ("estimates",)

    def choose(self, view: View, size: int, rng: np.random.Generator) -> Choice:
        """Choose by chance."""
        index = int(rng.integers(size))
        return Choice(index, view.estimate(index), view.believer(), view.finding(index), 1.0 / size)
