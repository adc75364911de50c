"""Numbers too large or too small for double precision are refused at the door; all others get sound choices."""

import numpy as np
import pytest
from tests.checks.play import assert_same, decision_sets, play
from tests.checks.test_bad_input import assert_refused

from eigenbandits.files import from_bytes, to_bytes


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("rounds", [0, 3], ids=["fresh", "in use"])
@pytest.mark.parametrize("scale", [1e200, 1e100, 1e-160, 1e-300])
def test_actions_out_of_reach_are_refused_and_leave_no_trace(case, scale, rounds):
    policy = case.make(seed=3)
    play(policy, decision_sets(count=rounds))
    twin = from_bytes(to_bytes(policy))
    actions = next(decision_sets(seed=2))
    for action in (
        lambda: policy.choose(scale * actions),
        lambda: policy.choose_many([actions, scale * actions]),
        lambda: policy.observe(scale * actions),
        lambda: policy.learn(scale * actions[0], 0.5),
        lambda: policy.learn_many(scale * actions, np.zeros(5)),
    ):
        assert_refused(policy, action)
    # One such number among others is enough where it is too large, and does no harm where it is small.
    mixed = actions.copy()
    mixed[1] *= scale
    if scale > 1.0:
        assert_refused(policy, lambda: policy.choose(mixed))
    later = list(decision_sets(count=5, seed=4))
    assert_same(play(policy, later), play(twin, later))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("reward", [1e80, -1e100, 1e300])
def test_rewards_out_of_reach_are_refused_and_leave_no_trace(case, reward):
    policy = case.make(seed=3)
    play(policy, decision_sets(count=3))
    decision = policy.choose(next(decision_sets(seed=2)))
    assert_refused(policy, lambda: policy.learn(decision, reward))
    assert_refused(policy, lambda: policy.learn_many([decision, decision], [0.5, reward]))
    assert all(np.isfinite(later.upper) for later in play(policy, decision_sets(count=5, seed=4)))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("rewards", [1e-49, 1.0, 1e49])
@pytest.mark.parametrize("exponent", [-1, 1])
def test_all_that_is_let_in_leads_to_sound_choices(case, exponent, rewards):
    """Up to the limits themselves: no exception and no number that is not finite, in any later round either."""
    scale = (1e14 if case.single else 1e49) ** exponent
    policy = case.make(seed=3)
    for actions in decision_sets(count=30):
        decision = policy.choose(scale * actions)
        assert np.isfinite([decision.estimate, decision.upper]).all()
        assert np.isfinite(decision.model).all()
        policy.learn(decision, rewards * float(np.sin(1e3 * decision.action[0] / scale)))
        if not case.by_set:
            policy.learn_many(scale * actions, np.full(5, rewards))
    assert np.isfinite(policy.choose(actions).upper)
