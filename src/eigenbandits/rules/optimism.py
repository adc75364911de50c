"""Optimism in the face of uncertainty: the action whose best plausible value is highest."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from eigenbandits.belief.base import View
from eigenbandits.rules.base import Choice, Rule


class Optimism(Rule):
    """The highest optimistic value in closed form; over two sets, the highest lower value of the two."""

    needs: ClassVar[tuple[str, ...]] = ("uppers",)

    def choose(self, view: View, size: int, rng: np.random.Generator) -> Choice:
        """Choose the most promising action."""
        index, upper = view.best()
        model = view.optimist(index)
        return Choice(index, upper, model, view.finding(index))

    def choose_many(self, view: View, sizes: list[int], rng: np.random.Generator) -> list[Choice]:
        """Choose in each part, having looked at all of them at once."""
        view.prefetch(sizes)
        return super().choose_many(view, sizes, rng)


class ExactOptimism(Rule):
    """The highest optimistic value over the intersection of two sets, exactly (docs/mathematics.md)."""

    needs: ClassVar[tuple[str, ...]] = ("uppers",)

    def choose(self, view: View, size: int, rng: np.random.Generator) -> Choice:
        """Choose the most promising action."""
        index, upper = view.best_exact()
        model = view.optimist_exact(index)
        return Choice(index, upper, model, view.finding(index))
