"""The ambient ellipsoid: estimates, widths, radii and draws against dense matrices."""

import inspect
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.checks.play import look, reward
from tests.plain import PlainLinear

import eigenbandits as eb
from eigenbandits.belief import Ambient

DIM = 6


def stream(seed, count, dim=DIM):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((count, dim)), rng.standard_normal(count)


@pytest.mark.parametrize("center", ["none", "mean", "set", "differences"])
def test_oful_agrees_with_its_twin_in_every_round(center):
    rng = np.random.default_rng(1)
    options = {"noise": 0.3, "theta_bound": 1.4, "ridge": 0.6, "delta": 0.05, "center": center}
    policy, twin = eb.OFUL(**options), PlainLinear(**options)
    for _ in range(40):
        actions = rng.standard_normal((5, DIM)) + 1.0
        twin.sets.append(actions)
        estimates, widths, ratio, _, theta = twin.ambient(actions)
        uppers = estimates + twin.omega(ratio) * widths
        decision = policy.choose(actions)
        assert decision.index == int(uppers.argmax())
        assert decision.upper == pytest.approx(uppers.max(), rel=1e-9)
        assert decision.estimate == pytest.approx(estimates[decision.index], rel=1e-8, abs=1e-10)
        assert policy.diagnostics().details["radius_ambient"] == pytest.approx(twin.omega(ratio), rel=1e-10)
        step = decision.model - theta[:DIM]
        assert step @ step > 0.0
        policy.learn(decision, reward(decision))
        twin.learn(actions, decision.action, reward(decision))


