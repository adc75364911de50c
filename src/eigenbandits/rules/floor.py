"""Floor: with a small probability, an action drawn uniformly, so that no action is less likely than that."""

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from eigenbandits import inputs, merging
from eigenbandits.belief.base import View
from eigenbandits.inputs import Array
from eigenbandits.merging import Replica
from eigenbandits.rules.base import Choice, Rule, parts_of


class Floor(Rule):
    """With probability ε an action drawn uniformly; otherwise the choice of another rule.

    If the other rule chooses action i with probability qᵢ, this one does so with pᵢ = (1 − ε)qᵢ + ε/K, which is the
    propensity recorded in the decision. Since no action is less likely than ε/K, any other policy can be evaluated from
    a log of the decisions, with importance weights of at most K/ε.

    Parameters
    ----------
    rule
        The other rule.
    epsilon
        ε in [0, 1].

    Examples
    --------
    >>> import eigenbandits as eb
    >>> rule = Floor(eb.rules.BestEstimate(), epsilon=0.3)
    >>> policy = eb.Policy(eb.subspace.Whole(), eb.belief.Ambient(0.1), rule, seed=0)
    >>> policy.learn([1.0, 0.0], 1.0)
    >>> policy.probabilities([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]]).round(3).tolist()
    [0.8, 0.1, 0.1]
    """

    _state_names: ClassVar[tuple[str, ...]] = ("rule",)

    def __init__(self, rule: Rule, epsilon: float = 0.1) -> None:
        self.rule = rule
        self.epsilon = inputs.share(epsilon, "epsilon")
        self.needs = rule.needs

    def choose(self, view: View, size: int, rng: np.random.Generator) -> Choice:
        """Choose as the other rule does, or at random."""
        return self._mix(self.rule.choose(view, size, rng), view, size, rng)

    def choose_many(self, view: View, sizes: list[int], rng: np.random.Generator) -> list[Choice]:
        """Let the other rule choose in all parts at once, then replace some of the choices at random."""
        chosen = zip(self.rule.choose_many(view, sizes, rng), parts_of(view, sizes), sizes, strict=True)
        return [self._mix(choice, part, size, rng) for choice, part, size in chosen]

    def merge(self, replicas: Sequence[Replica[Any]]) -> None:
        """Merge the state of the other rule."""
        merging.refuse_unknown(self.rule)
        self.rule.merge([replica.inside(replica.part.rule) for replica in replicas])

    def _mix(self, choice: Choice, view: View, size: int, rng: np.random.Generator) -> Choice:
        chances = mixed(choice.certain(size) if choice.chances is None else choice.chances, self.epsilon)
        if rng.random() < self.epsilon:
            index = int(rng.integers(size))
            return Choice(index, view.estimate(index), view.believer(), view.finding(index), chances)
        choice.chances = chances
        return choice


def mixed(chances: Array, epsilon: float) -> Array:
    """Return (1 − ε)q + ε/K, written so that the only action of a set keeps a probability of exactly 1."""
    return np.asarray(chances + epsilon * (1.0 / len(chances) - chances))


def floored(rule: Rule, floor: float) -> Rule:
    """Return a rule with a floor ε under its probabilities, or unchanged if ε is 0."""
    return Floor(rule, floor) if inputs.share(floor, "floor") else rule
