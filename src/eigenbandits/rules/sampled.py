"""Optimism by sampling, as in the paper's experiments: of many models, the most optimistic one decides."""

from functools import partial

import numpy as np

from eigenbandits import inputs
from eigenbandits.belief.base import View
from eigenbandits.rules.base import Choice, Rule

# The number of values (models times actions) computed at a time: a megabyte, which stays in the cache.
_VALUES = 1 << 17


class SampledOptimism(Rule):
    """Draw `samples` models from the confidence set and follow the one that promises most (section 5 of the paper).

    Models are drawn from the boundary of the set, since its optimistic members lie there. The promised value approaches
    the closed form from below as the number of samples grows.

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
        # Computed now, since a decision that waits for its reward should not keep all the other models alive.
        model = best.model()
        return Choice(best.index, best.upper, lambda: model, view.finding(best.index))
