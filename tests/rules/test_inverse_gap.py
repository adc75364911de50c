"""Inverse gap weighting against numbers worked out by hand, and against how often it really chooses."""

import math

import numpy as np
import pytest

import eigenbandits as eb
from eigenbandits.belief import Ambient, Both, Projected, Screened
from eigenbandits.belief.fixed import FixedModel
from eigenbandits.policy.files import from_bytes, to_bytes
from eigenbandits.rules import InverseGap, RandomizedOptimism
from eigenbandits.rules.inverse_gap import inverse_gap_weights
from eigenbandits.subspace import Known


def test_weights_by_hand():
    # 1/(3 + 2 · 0.5), 1/(3 + 2 · 1), and what is left for the best.
    assert inverse_gap_weights(np.array([0.0, 0.5, 1.0]), 2.0, 0) == pytest.approx([0.55, 0.25, 0.2])
    assert inverse_gap_weights(np.zeros(4), 7.0, 2) == pytest.approx([0.25] * 4)
    assert inverse_gap_weights(np.array([0.3, 0.0]), 1e300, 1) == pytest.approx([0.0, 1.0])


def test_square_cb_chooses_as_often_as_it_says():
    policy = eb.SquareCB(gamma=4.0, exponent=0.0, seed=0)
    policy.learn([1.0, 0.0], 2.0)  # the estimate is (1, 0): a ridge of 1 halves the reward
    decisions = [policy.choose(np.eye(2)) for _ in range(4000)]
    # 1/(2 + 4 · 1) for the second; the standard error of 4,000 draws is below 0.006.
    assert np.mean([decision.index == 1 for decision in decisions]) == pytest.approx(1 / 6, abs=0.03)
    assert all(decision.propensity == pytest.approx([5 / 6, 1 / 6][decision.index]) for decision in decisions)


def test_square_cb_concentrates_as_rounds_go_by_and_files_remember_how_far_it_is():
    policy = eb.SquareCB(gamma=2.0, exponent=0.5, seed=0)
    policy.learn([1.0, 0.0], 2.0)
    likely = [policy.probabilities(np.eye(2))[1] for _ in range(16) if policy.choose(np.eye(2))]
    # probabilities() speaks of the round to come: γ = 2√2 in the second round, 2√17 in the seventeenth.
    assert likely[0] == pytest.approx(1 / (2 + 2 * math.sqrt(2)))
    assert likely[-1] == pytest.approx(1 / (2 + 2 * math.sqrt(17)))
    assert from_bytes(to_bytes(policy)).probabilities(np.eye(2))[1] == pytest.approx(likely[-1])


def brute_force(uppers, lowers, gamma):
    """The definition, one action at a time."""
    best = max(range(len(uppers)), key=lambda i: uppers[i])
    candidates = [i for i in range(len(uppers)) if uppers[i] >= max(lowers)]
    chances = [0.0] * len(uppers)
    for i in candidates:
        if i != best:
            short = (uppers[best] - uppers[i]) / (uppers[best] - max(lowers))
            chances[i] = 1 / (len(candidates) * (1 + gamma * short))
    chances[best] = 1 - sum(chances)
    return chances


@pytest.mark.parametrize("gamma", [0.0, 1.0, 10.0])
def test_randomized_optimism_against_its_definition(gamma):
    rng = np.random.default_rng(0)
    for _ in range(50):
        estimates, widths = rng.standard_normal(12), rng.exponential(size=12)
        bounds = estimates + widths, estimates - widths
        assert RandomizedOptimism(gamma).chances(*bounds) == pytest.approx(brute_force(*bounds, gamma))


def test_what_it_gives_away_is_at_most_the_band_over_gamma():
    rng = np.random.default_rng(1)
    for gamma in (1.0, 10.0):
        for size in (2, 5, 100):
            estimates, widths = rng.standard_normal(size), rng.exponential(size=size)
            uppers, lowers = estimates + widths, estimates - widths
            given = float(RandomizedOptimism(gamma).chances(uppers, lowers) @ (uppers.max() - uppers))
            assert given <= (uppers.max() - lowers.max()) / gamma


