"""Decision sets of every shape and scale, and numbers too large or too small for double precision."""

from collections.abc import Iterable, Iterator

import numpy as np

from eigenbandits.inputs import Array
from eigenbandits.policy import Decision, Policy
from eigenbandits.testing.check import Make, check
from eigenbandits.testing.many_sets import warm
from eigenbandits.testing.play import as_read, assert_refused, assert_same, copy_of, decision_sets, play, reward

KINDS = ("collinear", "duplicates", "always the same", "zeros", "zeros among others", "unit vectors")


def assert_sound(policy: Policy, decision: Decision, actions: Array, round_: int) -> None:
    """Check what holds of any decision."""
    assert 0 <= decision.index < len(actions)
    assert decision.round == round_
    np.testing.assert_array_equal(decision.action, as_read(policy, actions)[decision.index])
    assert np.isfinite(decision.estimate)
    assert np.isfinite(decision.upper)
    assert decision.model.shape == actions[0].shape
    assert np.isfinite(decision.model).all()
    assert decision.propensity is None or 0.0 < decision.propensity <= 1.0


def play_soundly(policy: Policy, sets: Iterable[Array], scale: float = 1.0) -> None:
    """Play a policy and check every decision, and the radii in the end."""
    round_ = 0
    for round_, actions in enumerate(sets, 1):
        decision = policy.choose(actions)
        assert_sound(policy, decision, actions, round_)
        policy.learn(decision, reward(decision, scale))
    found = policy.diagnostics()
    assert found.rounds == round_
    for key in ("radius_ambient", "radius_projected", "projection_error"):
        value = found.as_dict().get(key)
        assert value is None or (np.isfinite(value) and value >= 0.0), key


def degenerate(kind: str, dim: int = 6, arms: int = 5, count: int = 18) -> Iterator[Array]:
    """Yield decision sets whose actions are dependent, equal or zero."""
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


@check
def one_action(make: Make) -> None:
    """The only action of a set is chosen, with probability 1."""
    decisions = play(make(), decision_sets(arms=1))
    assert [decision.index for decision in decisions] == [0] * 20
    assert {decision.propensity for decision in decisions} <= {None, 1.0}


@check
def one_dimension(make: Make) -> None:
    """Actions may have one number only."""
    for arms in (1, 4):
        play_soundly(make(dim=1), decision_sets(dim=1, arms=arms, count=30))


@check
def many_arms(make: Make) -> None:
    """A set may have more actions than fit in any block."""
    play_soundly(make(), decision_sets(arms=700, count=3))


@check
def sizes_that_change(make: Make) -> None:
    """The number of actions may differ from round to round."""
    sets = [actions for arms in (3, 1, 150, 2, 40, 1, 5) for actions in decision_sets(count=2, arms=arms, seed=arms)]
    play_soundly(make(), sets)


@check
def degenerate_actions(make: Make) -> None:
    """Actions may be dependent, equal or zero, at any scale from 1e-8 to 1e8."""
    for scale in (1e-8, 1.0, 1e8):
        for kind in KINDS:
            play_soundly(make(), [scale * actions for actions in degenerate(kind)], scale)


@check
def any_scale(make: Make) -> None:
    """Actions may have norms from 1e-8 to 1e8."""
    for scale in (1e-8, 1e8):
        play_soundly(make(), decision_sets(scale=scale), scale)


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
    for far in (1e80, -1e100, 1e300):
        policy = warm(make, 3)
        decision = policy.choose(next(decision_sets(seed=2)))
        assert_refused(policy, policy.learn, decision, far)
        assert_refused(policy, policy.learn_many, [decision, decision], [0.5, far])
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
