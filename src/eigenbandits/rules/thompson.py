"""Thompson sampling: one model drawn from the posterior decides (the paper's future work, in the subspace)."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from eigenbandits import inputs
from eigenbandits.belief.base import View
from eigenbandits.rules.base import Choice, Rule


class Thompson(Rule):
    """Follow a model drawn from N(estimate, scale² Gram⁻¹).

    Parameters
    ----------
    scale
        Standard deviation of the posterior in units of Gram^{-1/2}; None takes the belief's own, the noise R, which
        makes it the Bayesian posterior for Gaussian noise R and the prior N(0, R²/λ).
    propensity_draws
        How many models estimate the probability of the action chosen, the deciding one among them; 0 leaves it out.
    """

    needs: ClassVar[tuple[str, ...]] = ("posterior",)

    def __init__(self, scale: float | None = None, propensity_draws: int = 100) -> None:
        self.scale = None if scale is None else inputs.size(scale, "scale", zero=True)
        self.propensity_draws = inputs.whole(propensity_draws, "propensity_draws", least=0)

    def choose(self, view: View, size: int, rng: np.random.Generator) -> Choice:
        """Choose the favourite of the first model drawn; the others only count how often it would have won."""
        models = view.posterior(max(self.propensity_draws, 1), rng, self.scale)
        winners = models.values.argmax(axis=1)
        index = int(winners[0])
        propensity = float(np.mean(winners == index)) if self.propensity_draws else None
        # The one model, taken now: a decision that waits for its reward should not keep all the others alive.
        model = models.vector(0)
        return Choice(index, float(models.values[0, index]), lambda: model, view.finding(index), propensity)
