"""Neglected actions, against dense matrices and in play: what e_K alone would never try again."""

from typing import Any

import numpy as np
import pytest
from tests.plain import spectral_uppers

import eigenbandits as eb
from eigenbandits.belief.spectral import belief as spectral


@pytest.mark.parametrize(
    ("dim", "arms", "dtype"),
    # Few actions; the same in single precision; many, where a shortlist comes first; many dimensions.
    [(6, 5, "float64"), (6, 5, "float32"), (8, 100, "float64"), (300, 12, "float64")],
)
def test_the_choice_has_the_highest_value_once_neglected_actions_are_raised(dim, arms, dtype, monkeypatch):
    # e_K = 1, since otherwise many actions are only raised after thousands of rounds.
    monkeypatch.setattr(spectral, "expected_maximum", lambda count: 1.0)
    rng = np.random.default_rng(dim)
    policy = eb.EigenUCB(seed=0, dtype=dtype)
    belief: Any = policy.belief
    fixed, theta, raised = rng.standard_normal((arms, dim)), rng.standard_normal(dim) / dim**0.5, 0
    for number in range(120):
        # The same actions again and again, so that some are neglected; now and then others.
        actions = rng.standard_normal((arms, dim)) if number % 5 == 4 else fixed
        decision = policy.choose(actions)
        lifted = policy.lift(actions.astype(dtype), None)[0].astype(float)
        uppers = spectral_uppers(belief, lifted)
        assert decision.upper == pytest.approx(uppers[decision.index], rel=1e-6, abs=1e-9)
        assert uppers[decision.index] >= uppers.max() - 1e-6 * abs(uppers.max())
        assert belief.view(lifted).uppers() == pytest.approx(uppers, rel=1e-6, abs=1e-9)
        assert (
            lifted[decision.index, :dim] @ decision.model + lifted[decision.index, dim:] @ belief.center[dim:] < np.inf
        )
        widths = np.sqrt(np.einsum("ij,jk,ik->i", lifted, belief.inverse.full(), lifted))
        raised += decision.index != (lifted @ belief.center + belief.omega_of(arms) * widths).argmax()
        policy.learn(decision, float(actions[decision.index] @ theta + 0.5 * rng.standard_normal()))
    assert raised > 0


def test_an_action_that_was_unlucky_at_first_is_tried_again():
    # By e_K alone the second action is never tried again: it has lost by more than its width.
    policy = eb.EigenUCB(seed=0)
    belief: Any = policy.belief
    actions, rng = np.eye(2), np.random.default_rng(0)
    for _ in range(4):
        policy.learn(actions[1], 0.0 + 0.1 * rng.standard_normal())
    for _ in range(50):
        policy.learn(actions[0], 0.5 + 0.5 * rng.standard_normal())
    choices = []
    for _ in range(2000):
        decision = policy.choose(actions)
        choices.append(decision.index)
        policy.learn(decision, float((0.5, 0.8)[decision.index] + 0.5 * rng.standard_normal()))
    assert np.mean(choices[-500:]) > 0.9
    assert belief.noise == pytest.approx(0.5, rel=0.1)


def test_an_action_that_is_known_exactly_does_not_make_others_endlessly_attractive():
    # Without an intercept the value of the zero vector is known to be 0, and the other actions earn less.
    policy, rng = eb.EigenUCB(center="none", seed=0), np.random.default_rng(0)
    actions = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    choices = []
    for _ in range(1000):
        decision = policy.choose(actions)
        choices.append(decision.index)
        policy.learn(decision, (0.0, -1.0, -1.0)[decision.index] + 0.5 * rng.standard_normal())
    assert np.mean(np.array(choices) == 0) > 0.95


def test_a_favorite_so_short_that_its_square_is_zero_is_known_from_all_rewards():
    policy, rng = eb.EigenUCB(center="none", seed=0), np.random.default_rng(0)
    for _ in range(30):
        actions = np.array([[1e-200, 0.0], [1.0, 0.0], [0.0, 1.0]])
        decision = policy.choose(actions)
        policy.learn(decision, (0.0, -1.0, -1.0)[decision.index] + 0.1 * rng.standard_normal())
    assert decision.index == 0
    belief: Any = policy.belief
    assert belief.view(actions).uppers() == pytest.approx(spectral_uppers(belief, actions))
