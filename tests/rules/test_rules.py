"""The rules: what they choose, how often, and the probability that they report."""

import math

import numpy as np
import pytest
from scipy.special import ndtr

import eigenbandits as eb
from eigenbandits.belief import Ambient, Belief
from eigenbandits.rules import BestEstimate, Optimism, Rule, SampledOptimism, Thompson, Uniform
from eigenbandits.subspace import Known, Whole

ACTIONS = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.3]])


def taught(rule, seed=0, **options):
    """Return a policy that knows something of both directions: Z = diag(10, 3), θ̂ = (0.9, 2/3)."""
    policy = eb.Policy(Whole(), Ambient(0.2, **options), rule, seed=seed)
    policy.learn_many([[3.0, 0.0], [0.0, 1.0], [0.0, 1.0]], [3.0, 1.0, 1.0])
    return policy


def test_the_best_estimate():
    decision = taught(BestEstimate()).choose(ACTIONS)
    assert (decision.index, decision.propensity) == (0, None)
    assert decision.upper == decision.estimate == pytest.approx(0.9)
    np.testing.assert_allclose(decision.model, [0.9, 2 / 3])


def test_optimism_prefers_what_is_less_known():
    decision = taught(Optimism(), radius=2.0).choose(ACTIONS)
    # 0.9 + 2/√10 = 1.532 and 2/3 + 2/√3 = 1.821.
    assert decision.index == 1
    assert decision.upper == pytest.approx(2 / 3 + 2 / math.sqrt(3))
    assert decision.action @ decision.model == pytest.approx(decision.upper)


def test_uniform_is_even():
    policy = taught(Uniform(), seed=1)
    decisions = [policy.choose(ACTIONS) for _ in range(3_000)]
    counts = np.bincount([decision.index for decision in decisions], minlength=3)
    assert (np.abs(counts / 3_000 - 1 / 3) < 5 * math.sqrt(2 / 9 / 3_000)).all()
    assert {decision.propensity for decision in decisions} == {1 / 3}


def test_thompson_wins_with_the_probability_of_its_posterior():
    """Of two arms x and y, x wins with probability Φ((x − y)ᵀθ̂ / (scale ‖x − y‖_{Z⁻¹}))."""
    scale, pair = 0.5, ACTIONS[:2]
    policy = taught(Thompson(scale, samples=500), seed=1)
    decisions = [policy.choose(pair) for _ in range(2_000)]
    difference = pair[0] - pair[1]
    width = math.sqrt(difference @ np.diag([1 / 10, 1 / 3]) @ difference)
    expected = float(ndtr(difference @ np.array([0.9, 2 / 3]) / (scale * width)))
    assert 0.6 < expected < 0.95
    share = np.mean([decision.index == 0 for decision in decisions])
    assert share == pytest.approx(expected, abs=5 * math.sqrt(expected * (1 - expected) / 2_000))
    reported = np.mean([d.propensity if d.index == 0 else 1 - d.propensity for d in decisions if d.propensity])
    assert reported == pytest.approx(expected, abs=0.01)
    for decision in decisions[:20]:
        assert decision.index == int((pair @ decision.model).argmax())


def test_thompson_with_no_width_is_the_best_estimate():
    decision = taught(Thompson(0.0)).choose(ACTIONS)
    assert (decision.index, decision.propensity) == (0, 1.0)
    assert decision.upper == pytest.approx(0.9)
    assert taught(Thompson(0.1, samples=1)).choose(ACTIONS).propensity is None


def test_thompson_in_the_subspace_draws_from_its_posterior():
    rng = np.random.default_rng(0)
    V = np.linalg.qr(rng.standard_normal((6, 3)))[0]
    policy = eb.Policy(Known(V), eb.belief.Projected(0.2, ridge=0.5), Thompson(0.7, samples=40_000), seed=1)
    actions, rewards = rng.standard_normal((30, 6)), rng.standard_normal(30)
    policy.learn_many(actions, rewards)
    probe = rng.standard_normal((4, 6))
    policy.belief.follow(policy.subspace.frame())
    draws = policy.belief.view(probe).posterior(40_000, np.random.default_rng(2), 0.7).values
    inverse = np.linalg.inv(V.T @ actions.T @ actions @ V + 0.5 * np.eye(3))
    mean = probe @ V @ inverse @ V.T @ actions.T @ rewards
    expected = 0.49 * probe @ V @ inverse @ V.T @ probe.T
    deviations = np.sqrt(np.diag(expected))
    # Five standard errors: 1/√n of a deviation for the mean, √(2/n) of the variances for the covariance.
    assert (np.abs(draws.mean(axis=0) - mean) <= 5 * deviations / 200).all()
    assert (np.abs(np.cov(draws.T) - expected) <= 0.036 * np.outer(deviations, deviations)).all()


def test_sampling_follows_the_most_optimistic_model():
    decision = taught(SampledOptimism(5_000), radius=2.0).choose(ACTIONS)
    closed = taught(Optimism(), radius=2.0).choose(ACTIONS)
    assert decision.index == closed.index
    assert closed.upper * 0.999 < decision.upper <= closed.upper + 1e-12
    assert decision.action @ decision.model == pytest.approx(decision.upper)


def test_what_a_part_does_not_say_is_asked_for_in_words():
    class Silent(Rule):
        pass

    class Blind(Belief):
        pass

    with pytest.raises(TypeError, match=r"Silent has no method choose\(\); define one"):
        eb.Policy(Whole(), Ambient(0.1), Silent()).choose(ACTIONS)
    with pytest.raises(TypeError, match=r"Blind has no method view\(\); define one"):
        eb.Policy(Whole(), Blind(), BestEstimate()).choose(ACTIONS)


def test_a_rule_that_needs_more_than_the_belief_offers_is_refused_at_once():
    class Blunt(Belief):
        offers = ("estimates", "posterior")

    match = "Optimism needs uppers, but Blunt offers only estimates, posterior"
    with pytest.raises(ValueError, match=match):
        eb.Policy(Whole(), Blunt(), Optimism())
    assert eb.Policy(Whole(), Blunt(), Thompson()).rule.needs == ("posterior",)


def test_thompson_without_a_scale_takes_the_beliefs_own():
    """The same draws, times the noise of 0.2."""
    own, told = taught(Thompson(), seed=4), taught(Thompson(0.2), seed=4)
    for _ in range(20):
        one, two = own.choose(ACTIONS), told.choose(ACTIONS)
        assert (one.index, one.upper, one.propensity) == (two.index, two.upper, two.propensity)


def test_the_model_that_decides_is_one_of_those_that_make_the_propensity():
    """With n models no choice can have a share below 1/n; with one alone nothing is known of the others."""
    policy = taught(Thompson(3.0, samples=2), seed=5)
    assert {policy.choose(ACTIONS).propensity for _ in range(200)} == {0.5, 1.0}
    alone = taught(Thompson(3.0, samples=1), seed=5)
    assert {alone.choose(ACTIONS).propensity for _ in range(20)} == {None}


def test_a_decision_made_by_hand_carries_no_model():
    decision = eb.Decision(index=0, action=np.ones(2), round=1, estimate=0.0, upper=0.0)
    with pytest.raises(ValueError, match="carries no model"):
        _ = decision.model
