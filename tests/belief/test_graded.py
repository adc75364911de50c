"""The graded belief against dense matrices written out, its cheap bound, its intercept and its noise."""

from itertools import islice

import numpy as np
import pytest

import eigenbandits as eb
from eigenbandits import files
from eigenbandits.belief import Graded, graded
from eigenbandits.subspace import PCA

NOISE, DELTA = 0.5, 0.01


def _rounds(count, **options):
    environment = eb.environments.LowRank(**({"dim": 24, "rank": 3, "arms": 7, "noise": NOISE} | options))
    return list(islice(environment.instance(0).rounds(), count))


def _dense(policy, actions):
    """Every optimistic value, from Z = Σ + W inverted as it stands."""
    belief = policy.belief
    lifted = policy.subspace.lift(actions, policy.subspace.set_center(actions))
    gram, span = belief.evidence.gram.full(), belief.span
    prior = belief.level * np.eye(len(gram)) + (span * (belief.ridges - belief.level)) @ span.T
    inverse = np.linalg.inv(gram + prior)
    log_ratio = np.linalg.slogdet(gram + prior)[1] - np.linalg.slogdet(prior)[1]
    leak = belief.level * belief.error**2 if belief.anytime else 0.0
    delta = 6 * DELTA / (np.pi * belief.version) ** 2 if belief.anytime else DELTA
    radius = NOISE * np.sqrt(log_ratio + 2 * np.log(1 / delta)) + belief.s_bound * np.sqrt(belief.inner + leak)
    widths = np.sqrt(np.einsum("ij,jk,ik->i", lifted, inverse, lifted))
    return lifted @ inverse @ belief.evidence.moment + radius * widths, inverse


@pytest.mark.parametrize("center", ["none", "mean", "set"])
@pytest.mark.parametrize("prune", [1, 10**9])
@pytest.mark.parametrize("options", [{}, {"anytime": True}, {"power": 2.0}], ids=["plain", "anytime", "power"])
def test_choices_and_values_are_those_of_dense_matrices(center, prune, options, monkeypatch):
    monkeypatch.setattr(graded, "PRUNE", prune)
    policy = eb.Policy(PCA(center=center), Graded(NOISE, delta=DELTA, **options), eb.rules.Optimism())
    for t, offered in enumerate(_rounds(160, mean=2.0)):
        decision = policy.choose(offered.actions)
        if t % 8 == 5:
            uppers, inverse = _dense(policy, offered.actions)
            assert decision.upper == pytest.approx(uppers.max(), rel=1e-9)
            assert uppers[decision.index] == pytest.approx(uppers.max(), rel=1e-9)
            assert isinstance(policy.belief, Graded)
            np.testing.assert_allclose(policy.belief.inverse.full(), inverse, atol=1e-9 * np.abs(inverse).max())
        policy.learn(decision, offered.reward(decision.index))
        if t == 80:
            policy = files.from_bytes(files.to_bytes(policy))


def test_the_cheap_bound_is_never_below_the_value_it_bounds(monkeypatch):
    monkeypatch.setattr(graded, "PRUNE", 1)
    policy = eb.PSLB(noise=NOISE)
    for t, offered in enumerate(_rounds(120)):
        decision = policy.choose(offered.actions)
        if t % 6 == 0:
            lifted = policy.subspace.lift(offered.actions, policy.subspace.set_center(offered.actions))
            view = policy.belief.view(lifted, 24, policy.subspace.current(), policy.round)
            assert isinstance(view, graded.GradedView)
            assert (view.bounds() >= view.uppers()).all()
            # A bound that prunes nothing would be useless: early on it is tight, since little is known outside.
            if 6 <= t <= 30:
                assert view.bounds().max() <= 1.5 * view.uppers().max()
        policy.learn(decision, offered.reward(decision.index))


@pytest.mark.parametrize("scale", [1e-3, 1e3, 2.0**-30, 2.0**30])
def test_the_unit_of_the_actions_changes_no_choice(scale):
    one, other = eb.PSLB(noise=NOISE), eb.PSLB(noise=NOISE)
    for offered in _rounds(150):
        first, second = one.choose(offered.actions), other.choose(scale * offered.actions)
        assert first.index == second.index
        assert second.upper == pytest.approx(first.upper, rel=1e-6)
        reward = offered.reward(first.index)
        one.learn(first, reward)
        other.learn(second, reward)


def test_the_intercept_opens_when_rewards_have_one_and_stays_shut_when_not():
    for intercept in (0.0, 0.5):
        policy = eb.PSLB(noise=0.1)
        for offered in _rounds(120, noise=0.1):
            decision = policy.choose(offered.actions)
            policy.learn(decision, offered.reward(decision.index) + intercept)
        assert policy.diagnostics()["intercept"] is (intercept > 0)


@pytest.mark.parametrize("noise", [0.1, 0.5, 2.0])
def test_the_noise_is_found_from_the_rewards(noise):
    policy = eb.PSLB(noise="estimated")
    for offered in _rounds(600, noise=noise):
        decision = policy.choose(offered.actions)
        policy.learn(decision, offered.reward(decision.index))
    # The standard error of a standard deviation from 600 numbers is 3 %; it moves in steps of 5 %.
    assert policy.diagnostics()["noise"] == pytest.approx(noise, rel=0.15)


def test_the_proved_radius_holds_theta_in_every_round():
    """With `anytime` and a valid ε the set holds θ* in the true subspace: 20 runs, δ = 0.01, none should fail."""
    for seed in range(20):
        instance = eb.environments.LowRank(dim=12, rank=2, arms=6, noise=NOISE).instance(seed)
        policy = eb.PSLB(noise=NOISE, outside="shrunk", center="none", theta_bound=1.0, anytime=True)
        for offered in islice(instance.rounds(), 150):
            decision = policy.choose(offered.actions)
            belief = policy.belief
            assert isinstance(belief, Graded)
            off = belief.center - instance.theta
            precision = belief.precision()
            precision = np.tril(precision) + np.tril(precision, -1).T
            assert np.sqrt(off @ precision @ off) <= belief.omega()
            policy.learn(decision, offered.reward(decision.index))


def test_options_of_the_cut_are_refused_in_a_sentence():
    for options in ({"ridge": 2.0}, {"intersect": False}, {"radius": "general"}, {"action_bound": 1.0}):
        with pytest.raises(ValueError, match="outside='cut'"):
            eb.PSLB(noise=NOISE, **options)
    with pytest.raises(ValueError, match="must be a number"):
        eb.PSLB(noise="estimated", rank=2)
    with pytest.raises(ValueError, match="estimated"):
        eb.PSLB(noise="guessed")