@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
def test_units_and_offsets_of_the_rewards_do_not_matter(scale):
    uppers, lowers = np.array([3.0, 2.0, 1.0, 0.5]), np.array([1.0, 0.5, -1.0, 0.4])
    plain = RandomizedOptimism().chances(uppers, lowers)
    assert RandomizedOptimism().chances(scale * uppers, scale * lowers) == pytest.approx(plain)
    assert RandomizedOptimism().chances(uppers + 7.0, lowers + 7.0) == pytest.approx(plain)


def test_degenerate_bounds():
    rule = RandomizedOptimism()
    assert rule.chances(np.array([2.0]), np.array([1.0])).tolist() == [1.0]
    assert rule.chances(np.ones(4), np.ones(4)) == pytest.approx([0.25] * 4)  # nothing to tell them apart
    assert rule.chances(np.array([1.0, 0.0]), np.array([1.0, 0.0])).tolist() == [1.0, 0.0]  # nothing left to learn
    # Sets without a common point may grant an action less than another is sure of.
    assert rule.chances(np.array([1.0, 0.9]), np.array([0.2, 2.0])).tolist() == [1.0, 0.0]


def test_bounds_of_two_sets_are_the_tighter_of_each():
    """C_m and C_d by their formulas: the lower of the uppers, the higher of the lowers."""
    rng = np.random.default_rng(2)
    basis = np.linalg.qr(rng.standard_normal((5, 2)))[0]
    error = 0.2
    ambient, projected = Ambient(0.3), Projected(0.3)
    policy = eb.Policy(Known(basis, projection_error=error), Both(projected, ambient), RandomizedOptimism())
    taken, rewards = rng.standard_normal((40, 5)), rng.standard_normal(40)
    policy.learn_many(taken, rewards)
    actions = rng.standard_normal((7, 5))
    policy.belief.follow(policy.subspace.frame())
    view = policy.belief.view(actions)
    z = taken.T @ taken + np.eye(5)
    b = basis.T @ taken.T @ taken @ basis + np.eye(2)
    inside = actions @ basis
    wide = ambient.omega() * np.sqrt(np.einsum("ij,jk,ik->i", actions, np.linalg.inv(z), actions))
    frame = policy.subspace.frame()
    assert frame is not None
    beta = projected.beta(frame, projected.rounds)
    narrow = beta * np.sqrt(np.einsum("ij,jk,ik->i", inside, np.linalg.inv(b), inside))
    narrow += error * np.linalg.norm(actions - inside @ basis.T, axis=1)
    by_all = actions @ np.linalg.solve(z, taken.T @ rewards)
    by_few = inside @ np.linalg.solve(b, basis.T @ taken.T @ rewards)
    np.testing.assert_allclose(view.uppers(), np.minimum(by_all + wide, by_few + narrow), rtol=1e-9)
    np.testing.assert_allclose(view.lowers(), np.maximum(by_all - wide, by_few - narrow), rtol=1e-9, atol=1e-12)


def test_certified_bounds_hold_on_both_sides():
    """Each side of the set is what the other is for −x."""
    policy = eb.EigenUCB(certified=True, noise=0.2, theta_bound=1.0, center="none", rule="randomized", seed=0)
    rng = np.random.default_rng(3)
    theta = np.array([0.8, -0.4, 0.0, 0.0])
    for _ in range(60):
        decision = policy.choose(rng.standard_normal((5, 4)) * [1.0, 1.0, 0.1, 0.1])
        policy.learn(decision, float(decision.action @ theta) + 0.1 * rng.standard_normal())
    actions = rng.standard_normal((9, 4))
    assert isinstance(policy.belief, Screened)
    assert len(policy.belief.proved.radii()) == 2
    one, other = policy.belief.view(actions), policy.belief.view(-actions)
    np.testing.assert_allclose(one.lowers(), -other.uppers(), rtol=1e-9, atol=1e-12)
    assert (one.lowers() <= actions @ theta).all()
    assert (one.uppers() >= actions @ theta).all()


def test_bad_settings_are_refused_in_one_sentence():
    with pytest.raises(ValueError, match="gamma is -1; expected a number of at least 0"):
        InverseGap(-1)
    with pytest.raises(ValueError, match="rule is 'exact'; expected one of 'optimism', 'randomized'"):
        eb.OFUL(noise=0.1, rule="exact")
    with pytest.raises(ValueError, match="RandomizedOptimism needs uppers and lowers, but FixedModel offers only"):
        eb.Policy(eb.subspace.Whole(), FixedModel(), RandomizedOptimism())
