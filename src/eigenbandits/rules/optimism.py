"""Optimism in the face of uncertainty: the action whose best plausible value is highest."""

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from eigenbandits.belief.base import View
from eigenbandits.merging import Replica
from eigenbandits.rules.base import Choice, Rule

# The number of choices before the first trial that costs more than its allowance (`eigenbandits calibrate patience`).
PATIENCE = 100.0


class Optimism(Rule):
    """The highest optimistic value in closed form; for two sets, the highest minimum of the two values.

    If a view limits the cost of exploring (`View.allowance`), an action whose estimate falls short of the best one by
    more than that is tried only once the allowances of the choices since the last such trial add up to its cost.
    """

    needs = ("uppers",)
    _state_names: ClassVar[tuple[str, ...]] = ("debt",)

    def __init__(self) -> None:
        # How many choices it takes to make up for the last trial.
        self.debt = PATIENCE

    def choose(self, view: View, size: int, rng: np.random.Generator) -> Choice:
        """Choose the most promising action."""
        index, upper = view.best()
        if view.allowance < math.inf:
            index, upper = self._afforded(view, index, upper)
        model = view.optimist(index)
        return Choice(index, upper, model, view.finding(index))

    def _afforded(self, view: View, index: int, upper: float) -> tuple[int, float]:
        """Return the most promising action if it can be afforded, else the one with the best estimate."""
        self.debt = max(self.debt - 1.0, 0.0)
        estimates = view.estimates()
        best = int(estimates.argmax())
        cost = float(estimates[best] - estimates[index])
        if cost > view.allowance:
            if self.debt or not view.allowance:
                return best, float(view.uppers()[best])
            self.debt = cost / view.allowance
        return index, upper

    def merge(self, replicas: Sequence[Replica[Any]]) -> None:
        """Wait as long as the replica that has to wait longest."""
        self.debt = max(replica.part.debt for replica in replicas)

    def choose_many(self, view: View, sizes: list[int], rng: np.random.Generator) -> list[Choice]:
        """Choose in each part, after prefetching all of them at once."""
        view.prefetch(sizes)
        return super().choose_many(view, sizes, rng)


class ExactOptimism(Rule):
    """The highest optimistic value over the intersection of two sets, exactly (docs/mathematics.md)."""

    needs = ("uppers",)

    def choose(self, view: View, size: int, rng: np.random.Generator) -> Choice:
        """Choose the most promising action."""
        index, upper = view.best_exact()
        model = view.optimist_exact(index)
        return Choice(index, upper, model, view.finding(index))


class JointOptimism(Rule):
    """The highest (P′x)ᵀθ over plausible projections P′ and models θ together: line 9 of Algorithm 1.

    `Decision.model` gives θ̃ and `Decision.projection` P̃. Each action that can still win takes a search of some
    milliseconds: for fidelity, not for speed.
    """

    needs = ("joint",)

    def choose(self, view: View, size: int, rng: np.random.Generator) -> Choice:
        """Choose the most promising action."""
        index, upper = view.best_joint()
        model = view.optimist_joint(index)
        return Choice(index, upper, model, view.finding(index))
