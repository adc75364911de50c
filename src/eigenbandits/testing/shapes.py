"""Decision sets of every shape and scale: one action, one dimension, sizes that change, degenerate vectors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from eigenbandits.inputs import Array
from eigenbandits.policy import Decision, Policy
from eigenbandits.testing.check import Make, check
from eigenbandits.testing.play import as_read, decision_sets, play, reward

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
