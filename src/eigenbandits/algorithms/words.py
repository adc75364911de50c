"""Parts by the words that users give for them."""

from __future__ import annotations

from eigenbandits import inputs
from eigenbandits.rules import ExactOptimism, JointOptimism, Optimism, RandomizedOptimism, Rule, SampledOptimism
from eigenbandits.rules.floor import floored

CLOSED_FORM = ("optimism", "randomized")
EVERY_FORM = ("optimism", "exact", "sampled", "joint", "randomized")


def optimistic(word: str, floor: float, known: tuple[str, ...] = CLOSED_FORM, samples: int = 1000) -> Rule:
    """Return a form of optimism by its word, with a floor under its probabilities."""
    made: dict[str, Rule] = {
        "optimism": Optimism(),
        "exact": ExactOptimism(),
        "sampled": SampledOptimism(samples),
        "joint": JointOptimism(),
        "randomized": RandomizedOptimism(),
    }
    return floored(made[inputs.one_of(word, "rule", known)], floor)
