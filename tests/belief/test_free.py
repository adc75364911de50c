"""The intercept and the score beside θ, against dense Bayesian regression on all of them."""

import math
from typing import Any

import numpy as np
import pytest

import eigenbandits as eb
from eigenbandits.belief.spectral.free import SCORE_WEIGHT, Explained, explained, explained_rows

KAPPA, SCORE = 0.7, 2.0


def problem(kappa, score, count=12, dim=4, seed=0, sign=1.0):
    """Return actions, free coordinates, rewards, and both sums as a belief keeps them."""
    rng = np.random.default_rng(seed)
    actions, scores = rng.standard_normal((count, dim)), rng.standard_normal(count)
    free = np.column_stack([np.full(count, kappa)] * bool(kappa) + [score * scores] * bool(score))
    actions[:, 0] += scores
    rewards = 1.5 * bool(kappa) + sign * scores + actions @ np.array([0.5, -1.0, 0.2, 0.0]) + rng.standard_normal(count)
    return actions, free.reshape(count, -1), rewards


def found(actions, free, rewards, kappa, score):
    sums = np.column_stack([free.T @ actions, free.T @ free])
    return explained(sums, free.T @ rewards, float(rewards @ rewards), len(rewards), kappa, score)


@pytest.mark.parametrize(("kappa", "score"), [(KAPPA, 0.0), (0.0, SCORE), (KAPPA, SCORE)])
@pytest.mark.parametrize("seed", range(3))
def test_what_is_left_gives_the_posterior_of_all_coefficients_together(kappa, score, seed):
    actions, free, rewards = problem(kappa, score, seed=seed)
    dim, known = actions.shape[1], found(actions, free, rewards, kappa, score)
    # All together: θ with precision 3, a flat intercept, and a score of precision w s² around its expected slope.
    precision = np.diag([3.0] * dim + [0.0] * free.shape[1])
    expected = np.zeros(dim + free.shape[1])
    if score:
        spread = rewards.std() if kappa else math.sqrt((rewards**2).mean())
        precision[-1, -1] = SCORE_WEIGHT * score**2
        expected[-1] = spread / score
        assert known.expected == pytest.approx(spread)
    rows = np.column_stack([actions, free])
    joint = np.linalg.inv(rows.T @ rows + precision)
    mean = joint @ (rows.T @ rewards + precision @ expected)
    least = ((rewards - rows @ mean) ** 2).sum() + (mean - expected) @ precision @ (mean - expected)
    # By what is left to θ, from the sums and from the rows.
    gram, score_left = (
        actions.T @ actions - known.cross.T @ known.slopes,
        actions.T @ rewards - known.levels @ known.cross,
    )
    covariance = np.linalg.inv(gram + 3.0 * np.eye(dim))
    theta = covariance @ score_left
    np.testing.assert_allclose(theta, mean[:dim])
    np.testing.assert_allclose(known.levels - known.slopes @ theta, mean[dim:])
    np.testing.assert_allclose(covariance, joint[:dim, :dim])
    np.testing.assert_allclose(-known.slopes @ covariance, joint[dim:, :dim], atol=1e-12)
    np.testing.assert_allclose(known.slopes @ covariance @ known.slopes.T + known.covariance, joint[dim:, dim:])
    assert known.residual - score_left @ theta == pytest.approx(least)
    left, left_rewards = explained_rows(actions, free, rewards, known, score)
    np.testing.assert_allclose(left.T @ left, gram, atol=1e-12)
    np.testing.assert_allclose(left.T @ left_rewards, score_left, atol=1e-12)
    assert left_rewards @ left_rewards == pytest.approx(known.residual)
    assert known.freedom == len(rewards) - (kappa > 0)


def test_a_score_that_misleads_explains_nothing():
    actions, free, rewards = problem(KAPPA, SCORE, sign=-3.0)
    known = found(actions, free, rewards, KAPPA, SCORE)
    without = found(actions, free[:, :1], rewards, KAPPA, 0.0)
    assert known.levels == pytest.approx([*without.levels, 0.0])
    np.testing.assert_allclose(known.slopes, [*without.slopes, np.zeros(4)])
    assert known.residual == pytest.approx(without.residual)
    left, left_rewards = explained_rows(actions, free, rewards, known, SCORE)
    assert len(left) == len(left_rewards) == len(rewards)


@pytest.mark.parametrize("rewards", [np.zeros(0), np.zeros(1), np.full(3, 0.0)])
def test_rewards_that_are_all_the_same_leave_the_score_as_it_was(rewards):
    """They come less the first of them, and have no unit; the slope stays where it was, and nothing is left."""
    free = np.column_stack([np.full(len(rewards), KAPPA), np.zeros(len(rewards))])
    known = found(np.zeros((len(rewards), 4)), free, rewards, KAPPA, SCORE)
    assert known.levels == pytest.approx([0.0, 1.0 / SCORE])
    assert known.residual == 0.0


@pytest.mark.parametrize("free", [1, 2])
def test_a_thin_covariance_is_the_dense_one(free):
    """By few rows and written out, for covariances of θ that are a multiple of I and a few rows."""
    rng = np.random.default_rng(0)
    dim = 9
    root = rng.standard_normal((free, free))
    known = Explained(
        rng.standard_normal((free, dim)), np.zeros(free), np.zeros((free, dim)), root @ root.T + np.eye(free), 0.0, 0.0
    )
    plus, minus = rng.standard_normal((2, dim)), 0.1 * rng.standard_normal((3, dim))
    belief = eb.belief.Spectral()
    belief.start(dim + free, KAPPA)
    belief._take_thin(1.3, plus, minus, known, room=2)
    assert belief.inverse.thin
    theta = 1.3 * np.eye(dim) + plus.T @ plus - minus.T @ minus
    # Of θ and the free coefficients g − Bθ: what θ brings along, and what is their own.
    brings = np.vstack([np.eye(dim), -known.slopes])
    dense = brings @ theta @ brings.T
    dense[dim:, dim:] += known.covariance
    np.testing.assert_allclose(belief.inverse.full(), dense, atol=1e-12)
    belief._take_covariance(theta, known)
    np.testing.assert_allclose(belief.inverse.full(), dense, atol=1e-12)


def test_many_dimensions_take_scores_too():
    """520 numbers and a score: the thin form and the one written out choose the same."""
    policies: list[Any] = [eb.EigenUCB(seed=0) for _ in range(2)]
    rng = np.random.default_rng(3)
    for _ in range(10):
        actions, scores = rng.standard_normal((6, 520)), rng.standard_normal(6)
        ours, theirs = (policy.choose(actions, scores=scores) for policy in policies)
        assert ours.index == theirs.index
        assert ours.upper == pytest.approx(theirs.upper, rel=1e-8)
        for policy, decision in zip(policies, (ours, theirs), strict=True):
            policy.learn(decision, float(np.sin(9.0 * decision.action[0])))
        assert policies[0].belief.inverse.thin
        policies[1].belief.inverse.flush()
        assert not policies[1].belief.inverse.thin
