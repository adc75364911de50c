"""Thompson sampling: a model drawn from the posterior decides (in the subspace, the paper's future work)."""

import numpy as np

from eigenbandits import inputs
from eigenbandits.belief.base import View
from eigenbandits.rules.base import Choice, Rule


class Thompson(Rule):
    """Follow a model drawn from N(estimate, scale² Gram⁻¹).

    The choice is the favorite of one of `samples` models, each equally likely to decide, so its distribution is that of
    Thompson sampling however many there are. *Given the models*, action i is chosen with probability exactly qᵢ, the
    share of models that favor it, and qᵢ is the propensity that the decision carries. An inverse propensity estimate is
    then unbiased for every policy that only takes actions with qᵢ above 0, since E[1{a = i}/qᵢ | models] = 1 holds for
    each of these, and so does the mean over models. For an action that no model favors the expectation is 0: without a
    floor (`Floor`), the log says nothing about it, and the more actions there are, the more of them are in this
    situation.

    Parameters
    ----------
    scale
        Standard deviation of the posterior in units of Gram^{-1/2}; None uses the belief's own, the noise R, which
        gives the Bayesian posterior for Gaussian noise R and the prior N(0, R²/λ).
    samples
        How many models are drawn in each round. One is the cheapest; the choice is then certain given the model, and
        decisions carry no propensity.
    """

    needs = ("posterior",)

    def __init__(self, scale: float | None = None, samples: int = 100) -> None:
        self.scale = None if scale is None else inputs.size(scale, "scale", zero=True)
        self.samples = inputs.whole(samples, "samples")

    def choose(self, view: View, size: int, rng: np.random.Generator) -> Choice:
        """Choose the favorite of the first model drawn; models are exchangeable, so it is as good as a random one."""
        models = view.posterior(self.samples, rng, self.scale)
        favorites = models.values.argmax(axis=1)
        index = int(favorites[0])
        chances = np.bincount(favorites, minlength=size) / self.samples if self.samples > 1 else None
        # Computed now, since a decision that waits for its reward should not keep all the other models alive.
        model = models.vector(0)
        return Choice(index, float(models.values[0, index]), lambda: model, view.finding(index), chances)
