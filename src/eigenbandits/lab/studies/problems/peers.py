"""Vowpal Wabbit as a policy of the study."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from eigenbandits.extras import need
from eigenbandits.inputs import Array, one_of

# Costs are negative rewards, and by default these two limit predicted costs to [0, 1].
_RANGE = "--cb_min_cost -1 --cb_max_cost 0"
EXPLORATIONS = {
    "squarecb": f"--squarecb {_RANGE}",
    "regcb": f"--regcbopt {_RANGE}",
    "epsilon": "--epsilon 0.05",
}
"""The options of each exploration; everything else is at its default (so is `--epsilon 0.05`)."""


@dataclass(frozen=True)
class DrawnAction:
    """The chosen row, and its probability."""

    index: int
    propensity: float


class VowpalWabbit:
    """`vw --cb_explore_adf` on the action vectors as they are, with a reward as a negative cost.

    `exploration` is one of `EXPLORATIONS`, of which "regcb" is the optimistic one; the seed is that of the draws from
    its probabilities.
    """

    def __init__(self, exploration: str, seed: int | None = None) -> None:
        one_of(exploration, "exploration", tuple(EXPLORATIONS))
        need("peers", "vowpalwabbit", what="Vowpal Wabbit")
        from vowpalwabbit import pyvw

        self.exploration = exploration
        self.seed = seed
        self._vw = pyvw.Workspace(f"--cb_explore_adf {EXPLORATIONS[exploration]} --quiet")
        self._example, self._label = pyvw.Example, pyvw.LabelType.CONTEXTUAL_BANDIT
        self._rng = np.random.default_rng(seed)
        self._examples: list[Any] = []

    @property
    def name(self) -> str:
        """How it explores."""
        return f"VowpalWabbit({self.exploration})"

    def choose(self, actions: Array) -> DrawnAction:
        """Draw an action from the distribution that it predicts."""
        self._examples = [self._built(row) for row in np.asarray(actions, dtype=np.float64)]
        shares = np.asarray(self._vw.predict(self._examples), dtype=np.float64)
        shares /= shares.sum()
        index = int(self._rng.choice(len(shares), p=shares))
        return DrawnAction(index, float(shares[index]))

    def learn(self, decision: DrawnAction, reward: float) -> None:
        """Label the action chosen last, and learn from its set."""
        example = self._examples[decision.index]
        example.unsetup_example()
        example.set_label_string(f"0:{-reward}:{decision.propensity}")
        example.setup_example()
        self._vw.learn(self._examples)
        self._vw.finish_example(self._examples)
        self._examples = []

    def _built(self, row: Array) -> Any:
        example = self._example(self._vw, None, self._label)
        # A feature of 0 has no effect, and blocks are mostly zeros.
        places = np.flatnonzero(row)
        example.push_features("a", list(zip(places.tolist(), row[places].tolist(), strict=True)))
        example.setup_example()
        return example