@settings(max_examples=30)
@given(st.integers(0, 10**6), st.integers(0, 60), st.floats(1e-3, 1e3), st.just(0.0) | st.floats(1e-6, 5.0))
def test_linucb_is_the_estimate_and_a_multiple_of_the_width(seed, count, ridge, multiplier):
    actions, rewards = stream(seed, count)
    policy = eb.LinUCB(multiplier=multiplier, ridge=ridge)
    for action, value in zip(actions, rewards, strict=True):
        policy.learn(action, value)
    probe = np.random.default_rng(seed + 1).standard_normal((7, DIM))
    inverse = np.linalg.inv(actions.T @ actions + ridge * np.eye(DIM))
    expected = probe @ inverse @ actions.T @ rewards
    widths = np.sqrt(np.einsum("ij,jk,ik->i", probe, inverse, probe))
    estimates, uppers = look(policy, probe)
    np.testing.assert_allclose(estimates, expected, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(uppers, expected + multiplier * widths, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("count", [3, 300])
@pytest.mark.parametrize("dim", [6, 300])
def test_small_and_large_problems_hold_the_same_matrix(dim, count):
    """From some hundreds of dimensions on rows wait in blocks; what is read must not know of it."""
    actions, rewards = stream(2, count, dim)
    policy = eb.OFUL(noise=0.2, ridge=2.0)
    for action, value in zip(actions, rewards, strict=True):
        policy.learn(action, value)
    Z = actions.T @ actions + 2.0 * np.eye(dim)
    probe = np.random.default_rng(3).standard_normal((4, dim))
    estimates, uppers = look(policy, probe)
    ratio = np.linalg.slogdet(Z)[1] - dim * math.log(2.0)
    omega = 0.2 * math.sqrt(ratio - 2 * math.log(0.01)) + math.sqrt(2.0)
    assert policy.diagnostics().details["radius_ambient"] == pytest.approx(omega, rel=1e-9)
    theta = np.linalg.solve(Z, actions.T @ rewards)
    widths = np.sqrt(np.einsum("ij,ji->i", probe, np.linalg.solve(Z, probe.T)))
    np.testing.assert_allclose(estimates, probe @ theta, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(uppers, probe @ theta + omega * widths, rtol=1e-8)


def test_the_mixture_radius_is_the_root_of_the_sum_of_squares():
    actions, rewards = stream(2, 40, 6)
    belief = Ambient(noise=0.2, ridge=2.0, theta_bound=3.0, delta=0.05, radius="mixture")
    belief.start(6)
    belief.learn_many(actions, rewards)
    ratio = np.linalg.slogdet(np.eye(6) + actions.T @ actions / 2.0)[1]
    omega = math.sqrt(0.2**2 * (ratio + 2 * math.log(20)) + 2.0 * 3.0**2)
    assert belief.omega() == pytest.approx(omega, rel=1e-9)
    probe = np.random.default_rng(3).standard_normal((4, 6))
    Z = actions.T @ actions + 2.0 * np.eye(6)
    widths = np.sqrt(np.einsum("ij,ji->i", probe, np.linalg.solve(Z, probe.T)))
    theta = np.linalg.solve(Z, actions.T @ rewards)
    np.testing.assert_allclose(belief.view(probe).uppers(), probe @ theta + omega * widths, rtol=1e-8)
    assert repr(eb.OFUL(noise=0.2, radius="mixture").belief) == "Ambient(noise=0.2, radius='mixture')"


def test_the_paper_radius_follows_the_largest_norm_seen():
    policy = eb.OFUL(noise=0.5, ridge=2.0, theta_bound=3.0, delta=0.1, radius="paper", rank=2)
    decision = policy.choose([[2.0, 0, 0, 0, 0, 0], [1.0, 0, 0, 0, 0, 0]])
    policy.learn(decision, 1.0)
    policy.learn(decision, 1.0)
    # t = 3, L = 2: 0.5 √(2 log 10 + 6 log(1 + 12/4)) + 3 √2 = 6.0400649798717946, worked out in test_radius.
    assert policy.diagnostics().details["radius_ambient"] == pytest.approx(6.0400649798717946, rel=1e-12)


def test_thompson_draws_have_the_posterior_covariance():
    """N(θ̂, R² Z⁻¹) in every state of the factor: none yet, fresh, with recent actions, and made anew."""
    policy = eb.LinTS(noise=0.4, ridge=1.5, samples=20_000, seed=0)
    for count, seed in ((0, 1), (3, 2), (40, 3), (200, 4)):
        actions, rewards = stream(seed, count)
        for action, value in zip(actions, rewards, strict=True):
            policy.learn(action, value)
        policy.choose(np.eye(DIM))
    every = np.concatenate([stream(seed, count)[0] for count, seed in ((3, 2), (40, 3), (200, 4))])
    values = np.concatenate([stream(seed, count)[1] for count, seed in ((3, 2), (40, 3), (200, 4))])
    inverse = np.linalg.inv(every.T @ every + 1.5 * np.eye(DIM))
    view = policy.belief.view(np.eye(DIM))
    draws = view.posterior(40_000, np.random.default_rng(5)).values
    expected = 0.16 * inverse
    # Five standard errors of the mean and of the covariance (√(2/n) = 0.7 % of the variances).
    deviations = np.sqrt(np.diag(expected))
    assert (np.abs(draws.mean(axis=0) - inverse @ every.T @ values) <= 5 * deviations / 200).all()
    assert (np.abs(np.cov(draws.T) - expected) <= 0.035 * np.outer(deviations, deviations)).all()


def test_boundary_models_lie_on_the_boundary():
    actions, rewards = stream(6, 30)
    belief = Ambient(noise=0.3, ridge=0.5)
    belief.start(DIM)
    for action, value in zip(actions, rewards, strict=True):
        belief.learn(action, float(value))
    view = belief.view(np.eye(DIM))
    models = view.boundary(500, np.random.default_rng(0))
    Z = actions.T @ actions + 0.5 * np.eye(DIM)
    steps = models.values - view.believer()()
    np.testing.assert_allclose(np.einsum("ij,jk,ik->i", steps, Z, steps), belief.omega() ** 2, rtol=1e-8)
    np.testing.assert_allclose(models.vector(7), models.values[7], rtol=1e-12)
    # Every direction alike: whitened, the models have mean zero and covariance Ω²/d.
    white = steps @ np.linalg.cholesky(Z) / belief.omega()
    assert np.abs(white.mean(axis=0)).max() < 5 / math.sqrt(500 * DIM)


def test_without_noise_theta_is_in_the_set_for_certain():
    actions, _ = stream(7, 50)
    theta = np.ones(DIM) / math.sqrt(DIM)
    belief = Ambient(noise=0.0, ridge=0.8)
    belief.start(DIM)
    for count, action in enumerate(actions):
        belief.learn(action, float(action @ theta))
        past = actions[: count + 1]
        Z = past.T @ past + 0.8 * np.eye(DIM)
        miss = belief.center - theta
        assert math.sqrt(miss @ Z @ miss) <= belief.omega() * (1 + 1e-9)


@pytest.mark.parametrize("scale", [1e6, 1e7, 1e8])
def test_what_was_learned_is_known_however_small_the_ridge(scale):
    """Actions of up to 1e8 times the root of the ridge, without noise: from d of them on θ* is known in every round.

    Rank-one updates of Z⁻¹ lose all digits on the way; the estimates must not.
    """
    rng = np.random.default_rng(8)
    actions = scale * rng.standard_normal((60, DIM))
    theta = rng.standard_normal(DIM) / scale
    belief = Ambient(noise=0.0, ridge=1.0)
    belief.start(DIM)
    for count, action in enumerate(actions, 1):
        belief.learn(action, float(action @ theta))
        if count > 2 * DIM:
            view = belief.view(actions[:count])
            np.testing.assert_allclose(view.estimates(), actions[:count] @ theta, rtol=1e-3, atol=1e-3)
            past = actions[:count] / scale
            squares = np.einsum("ij,ji->i", past, np.linalg.solve(past.T @ past, past.T))
            found = (view.uppers() - view.estimates()) / belief.omega()
            np.testing.assert_allclose(found, np.sqrt(squares), rtol=1e-2)


@pytest.mark.parametrize("dim", [6, 300])
def test_whatever_is_wrong_with_the_inverse_is_put_right_in_time(dim):
    """Z⁻¹, θ̂ and log det Z are found anew once in max(256, 4d) rewards, so that no error in them lives longer."""
    patience = max(256, 4 * dim)
    rng = np.random.default_rng(10)
    actions, rewards = rng.standard_normal((2 * patience, dim)), rng.standard_normal(2 * patience)
    belief = Ambient(noise=0.2, ridge=0.7)
    belief.start(dim)
    for count, (action, value) in enumerate(zip(actions, rewards, strict=True), 1):
        belief.learn(action, float(value))
        if count == patience // 2:
            # What rounding would do in a very long time.
            belief.inverse.flush()
            belief.inverse.reset(1.01 * belief.inverse.half)
            belief.center = belief.center + 0.01
            belief.log_det_ratio += 0.01
    Z = actions.T @ actions + 0.7 * np.eye(dim)
    np.testing.assert_allclose(belief.inverse.full(), np.linalg.inv(Z), rtol=1e-8, atol=1e-10 / len(actions))
    np.testing.assert_allclose(belief.center, np.linalg.solve(Z, actions.T @ rewards), rtol=1e-7, atol=1e-10)
    assert belief.log_det_ratio == pytest.approx(np.linalg.slogdet(Z)[1] - dim * math.log(0.7), rel=1e-9)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"noise": -1.0}, "noise is -1; expected a number of at least 0"),
        ({"noise": 0.1, "ridge": 0.0}, "ridge is 0; expected a number above 0"),
        ({"noise": 0.1, "theta_bound": -1.0}, "theta_bound is -1"),
        ({"noise": 0.1, "delta": 1.0}, "delta is 1"),
        ({"noise": 0.1, "radius": "wide"}, "radius is 'wide'; expected one of 'logdet', 'mixture', 'paper'"),
        ({"noise": 0.1, "radius": -1.0}, "radius is -1"),
        ({"noise": 0.1, "action_bound": 0.0}, "action_bound is 0"),
        ({"noise": 0.1, "rank": 0}, "rank is 0"),
    ],
)
def test_bad_parameters_are_named(options, match):
    with pytest.raises(ValueError, match=match):
        Ambient(**options)


