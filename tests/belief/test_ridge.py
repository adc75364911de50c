"""A ridge that learns and turns, against the same found afresh by dense algebra."""

from __future__ import annotations

import numpy as np
import pytest

from eigenbandits.belief.certified.ridge import Ridge
from eigenbandits.belief.evidence import Evidence


def dense(actions, rewards, span, inside, outside):
    """Return Z, θ̂ and the least of ‖r − Xθ‖² + θᵀWθ from the raw data."""
    dim = actions.shape[1]
    hat = np.zeros((dim, dim)) if span is None else span @ span.T
    W = inside * hat + outside * (np.eye(dim) - hat)
    Z = actions.T @ actions + W
    center = np.linalg.solve(Z, actions.T @ rewards)
    gap = rewards - actions @ center
    return Z, center, gap @ gap + center @ W @ center


def same(ridge, found):
    Z, center, residual = found
    np.testing.assert_allclose(ridge.inverse.full(), np.linalg.inv(Z), rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(ridge.center, center, rtol=1e-8, atol=1e-9)
    assert ridge.residual == pytest.approx(residual, rel=1e-8, abs=1e-9)


def learn(ridge, prediction, action, reward, evidence):
    lost = ridge.learn(prediction, action, reward)
    evidence.add(action, reward)
    ridge.upkeep(lost, evidence)


@pytest.mark.parametrize("dim", [5, 300])  # rows wait in a block where the matrix is large
def test_rewards_and_turns_in_any_order(dim):
    rng = np.random.default_rng(dim)
    evidence, ridge = Evidence(), Ridge()
    evidence.start(dim)
    ridge.start(dim, 3.0)
    actions, rewards = rng.normal(size=(60, dim)), rng.normal(size=60)
    span, levels = None, (3.0, 3.0)
    for t, (action, reward) in enumerate(zip(actions, rewards, strict=True)):
        Z, center, _ = dense(actions[:t], rewards[:t], span, *levels)
        prediction = ridge.predict(action)
        assert prediction.mean == pytest.approx(action @ center, abs=1e-8)
        assert prediction.gain == pytest.approx(action @ np.linalg.solve(Z, action))
        learn(ridge, prediction, action, reward, evidence)
        if t % 7 == 3:
            span = np.linalg.qr(rng.normal(size=(dim, 1 + t % 3)))[0]
            levels = (0.5 + t / 100, 3.0 if t < 40 else 8.0)  # the outer level changes on the way
            ridge.turn(span, *levels, evidence)
        if t % 5 == 0:
            same(ridge, dense(actions[: t + 1], rewards[: t + 1], span, *levels))


def test_rounding_is_repaired():
    rng = np.random.default_rng(0)
    evidence, ridge = Evidence(), Ridge()
    evidence.start(3)
    ridge.start(3, 1e-3)
    actions, rewards = rng.normal(size=(257, 3)) * [1.0, 1e3, 1e-3], rng.normal(size=257)
    for t, (action, reward) in enumerate(zip(actions, rewards, strict=True), start=1):
        prediction = ridge.predict(action)
        if t == 250:
            ridge.inverse.half[:] *= 1.1  # as if rounding had added up
        learn(ridge, prediction, action, reward, evidence)
    Z, center, residual = dense(actions, rewards, None, 1e-3, 1e-3)
    np.testing.assert_allclose(ridge.inverse.full(), np.linalg.inv(Z), rtol=1e-6)
    np.testing.assert_allclose(ridge.center, center, rtol=1e-6)
    assert ridge.residual == pytest.approx(residual, rel=1e-9)


def test_a_reward_whose_gain_is_rounding_is_left_to_the_next_factorization():
    evidence, ridge = Evidence(), Ridge()
    evidence.start(2)
    ridge.start(2, 1e-6)
    for action, reward in (([1e8, 0.0], 1.0), ([1e8, 1e-4], 2.0), ([1e8, 0.0], 3.0)):
        row = np.array(action)
        prediction = ridge.predict(row)
        learn(ridge, prediction, row, reward, evidence)
    actions, rewards = np.array([[1e8, 0.0], [1e8, 1e-4], [1e8, 0.0]]), np.array([1.0, 2.0, 3.0])
    _, center, _ = dense(actions, rewards, None, 1e-6, 1e-6)
    np.testing.assert_allclose(ridge.center, center, rtol=1e-4, atol=1e-12)
