"""Inverse gap weighting: the worse an action looks, the less often it is tried; among all, or the plausible best."""

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from eigenbandits import inputs, merging
from eigenbandits.belief.base import View
from eigenbandits.inputs import Array
from eigenbandits.merging import Replica
from eigenbandits.rules.base import Choice, Rule, draw


def inverse_gap_weights(gaps: Array, gamma: float, best: int) -> Array:
    """Return 1/(K + γ gap) for each of K actions except the best, which gets the rest (Abe and Long 1999).

    Examples
    --------
    >>> inverse_gap_weights(np.array([0.0, 0.5, 1.0]), gamma=2.0, best=0).round(3).tolist()
    [0.55, 0.25, 0.2]
    """
    weights = 1.0 / (len(gaps) + gamma * gaps)
    weights[best] = 0.0
    weights[best] = 1.0 - weights.sum()
    return np.asarray(weights)


class InverseGap(Rule):
    """Choose each of K actions with probability 1/(K + γ gap), gap being its distance to the best estimate.

    The best gets the remaining probability.

    Parameters
    ----------
    gamma, exponent
        γ in round t is gamma · t^exponent: 0 chooses uniformly, a large one the best estimate. Gaps are in units of the
        reward, so γ is in units of 1/reward; the defaults, which are Vowpal Wabbit's, suit rewards of size 1.

    References
    ----------
    Foster, Rakhlin. Beyond UCB: Optimal and Efficient Contextual Bandits with Regression Oracles. ICML 2020.
    """

    needs = ("estimates",)
    _state_names: ClassVar[tuple[str, ...]] = ("rounds",)

    def __init__(self, gamma: float = 10.0, exponent: float = 0.5) -> None:
        self.gamma = inputs.size(gamma, "gamma", zero=True)
        self.exponent = inputs.share(exponent, "exponent")
        self.rounds = 0

    def choose(self, view: View, size: int, rng: np.random.Generator) -> Choice:
        """Draw an action with these probabilities."""
        self.rounds += 1
        estimates = view.estimates().astype(np.float64, copy=False)
        best = int(estimates.argmax())
        gamma = self.gamma * self.rounds**self.exponent
        chances = inverse_gap_weights(estimates[best] - estimates, gamma, best)
        index = draw(chances, rng)
        return Choice(index, float(estimates[index]), view.believer(), view.finding(index), chances)

    def merge(self, replicas: Sequence[Replica[Any]]) -> None:
        """Count the rounds of all replicas."""
        self.rounds = merging.count(replicas, "rounds")


class RandomizedOptimism(Rule):
    """Optimism that leaves some of its choices to chance, among the actions that may still be the best.

    Candidates are the actions whose upper bound U reaches the highest lower bound L*: no other can be the best while
    the bounds hold. Let b be the candidate with the highest U, which optimism would choose, n the number of candidates,
    and ρ = (U_b − U)/(U_b − L*), between 0 and 1, how far each falls short. A candidate other than b is chosen with
    probability 1/(n(1 + γρ)), and b with the rest.

    The cost of this is bounded by what is not known: on average, the upper bounds of the choices lie below U_b by
    Σ p ρ (U_b − L*) ≤ (U_b − L*)/γ, and U_b − L* is at most the width of b. Where much is known, optimism's regret is
    far below that width, so γ must be large: ``eigenbandits offpolicy regret`` measures the cost.

    Parameters
    ----------
    gamma
        γ: 0 chooses uniformly among the candidates, a large one as optimism does. 1,000 is the smallest of 10, 30, 100,
        300 and 1,000 with which no optimistic policy had more than 1.1 times its regret without chance.

    Examples
    --------
    >>> bounds = np.array([1.0, 0.75, 0.5, 0.3]), np.array([0.5, 0.25, 0.0, -0.2])
    >>> RandomizedOptimism(gamma=1.0).chances(*bounds).round(3).tolist()
    [0.611, 0.222, 0.167, 0.0]
    """

    needs = ("uppers", "lowers")

    def __init__(self, gamma: float = 1000.0) -> None:
        self.gamma = inputs.size(gamma, "gamma", zero=True)

    def chances(self, uppers: Array, lowers: Array) -> Array:
        """Return the probability of each action."""
        best = int(uppers.argmax())
        top = uppers[best]
        # Two sets without a common point may put a lower bound above every upper one; then b is the only candidate.
        least = min(lowers.max(), top)
        candidates = np.flatnonzero(uppers >= least)
        gaps = top - uppers[candidates]
        short = gaps / (top - least) if top > least else gaps
        chances = np.zeros(len(uppers))
        chances[candidates] = inverse_gap_weights(
            short, self.gamma * len(candidates), int(candidates.searchsorted(best))
        )
        return chances

    def choose(self, view: View, size: int, rng: np.random.Generator) -> Choice:
        """Draw an action with these probabilities."""
        uppers = view.uppers()
        chances = self.chances(uppers, view.lowers())
        index = draw(chances, rng)
        return Choice(index, float(uppers[index]), view.optimist(index), view.finding(index), chances)

    def choose_many(self, view: View, sizes: list[int], rng: np.random.Generator) -> list[Choice]:
        """Choose in each part, after prefetching all of them at once."""
        view.prefetch(sizes)
        return super().choose_many(view, sizes, rng)