def test_a_decision_that_is_kept_keeps_its_own_row_alone():
    rng = np.random.default_rng(0)
    policy = eb.OFUL(noise=0.1, seed=0)
    decisions = [*policy.choose_many(rng.standard_normal((50, 20, 8))), policy.choose(rng.standard_normal((20, 8)))]
    for decision in decisions:
        assert decision._model is not None
        kept = inspect.getclosurevars(decision._model).nonlocals.values()
        arrays = [one for one in kept if isinstance(one, np.ndarray)]
        assert len(arrays) == 3
        assert all(one.base is None and one.size <= 8 for one in arrays)


@pytest.mark.parametrize("kind", ["generic", "collinear", "zero"])
def test_posterior_values_in_few_actions_are_those_of_the_normal_law(kind):
    """With K < d the values are drawn in K dimensions: mean Xθ̂ and covariance R² XZ⁻¹Xᵀ, computed here directly."""
    rng = np.random.default_rng(11)
    seen, rewards = rng.standard_normal((30, 7)), rng.standard_normal(30)
    belief = Ambient(0.5, ridge=2.0)
    belief.start(7)
    belief.learn_many(seen, rewards)
    actions = rng.standard_normal((3, 7))
    if kind == "collinear":
        actions[1] = -2.0 * actions[0]
    if kind == "zero":
        actions[1] = 0.0
    gram = seen.T @ seen + 2.0 * np.eye(7)
    mean, covariance = (
        actions @ np.linalg.solve(gram, seen.T @ rewards),
        0.25 * actions @ np.linalg.solve(gram, actions.T),
    )
    drawn = belief.view(actions).posterior(200_000, np.random.default_rng(12))
    # Standard errors of a variance and a mean over 200,000 draws, five times.
    size = np.sqrt(np.diag(covariance))
    assert np.all(np.abs(drawn.values.mean(axis=0) - mean) <= 5.0 * size / np.sqrt(200_000) + 1e-12)
    assert np.abs(np.cov(drawn.values.T) - covariance).max() <= 5.0 * np.sqrt(2.0 / 200_000) * size.max() ** 2
    for index in (0, 7):
        assert actions @ drawn.vector(index) == pytest.approx(drawn.values[index], abs=1e-9)
