"""Single precision only ever tells which actions to look at: choices are those of full precision."""

from typing import Any

import numpy as np
import pytest

import eigenbandits as eb
from eigenbandits.belief import ambient


def clones(policy, monkeypatch, sets, rewards):
    """Play the same rounds with and without the short cut and return the choices of both."""
    choices = []
    for many, few in ((ambient.MANY, ambient.FEW), (10**9, 10**9)):
        monkeypatch.setattr(ambient, "MANY", many)
        monkeypatch.setattr(ambient, "FEW", few)
        player = policy.clone()
        indices = []
        for actions, reward in zip(sets, rewards, strict=True):
            decision = player.choose(actions)
            indices.append(decision.index)
            player.learn(decision, reward)
        choices.append(indices)
    return choices


@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
@pytest.mark.parametrize("dim", [3, 40, 300])
@pytest.mark.parametrize("policy", [eb.OFUL(noise=0.5), eb.PSLB(noise=0.5, seed=0)])
def test_choices_are_those_of_full_precision(policy, dim, scale, monkeypatch):
    rng = np.random.default_rng(0)
    sets = [scale * rng.standard_normal((80, dim)) for _ in range(60)]
    for actions in sets[::7]:
        actions[3] = actions[5]  # equals
        actions[8] = 0.0
        actions[9] *= 1e-30
    short, full = clones(policy, monkeypatch, sets, rng.standard_normal(60))
    assert short == full


def test_widths_far_below_single_precision_are_still_told_apart(monkeypatch):
    """After 20,000 rewards along every axis the widths are of the size of what single precision may be off."""
    rng = np.random.default_rng(1)
    policy = eb.OFUL(noise=0.5, ridge=1e-3)
    policy.learn_many(np.repeat(np.eye(20), 1_000, axis=0), np.zeros(20_000))
    for _ in range(20):
        actions = 1.0 + 1e-4 * rng.standard_normal((200, 20))
        exact = policy.belief.view(actions, 20, None, 1)
        uppers = exact.uppers()
        index, value = policy.belief.view(actions, 20, None, 1).best()
        assert index == int(uppers.argmax())
        assert value == pytest.approx(float(uppers.max()), rel=1e-12)


@pytest.mark.parametrize("dim", [20, 300])
def test_the_bounds_are_never_below_what_they_bound_and_seldom_far_above(dim):
    rng = np.random.default_rng(2)
    policy = eb.OFUL(noise=0.5)
    for _ in range(300):
        decision = policy.choose(rng.standard_normal((5, dim)))
        policy.learn(decision, float(rng.standard_normal()))
    actions = rng.standard_normal((500, dim))
    view: Any = policy.belief.view(actions, dim, None, 1)
    bounds, uppers = view._single_bounds(), view.uppers()
    assert (bounds >= uppers).all()
    assert np.median((bounds - uppers) / uppers) < 1e-3
