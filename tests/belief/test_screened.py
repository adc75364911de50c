"""The posterior among the actions that a proved set admits, against bounds by dense matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.plain import spectral_uppers

import eigenbandits as eb
from eigenbandits.belief import Screened, Spectral
from eigenbandits.belief.certified import screened
from eigenbandits.environments import LowRank

R, S = 0.5, 1.0
WORLD = LowRank(dim=8, rank=2, arms=6, noise=R)


def made() -> Any:
    return eb.EigenUCB(certified=True, noise=R, theta_bound=S, center="none", seed=0)


def proved_bounds(proved, actions):
    """Return the lower and the upper bounds of both ellipsoids, by dense matrices and the sums alone."""
    lowers, uppers = [], []
    gram, moment = proved.evidence.gram.full(), proved.evidence.moment
    for ridge, radius in proved.radii():
        W = ridge.outside * np.eye(len(gram))
        if ridge.span is not None:
            W -= (ridge.outside - ridge.inside) * ridge.span @ ridge.span.T
        Z = gram + W
        values = actions @ np.linalg.solve(Z, moment)
        widths = radius * np.sqrt(np.einsum("ij,ij->i", actions, np.linalg.solve(Z, actions.T).T))
        lowers.append(values - widths)
        uppers.append(values + widths)
    return np.max(lowers, axis=0), np.min(uppers, axis=0)


@pytest.mark.parametrize("slack", [1.0, 1.02, 2.0, 1e9])
def test_the_choice_is_the_posteriors_among_the_actions_admitted(slack, monkeypatch):
    monkeypatch.setattr(screened, "SLACK", slack)
    policy, instance = made(), WORLD.instance(3)
    limited, regret, proved_regret, widths = 0, 0.0, 0.0, 0.0
    for number, offered in zip(range(150), instance.rounds(), strict=False):
        actions = offered.actions
        decision = policy.choose(actions)
        lowers, uppers = proved_bounds(policy.belief.proved, actions)
        values = spectral_uppers(policy.belief.posterior, actions)
        after = slack * (widths + uppers - lowers) - (proved_regret + uppers.max() - lowers)
        admitted = after >= -1e-9 * slack
        assert admitted[decision.index], number
        assert values[decision.index] >= values[admitted].max() - 1e-9
        assert decision.upper == pytest.approx(uppers[decision.index], rel=1e-9)
        proved_regret += uppers.max() - lowers[decision.index]
        widths += uppers[decision.index] - lowers[decision.index]
        assert policy.belief.credit == pytest.approx(slack * widths - proved_regret, rel=1e-6, abs=1e-6)
        # What the docs prove, on the event that the set holds θ*.
        truth = actions @ instance.theta
        assert (lowers <= truth).all()
        assert (truth <= uppers).all()
        regret += truth.max() - truth[decision.index]
        assert regret <= proved_regret <= slack * widths + 1e-9
        limited += decision.index != values.argmax()
        policy.learn(decision, offered.reward(decision.index))
    if slack == 1.0:
        # Optimism itself: nothing else is admitted, and the posterior would often have chosen otherwise.
        assert limited > 10
    if slack == 1e9:
        assert limited == 0


def with_credit(credit):
    """Return a policy that would choose otherwise without credit, and the set in which it would."""
    policy, rng = made(), np.random.default_rng(0)
    actions = np.zeros((2, 8))
    actions[0, 0], actions[1, 1] = 1.0, 0.5
    # The first action is known to earn 0.2, so that its interval is narrow. All that is proved of the second is that it
    # earns at most 0.8.
    for _ in range(400):
        policy.learn(actions[0], 0.2 + R * rng.standard_normal())
    policy.observe(actions)
    policy.belief.credit = credit
    return policy, actions


def test_credit_is_for_recorded_choices_made_one_at_a_time():
    for credit, expected in ((0.0, 1), (10.0, 0)):
        policy, actions = with_credit(credit)
        assert policy.choose_many([actions, actions])[1].index == 1
        policy, actions = with_credit(credit)
        assert policy.propose(actions, np.random.default_rng(0)).index == 1
        assert policy.probabilities(actions).argmax() == expected
        assert policy.belief.credit == credit
        assert policy.choose(actions).index == expected
        assert (policy.belief.credit < credit) == (credit > 0.0)


def test_credits_add_up_and_the_snapshot_counts_once():
    (policy, _), (other, _), (base, _) = (with_credit(credit) for credit in (5.0, 4.0, 3.0))
    policy.merge([other], base)
    assert policy.belief.credit == 6.0


def test_bounds_of_one_action_are_those_of_all():
    policy = made()
    for offered, _ in zip(WORLD.instance(1).rounds(), range(30), strict=False):
        decision = policy.choose(offered.actions)
        policy.learn(decision, offered.reward(decision.index))
    actions = np.random.default_rng(0).standard_normal((7, 8))
    alone, together = policy.belief.proved.view(actions), policy.belief.proved.view(actions)
    lowers, uppers = together.lowers(), together.uppers()
    for row in range(len(actions)):
        assert alone.highest_of(row) == pytest.approx(lowers[row], rel=1e-12)
        assert alone.least_of(row) == pytest.approx(uppers[row], rel=1e-12)


def test_the_proved_set_follows_the_leading_directions_and_the_posterior_all():
    policy = made()
    for offered, _ in zip(WORLD.instance(2).rounds(), range(200), strict=False):
        policy.learn(policy.choose(offered.actions), 0.0)
    frame = policy.subspace.current()
    assert frame is not None
    assert frame.directions.shape == (8, 8)
    assert policy.belief.proved.structured.span.shape == (8, frame.rank)
    # The same vectors and directions as PCA has found by itself, and the same error.
    alone = eb.subspace.PCA()
    alone.start(8)
    for offered, _ in zip(WORLD.instance(2).rounds(), range(200), strict=False):
        alone.observe(offered.actions)
        expected = alone.frame()
    np.testing.assert_allclose(
        frame.leading.directions @ frame.leading.directions.T, expected.directions @ expected.directions.T, atol=1e-10
    )
    assert frame.error == pytest.approx(expected.error, rel=1e-10)


@pytest.mark.parametrize("batch", [1, 12])
def test_an_interruption_leaves_both_with_the_same_rewards(batch, monkeypatch):
    policy = made()
    rng = np.random.default_rng(0)
    actions, rewards = rng.standard_normal((20, 8)), rng.standard_normal(20)
    policy.learn_many(actions, rewards)

    def broken(*_args):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Spectral, "learn", broken)
        patched.setattr(Spectral, "learn_many", broken)
        with pytest.raises(KeyboardInterrupt):
            policy.learn_many(actions[:batch], rewards[:batch])
    policy.learn(actions[0], 1.0)
    belief = policy.belief
    assert isinstance(belief, Screened)
    assert belief.posterior.evidence.count == belief.proved.evidence.count == 21 + batch
    np.testing.assert_allclose(belief.posterior.evidence.gram.full(), belief.proved.evidence.gram.full(), rtol=1e-12)


def test_diagnostics_speak_of_both():
    policy = made()
    policy.learn(policy.choose(np.eye(8)), 1.0)
    found = policy.diagnostics()
    assert found.prior is not None
    assert found.details["radius_ambient"] > 0.0
