"""Optimism by sampling, as the paper's experiments do it: many models, and the most optimistic of them decides."""

from __future__ import annotations

from functools import partial

import numpy as np

from eigenbandits import inputs
from eigenbandits.belief.base import View
from eigenbandits.rules.base import Choice, Rule

# Values of models for actions that are computed at a time: a megabyte, which stays in the cache.
_VALUES = 1 << 17


class SampledOptimism(Rule):
    """Draw `samples` models from the confidence set and follow the one that promises most (section 5 of the paper).

    Models come from the boundary of the set, since that is where its optimistic members are. The promise approaches
    the closed form from below as samples grow.

    Parameters
    ----------
    samples
        How many models are drawn in each round.
    """

    needs = ("boundary",)

    def __init__(self, samples: int = 1000) -> None:
        self.samples = inputs.whole(samples, "samples")

    def choose(self, view: View, size: int, rng: np.random.Generator) -> Choice:
        """Choose the favorite of the most optimistic model drawn."""
        together = max(1, _VALUES // size)
        best: Choice | None = None
        for start in range(0, self.samples, together):
            models = view.boundary(min(together, self.samples - start), rng)
            which, index = np.unravel_index(int(models.values.argmax()), models.values.shape)
            row, chosen = int(which), int(index)
            upper = float(models.values[row, chosen])
            if best is None or upper > best.upper:
                best = Choice(chosen, upper, partial(models.vector, row))
        assert best is not None
        # The one model, taken now: a decision that waits for its reward should not keep all the others alive.
        model = best.model()
        return Choice(best.index, best.upper, lambda: model, view.finding(best.index))
