"""The frequent-directions sketch against the matrices that it stands for."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.checks.play import look

import eigenbandits as eb
from eigenbandits.belief import Sketched

DIM = 9


def stream(seed, count, decay=0.7):
    """Return actions whose energy falls from direction to direction, and rewards."""
    rng = np.random.default_rng(seed)
    turn = np.linalg.qr(rng.standard_normal((DIM, DIM)))[0]
    actions = rng.standard_normal((count, DIM)) * decay ** np.arange(DIM) @ turn
    return actions, actions @ turn[0] + 0.1 * rng.standard_normal(count)


def taught(actions, rewards, **options):
    belief = Sketched(noise=0.3, **options)
    belief.start(DIM)
    for action, reward in zip(actions, rewards, strict=True):
        belief.learn(action, float(reward))
    return belief


def held(belief):
    """Return SᵀS."""
    return belief.rows[: belief.fill].T @ belief.rows[: belief.fill]


@settings(max_examples=40)
@given(st.integers(0, 10**6), st.integers(1, 120), st.integers(1, 12), st.floats(0.2, 1.0))
def test_the_sketch_loses_no_more_than_it_says(seed, count, size, decay):
    # 0 ⪯ Σ − SᵀS ⪯ ρI, the guarantee of frequent directions (Liberty 2013), with ρ the sum of what was taken off.
    actions, rewards = stream(seed, count, decay)
    belief = taught(actions, rewards, size=size)
    gram = actions.T @ actions
    lost = np.linalg.eigvalsh(gram - held(belief))
    rounding = 1e-10 * np.trace(gram)
    assert lost.min() >= -rounding
    assert lost.max() <= belief.lost + rounding
    # ρ itself is at most what ℓ + 1 directions share of the energy.
    assert belief.lost * (min(size, DIM) + 1) <= np.trace(gram) * (1 + 1e-10)
    assert len(belief.rows) == 2 * min(size, DIM)
    np.testing.assert_allclose(belief.moment, actions.T @ rewards, atol=1e-10 * np.abs(actions).sum())


@pytest.mark.parametrize("size", [9, 20])
def test_a_sketch_of_all_dimensions_loses_nothing(size):
    actions, rewards = stream(0, 300)
    belief = taught(actions, rewards, size=size)
    assert belief.lost == 0.0
    np.testing.assert_allclose(held(belief), actions.T @ actions, atol=1e-9)


def dense_values(belief, probe, compensate, ridge):
    """Return estimates and widths from the d × d matrix that the sketch stands for."""
    level = ridge + (belief.lost if compensate else 0.0)
    inverse = np.linalg.inv(held(belief) + level * np.eye(DIM))
    widths = np.sqrt(np.einsum("ij,jk,ik->i", probe, inverse, probe))
    return probe @ inverse @ belief.moment, widths


@pytest.mark.parametrize("compensate", [False, True], ids=["SOFUL", "CBSCFD"])
@pytest.mark.parametrize("count", [0, 1, 5, 8, 9, 60, 200])
@pytest.mark.parametrize("size", [1, 4, 9])
def test_values_are_those_of_the_dense_matrix(size, count, compensate):
    actions, rewards = stream(1, count)
    belief = taught(actions, rewards, size=size, ridge=0.6, compensate=compensate, radius=1.7)
    probe = np.random.default_rng(2).standard_normal((12, DIM))
    view = belief.view(probe)
    estimates, widths = dense_values(belief, probe, compensate, 0.6)
    np.testing.assert_allclose(view.estimates(), estimates, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(view.uppers(), estimates + 1.7 * widths, rtol=1e-8, atol=1e-10)
    for index in range(3):
        model = view.optimist(index)()
        assert probe[index] @ model == pytest.approx(view.uppers()[index], rel=1e-8)
        # The model lies on the ellipsoid's boundary.
        level = 0.6 + (belief.lost if compensate else 0.0)
        step = model - view.believer()()
        assert step @ (held(belief) + level * np.eye(DIM)) @ step == pytest.approx(1.7**2, rel=1e-8)


@pytest.mark.parametrize("compensate", [False, True], ids=["SOFUL", "CBSCFD"])
def test_the_radius_is_that_of_its_derivation(compensate):
    # With V = Σ + λI ⪯ SᵀS + (λ + ρ)I the noise term is R √(log det(SᵀS + (λ + ρ)I) − d log λ − 2 log δ).
    actions, rewards = stream(3, 150)
    ridge, delta, bound = 0.6, 0.02, 1.4
    belief = taught(actions, rewards, size=4, ridge=ridge, delta=delta, theta_bound=bound, compensate=compensate)
    lost = belief.lost
    assert lost > ridge
    ratio = np.linalg.slogdet(held(belief) + (ridge + lost) * np.eye(DIM))[1] - DIM * math.log(ridge)
    noise = 0.3 * math.sqrt(ratio - 2 * math.log(delta))
    if compensate:
        expected = noise + bound * math.sqrt(ridge + lost)
    else:
        expected = noise * math.sqrt(1 + lost / ridge) + bound * max(ridge, lost - ridge) / math.sqrt(ridge)
    assert belief.omega() == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("compensate", [False, True], ids=["SOFUL", "CBSCFD"])
def test_without_noise_theta_is_in_the_set_for_certain(compensate):
    # R = 0 leaves the bias alone: ‖θ̃ − θ*‖_Z̃ ≤ Ω̃ must hold for every θ* with ‖θ*‖ ≤ S, however much was lost.
    rng = np.random.default_rng(4)
    for seed in range(20):
        actions, _ = stream(seed, 80, decay=0.9)
        theta = rng.standard_normal(DIM)
        theta /= np.linalg.norm(theta)
        belief = Sketched(noise=0.0, size=3, compensate=compensate)
        belief.start(DIM)
        for action in actions:
            belief.learn(action, float(action @ theta))
        level = 1.0 + (belief.lost if compensate else 0.0)
        matrix = held(belief) + level * np.eye(DIM)
        miss = np.linalg.solve(matrix, belief.moment) - theta
        assert math.sqrt(miss @ matrix @ miss) <= belief.omega() * (1 + 1e-9)


def test_draws_have_the_covariance_of_the_dense_matrix():
    actions, rewards = stream(5, 40)
    belief = taught(actions, rewards, size=4, compensate=True)
    probe = np.eye(DIM)
    view = belief.view(probe)
    draws = view.posterior(40_000, np.random.default_rng(0), 0.5).values
    inverse = np.linalg.inv(held(belief) + (1.0 + belief.lost) * np.eye(DIM))
    np.testing.assert_allclose(draws.mean(axis=0), inverse @ belief.moment, atol=5 * 0.5 / 200)
    # The standard error of a covariance from n draws is about √(2/n) of the variances: 0.7 %; five of them.
    scale = 0.25 * np.sqrt(np.outer(np.diag(inverse), np.diag(inverse)))
    assert (np.abs(np.cov(draws.T) - 0.25 * inverse) <= 0.035 * scale + 1e-12).all()


def test_the_policies_hold_what_their_names_say():
    plain = eb.SOFUL(noise=0.2, size=3, ridge=0.5, radius="paper", action_bound=2.0, theta_bound=1.5, delta=0.1)
    compensated = eb.CBSCFD(noise=0.2, size=3, ridge=0.5)
    actions, rewards = stream(6, 40)
    probe = np.random.default_rng(7).standard_normal((4, DIM))
    for policy, compensate in ((plain, False), (compensated, True)):
        policy.learn_many(actions, rewards)
        estimates, uppers = look(policy, probe)
        belief: Any = policy.belief
        expected, widths = dense_values(belief, probe, compensate, 0.5)
        np.testing.assert_allclose(estimates, expected, rtol=1e-8)
        np.testing.assert_allclose(
            uppers, expected + policy.diagnostics().details["radius_ambient"] * widths, rtol=1e-8
        )
    # The worst case of the reference: R√(ℓ log(1 + tL²/(ℓλ)) + 2 log(1/δ) + d log(1 + ρ/λ)) √(1 + ρ/λ) + S√λ(1 + ρ/λ).
    sketch: Any = plain.belief
    ratio = sketch.lost / 0.5
    rows = len(sketch.rows)
    inside = rows * math.log(1 + 41 * 4 / (rows * 0.5)) + 2 * math.log(10) + DIM * math.log(1 + ratio)
    expected = 0.2 * math.sqrt(inside) * math.sqrt(1 + ratio) + 1.5 * math.sqrt(0.5) * (1 + ratio)
    assert plain.diagnostics().details["radius_ambient"] == pytest.approx(expected, rel=1e-9)
