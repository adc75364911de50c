"""What a decision says about itself."""

import numpy as np
import pytest
from tests.checks.play import decision_sets, play


def test_the_model_explains_the_choice(case):
    """The optimistic value is what the model promises, up to what the subspace may miss and what was taken off."""
    policy = case.make(seed=3)
    play(policy, decision_sets(count=30))
    for actions in decision_sets(count=5, seed=2):
        decision = policy.choose(actions)
        if case.left_to_chance:
            continue
        promised = actions @ decision.model
        if case.center == "none":
            # The slack for the subspace is at most ε S ‖x‖ with ε ≤ 1 and S = 1.
            slack = decision.upper - promised[decision.index]
            rounding = 1e-5 if case.single else 1e-9
            assert -rounding <= slack <= np.linalg.norm(decision.action) + rounding
        if case.follows_a_draw and "prior" not in case.options:
            assert promised[decision.index] == pytest.approx(promised.max(), abs=1e-12)
