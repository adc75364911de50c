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


def awkward_sets(rng, scale, dim):
    sets = [scale * rng.standard_normal((80, dim)) for _ in range(60)]
    for actions in sets[::7]:
        actions[3] = actions[5]  # equals
        actions[8] = 0.0
        actions[9] *= 1e-30
    return sets


@pytest.mark.parametrize("scale", [1e-45, 1e-8, 1.0])
@pytest.mark.parametrize("dim", [3, 40, 300])
@pytest.mark.parametrize("policy", [eb.OFUL(noise=0.5), eb.PSLB(noise=0.5, seed=0)])
def test_choices_are_those_of_full_precision(policy, dim, scale, monkeypatch):
    rng = np.random.default_rng(0)
    sets = awkward_sets(rng, scale, dim)
    short, full = clones(policy, monkeypatch, sets, rng.standard_normal(60))
    assert short == full


@pytest.mark.parametrize("dim", [3, 40, 300])
@pytest.mark.parametrize("policy", [eb.OFUL(noise=0.5), eb.OFUL(noise=0.5, radius="paper")])
def test_actions_far_larger_than_the_ridge_are_told_apart_as_far_as_full_precision_can(policy, dim):
    """With a ridge of 1 under actions of 1e8 all known directions have widths of the size of double rounding.

    Which of such actions comes first then depends on the order of summation, so values are compared, not choices.
    """
    rng = np.random.default_rng(0)
    player: Any = policy.clone()
    for actions, reward in zip(awkward_sets(rng, 1e8, dim), rng.standard_normal(60), strict=True):
        decision = player.choose(actions)
        view = player.belief.view(actions)
        uppers = view.uppers()
        best = int(uppers.argmax())
        # What some 100 roundings in the largest entry of Z⁻¹ may add to the square of a width.
        off = 100.0 * np.finfo(float).eps * player.belief.largest * float(actions[best] @ actions[best])
        assert uppers[decision.index] >= uppers[best] - 2.0 * view.omega * np.sqrt(off)
        player.learn(decision, float(reward))


def test_widths_far_below_single_precision_are_still_told_apart(monkeypatch):
    """After 20,000 rewards along every axis the widths are of the size of what single precision may be off."""
    rng = np.random.default_rng(1)
    policy = eb.OFUL(noise=0.5, ridge=1e-3)
    policy.learn_many(np.repeat(np.eye(20), 1_000, axis=0), np.zeros(20_000))
    for _ in range(20):
        actions = 1.0 + 1e-4 * rng.standard_normal((200, 20))
        exact = policy.belief.view(actions)
        uppers = exact.uppers()
        index, value = policy.belief.view(actions).best()
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
    view: Any = policy.belief.view(actions)
    bounds, uppers = view._single_bounds(), view.uppers()
    assert (bounds >= uppers).all()
    assert np.median((bounds - uppers) / uppers) < 1e-3
