"""Decision sets of every shape and scale: one action, one dimension, sizes that change, degenerate vectors."""

import numpy as np
import pytest
from tests.checks.play import decision_sets, play, reward

import eigenbandits as eb


def assert_sound(case, decision, actions, round_):
    """Check what holds of any decision."""
    assert 0 <= decision.index < len(actions)
    assert decision.round == round_
    np.testing.assert_array_equal(decision.action, case.read(actions)[decision.index])
    assert np.isfinite(decision.estimate)
    assert np.isfinite(decision.upper)
    assert decision.model.shape == actions[0].shape
    assert np.isfinite(decision.model).all()
    assert decision.propensity is None or 0.0 < decision.propensity <= 1.0


def play_soundly(case, policy, sets, scale=1.0):
    for round_, actions in enumerate(sets, 1):
        decision = policy.choose(actions)
        assert_sound(case, decision, actions, round_)
        policy.learn(decision, reward(decision, scale))
    found = policy.diagnostics()
    assert found.rounds == round_
    for key in ("radius_ambient", "radius_projected", "projection_error"):
        value = found.as_dict().get(key)
        assert value is None or (np.isfinite(value) and value >= 0.0), key


def test_one_action(case):
    policy = case.make()
    decisions = play(policy, decision_sets(arms=1))
    assert [d.index for d in decisions] == [0] * 20
    # The only action is chosen for certain.
    assert {d.propensity for d in decisions} <= {None, 1.0}


@pytest.mark.parametrize("arms", [1, 4])
def test_one_dimension(case, arms):
    play_soundly(case, case.make(dim=1), decision_sets(dim=1, arms=arms, count=30))


def test_rank_equal_to_the_dimension(case):
    play_soundly(case, case.make(dim=3, rank=3), decision_sets(dim=3, count=30))


def test_more_arms_than_fit_any_block(case):
    play_soundly(case, case.make(), decision_sets(arms=700, count=3))


def test_size_changes_from_round_to_round(case):
    sets = [actions for arms in (3, 1, 150, 2, 40, 1, 5) for actions in decision_sets(count=2, arms=arms, seed=arms)]
    play_soundly(case, case.make(), sets)


def degenerate(kind, dim=6, arms=5, count=18):
    rng = np.random.default_rng(4)
    direction = rng.standard_normal(dim)
    for _ in range(count):
        if kind == "collinear":
            yield np.outer(rng.standard_normal(arms), direction)
        elif kind == "duplicates":
            yield np.tile(rng.standard_normal(dim), (arms, 1))
        elif kind == "always the same":
            yield np.tile(direction, (arms, 1))
        elif kind == "zeros":
            yield np.zeros((arms, dim))
        elif kind == "zeros among others":
            actions = rng.standard_normal((arms, dim))
            actions[::2] = 0.0
            yield actions
        else:
            yield np.eye(dim)[rng.integers(dim, size=arms)]


KINDS = ["collinear", "duplicates", "always the same", "zeros", "zeros among others", "unit vectors"]


@pytest.mark.filterwarnings("error")
def test_degenerate_actions(case):
    for kind in KINDS:
        play_soundly(case, case.make(), degenerate(kind))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("scale", [1e-8, 1e8])
def test_any_scale(case, scale):
    play_soundly(case, case.make(), [scale * actions for actions in decision_sets(count=20)], scale)
    for kind in KINDS:
        play_soundly(case, case.make(), [scale * actions for actions in degenerate(kind)], scale)


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
