"""What depends on a policy's options: a rank as large as the dimension, units, and finding the best action."""

import numpy as np
import pytest
from tests.checks.play import decision_sets, reward

import eigenbandits as eb
from eigenbandits.testing.shapes import play_soundly


def test_rank_equal_to_the_dimension(case):
    play_soundly(case.make(dim=3, rank=3), decision_sets(dim=3, count=30))


@pytest.mark.parametrize("scale", [2.0**-27, 2.0**27])
def test_the_unit_of_the_actions_does_not_matter(case, scale):
    """With x → cx, λ → c²λ and S → S/c every optimistic value stays as it is, and so does every choice."""
    plain = case.make(seed=3, ridge=1.0, theta_bound=1.0)
    options = {"ridge": scale**2, "theta_bound": 1.0 / scale}
    if case.options.get("structure"):
        options["structure"] = eb.Structure(scale**2, scale**2, 1e-4 * scale**2, 3.0, 6.0)
    if case.kind is eb.Policy:
        options["belief"] = eb.belief.Both(
            eb.belief.Projected(0.1, ridge=scale**2, theta_bound=1.0 / scale),
            eb.belief.Ambient(0.1, ridge=scale**2, theta_bound=1.0 / scale),
        )
    if case.kind is eb.Oracle:
        options["theta"] = plain.theta / scale
    scaled = case.make(seed=3, **options)
    for actions in decision_sets(count=20):
        one, other = plain.choose(actions), scaled.choose(scale * actions)
        assert one.index == other.index
        assert other.upper == pytest.approx(one.upper, rel=1e-6, abs=1e-9)
        plain.learn(one, reward(one))
        scaled.learn(other, reward(one))


@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
def test_the_best_action_is_found_at_any_scale(case, scale):
    """Five fixed actions in three dimensions, almost no noise: after a while the best is chosen, and kept to."""
    if case.kind in (eb.Random, eb.Greedy) or case.options.get("shadow"):
        pytest.skip("this policy does not explore by design")
    if "prior" in case.options:
        pytest.skip("a scorer that misleads is tested rarely, by design")
    actions = np.array([[1.0, 0, 0], [0, 1, 0], [0, 0, 1], [0.7, 0.7, 0], [0.5, 0.5, 0.6]])
    theta = np.array([0.1, 0.2, 0.9]) / scale
    best = int((actions @ theta).argmax())
    # At 1e8 the ridge is left where it would be for actions of size one; a sketch has no digits left for that.
    ridge = 1e-4 * (scale if case.sketched else min(scale, 1.0)) ** 2
    options = {"noise": 0.01, "theta_bound": 1.0 / scale, "ridge": ridge, "rank": 3, "size": 4}
    if case.kind is eb.Oracle:
        options["theta"] = theta
    if case.kind is eb.Policy:
        options["belief"] = eb.belief.Ambient(0.01, 1.0 / scale, ridge)
    policy = case.make(dim=3, **options)
    late = []
    for round_ in range(250):
        decision = policy.choose(scale * actions)
        if round_ >= 200:
            late.append(decision.index)
        policy.learn(decision, float(scale * actions[decision.index] @ theta))
    assert late.count(best) >= 40
