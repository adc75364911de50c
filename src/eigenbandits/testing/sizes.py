"""Numbers too large or too small for double precision are refused; all others lead to sound choices."""

from __future__ import annotations

import numpy as np

from eigenbandits.testing.check import Make, check
from eigenbandits.testing.many_sets import warm
from eigenbandits.testing.play import assert_refused, assert_same, copy_of, decision_sets, play


@check
def actions_out_of_reach(make: Make) -> None:
    """Actions whose squares would overflow, or vanish, are refused and change nothing."""
    actions = next(decision_sets(seed=2))
    for rounds in (0, 3):
        for scale in (1e200, 1e100, 1e-160, 1e-300):
            policy = warm(make, rounds)
            twin, far, mixed = copy_of(policy), scale * actions, actions.copy()
            assert_refused(policy, policy.choose, far)
            assert_refused(policy, policy.choose_many, [actions, far])
            assert_refused(policy, policy.observe, far)
            assert_refused(policy, policy.learn, far[0], 0.5)
            assert_refused(policy, policy.learn_many, far, np.zeros(5))
            # One such number among others is enough if it is too large, and does no harm if it is small.
            mixed[1] *= scale
            if scale > 1.0:
                assert_refused(policy, policy.choose, mixed)
            later = list(decision_sets(count=5, seed=4))
            assert_same(play(policy, later), play(twin, later))


@check
def rewards_out_of_reach(make: Make) -> None:
    """Rewards whose squares would overflow are refused and change nothing."""
    for reward in (1e80, -1e100, 1e300):
        policy = warm(make, 3)
        decision = policy.choose(next(decision_sets(seed=2)))
        assert_refused(policy, policy.learn, decision, reward)
        assert_refused(policy, policy.learn_many, [decision, decision], [0.5, reward])
        assert all(np.isfinite(later.upper) for later in play(policy, decision_sets(count=5, seed=4)))


@check
def extreme_numbers_lead_to_sound_choices(make: Make) -> None:
    """Up to the limits themselves no number becomes infinite, and nothing is raised, in any later round either."""
    for rewards in (1e-49, 1.0, 1e49):
        for exponent in (-1, 1):
            policy = make()
            scale = (1e14 if policy.dtype == "float32" else 1e49) ** exponent
            for actions in decision_sets(count=30):
                decision = policy.choose(scale * actions)
                assert np.isfinite([decision.estimate, decision.upper]).all()
                assert np.isfinite(decision.model).all()
                policy.learn(decision, rewards * float(np.sin(1e3 * decision.action[0] / scale)))
                if not policy.centering.by_set:
                    policy.learn_many(scale * actions, np.full(5, rewards))
            assert np.isfinite(policy.choose(actions).upper)
