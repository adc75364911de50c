"""The graded ridge against dense matrices, its noise and its intercept against the likelihood of the rewards."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import multivariate_normal
from tests.checks.play import look, reward

import eigenbandits as eb
from eigenbandits.belief import Graded
from eigenbandits.rules import Optimism
from eigenbandits.subspace import PCA, Known, Whole

DIM = 7


def near_a_plane(rng, arms, dim=DIM, mean=0.0):
    plane = np.linalg.qr(np.vander(np.linspace(-1, 1, dim), 2))[0]
    return rng.standard_normal((arms, 2)) @ plane.T * 1.5 + 0.2 * rng.standard_normal((arms, dim)) + mean


def played(policy, rounds=30, dim=DIM, mean=0.0, seed=0):
    """Play some rounds and return the lifted actions learned from and their rewards."""
    rng = np.random.default_rng(seed)
    lifted, rewards = [], []
    for _ in range(rounds):
        actions = near_a_plane(rng, 6, dim, mean)
        decision = policy.choose(actions)
        center = policy.subspace.set_center(actions)
        lifted.append(policy.subspace.lift(decision.action[None], center)[0])
        rewards.append(reward(decision))
        policy.learn(decision, rewards[-1])
    return np.array(lifted), np.array(rewards)


def prior(belief: Any) -> np.ndarray:
    """Return W: the ridge along each direction, as the belief reports it."""
    size = len(belief.center)
    return belief.level * np.eye(size) - (belief.span * (belief.level - belief.ridges)) @ belief.span.T


def directions(policy: eb.Policy) -> np.ndarray:
    frame = policy.subspace.current()
    assert frame is not None
    return frame.directions


@pytest.mark.parametrize("center", ["none", "mean", "set", "differences"])
@pytest.mark.parametrize("power", [None, 1.5])
@pytest.mark.parametrize("refresh", ["lazy", "every-round"])
@pytest.mark.parametrize("noise", [0.3, "estimated"])
def test_values_are_those_of_the_dense_matrix(center, power, refresh, noise):
    """Through many changes of frame, of noise and of intercept, Z⁻¹ stays that of Σ + W."""
    belief = Graded(noise, theta_bound=1.4, delta=0.05, power=power)
    policy = eb.Policy(PCA(2, center=center, refresh=refresh), belief, Optimism(), seed=0)
    lifted, rewards = played(policy, rounds=45, mean=1.0)
    probe = near_a_plane(np.random.default_rng(9), 8, mean=1.0)
    estimates, uppers = look(policy, probe)
    W = prior(belief)
    Z = lifted.T @ lifted + W
    theta = np.linalg.solve(Z, lifted.T @ rewards)
    rows = policy.subspace.lift(probe, policy.subspace.set_center(probe))
    np.testing.assert_allclose(estimates, rows @ theta, rtol=1e-6, atol=1e-8)
    ratio = np.linalg.slogdet(Z)[1] - np.linalg.slogdet(W)[1]
    found = policy.diagnostics()
    inner = found["ridge_inside"]
    omega = found["noise"] * math.sqrt(ratio - 2 * math.log(0.05)) + 1.4 * math.sqrt(inner)
    assert found["radius_ambient"] == pytest.approx(omega, rel=1e-7)
    widths = np.sqrt(np.einsum("ij,ji->i", rows, np.linalg.solve(Z, rows.T)))
    np.testing.assert_allclose(uppers, rows @ theta + omega * widths, rtol=1e-6)


def test_the_ridges_are_those_of_their_definition():
    # λ_in = 4 R²/S² and λ_out = 3 d R²/S², with R = 0.3 and S = 1.5: R²/S² = 0.04.
    policy = eb.Policy(PCA(2), Graded(0.3, theta_bound=1.5, anytime=True), Optimism())
    played(policy, rounds=3)
    found = policy.diagnostics()
    assert found["ridge_inside"] == pytest.approx(0.16)
    assert found["ridge_outside"] == pytest.approx(3 * DIM * 0.04)
    W = prior(policy.belief)
    V = directions(policy)
    np.testing.assert_allclose(V.T @ W @ V, 0.16 * np.eye(2), atol=1e-12)
    P = V @ V.T
    np.testing.assert_allclose(W, 0.16 * P + 0.84 * (np.eye(DIM) - P), atol=1e-12)


def test_a_soft_cut_follows_the_spectrum():
    policy = eb.Policy(PCA(2), Graded(0.3, theta_bound=1.5, power=2.0), Optimism())
    played(policy, rounds=10)
    spectrum, V = policy.diagnostics()["spectrum"], directions(policy)
    W = prior(policy.belief)
    expected = 0.16 * (spectrum[0] / spectrum[:2]) ** 2
    np.testing.assert_allclose(np.diag(V.T @ W @ V), expected, rtol=1e-9)
    rest = spectrum[2:].mean()
    outside = np.linalg.svd(V.T)[2][2:]
    level = 0.16 * (spectrum[0] / rest) ** 2
    np.testing.assert_allclose(outside @ W @ outside.T, level * np.eye(DIM - 2), atol=1e-9 * level)


def test_where_nothing_is_known_of_the_size_of_theta_the_unit_of_the_actions_does_not_matter():
    plain, scaled = eb.PSLB(noise=0.2, seed=0), eb.PSLB(noise=0.2, seed=0)
    rng = np.random.default_rng(2)
    for _ in range(30):
        actions = near_a_plane(rng, 5, mean=0.5)
        one, other = plain.choose(actions), scaled.choose(2.0**20 * actions)
        assert one.index == other.index
        assert other.upper == pytest.approx(one.upper, rel=1e-6, abs=1e-9)
        plain.learn(one, reward(one))
        scaled.learn(other, reward(one))


def test_anytime_allows_for_the_error_and_spends_delta_over_the_frames():
    belief = Graded(0.3, theta_bound=1.5, delta=0.05, anytime=True)
    policy = eb.Policy(Known(np.eye(DIM)[:, :2], projection_error=0.2), belief, Optimism())
    lifted, _ = played(policy, rounds=20)
    policy.choose(np.eye(DIM))
    W = prior(belief)
    ratio = np.linalg.slogdet(lifted.T @ lifted + W)[1] - np.linalg.slogdet(W)[1]
    delta = 6 * 0.05 / math.pi**2
    expected = 0.3 * math.sqrt(ratio - 2 * math.log(delta)) + 1.5 * math.sqrt(0.16 + 0.84 * 0.04)
    assert policy.diagnostics()["radius_ambient"] == pytest.approx(expected, rel=1e-9)


def log_likelihood(lifted, rewards, W, noise):
    """Return the log-density of the rewards under N(0, R²(I + XW⁻¹Xᵀ))."""
    covariance = noise**2 * (np.eye(len(lifted)) + lifted @ np.linalg.solve(W, lifted.T))
    return float(multivariate_normal(cov=covariance).logpdf(rewards))


def test_the_estimated_noise_is_the_likeliest():
    belief: Any = Graded("estimated", theta_bound=1.0)
    policy = eb.Policy(PCA(2, refresh="every-round"), belief, Optimism(), seed=0)
    rng = np.random.default_rng(3)
    theta = np.linalg.qr(np.vander(np.linspace(-1, 1, DIM), 2))[0][:, 0]
    lifted, rewards = [], []
    noises = []
    for _ in range(120):
        decision = policy.choose(near_a_plane(rng, 6))
        lifted.append(decision.action)
        rewards.append(float(decision.action @ theta) + 0.25 * rng.standard_normal())
        noises.append((policy.diagnostics()["noise"], prior(belief)))
        policy.learn(decision, rewards[-1])
    assert {noise for noise, _ in noises[:30]} == {0.5}
    # Where it was last taken, no other noise makes the rewards likelier, the ridge being what it was then.
    changes = [i for i in range(1, 120) if noises[i][0] != noises[i - 1][0]]
    assert changes
    last = changes[-1]
    noise, W = noises[last][0], noises[last - 1][1]
    X, r = np.array(lifted[:last]), np.array(rewards[:last])
    best = log_likelihood(X, r, W, noise)
    assert best > log_likelihood(X, r, W, 1.05 * noise)
    assert best > log_likelihood(X, r, W, 0.95 * noise)
    # The standard error of a standard deviation from 90 numbers is 7.5 %.
    assert noises[-1][0] == pytest.approx(0.25, rel=0.25)


@settings(max_examples=25)
@given(st.integers(0, 10**6), st.sampled_from([0.0, 0.1, 0.2, 0.25, 0.3, 3.0]))
def test_the_intercept_is_opened_where_the_rewards_are_much_likelier_with_it(seed, offset):
    """The Bayes factor, by dense matrices: W with the intercept's own ridge λ_in against W with it shut."""
    rng = np.random.default_rng(seed)
    belief: Any = Graded(0.2, theta_bound=1.0)
    policy = eb.Policy(PCA(2, center="mean"), belief, Optimism(), seed=0)
    policy.observe(near_a_plane(rng, 200, mean=1.0))
    policy.choose(near_a_plane(rng, 4, mean=1.0))
    actions = near_a_plane(rng, 25, mean=1.0)
    rewards = offset + 0.3 * actions[:, 0] + 0.2 * rng.standard_normal(25)
    policy.learn_many(actions, rewards)
    lifted = policy.subspace.lift(actions, policy.subspace.reference)
    W = prior(belief)
    opened, shut = W.copy(), W.copy()
    opened[-1, -1] = belief.inner
    shut[-1, -1] = 1e12 * belief.level
    margin = log_likelihood(lifted, rewards, opened, 0.2) - log_likelihood(lifted, rewards, shut, 0.2)
    assert margin == pytest.approx(_margin(belief, lifted, rewards, W), rel=1e-3, abs=1e-3)
    policy.observe(near_a_plane(rng, 400, mean=1.0))
    policy.choose(near_a_plane(rng, 4, mean=1.0))
    wanted = 4.0 + 0.2 * 25  # a Bayes factor of e⁴, and e^0.2 times as much for each reward
    if abs(margin - wanted) > 0.05:
        assert policy.diagnostics()["intercept"] == (margin > wanted)


def _margin(belief, lifted, rewards, W):
    """Return ½h²/(R²(λ_in + g)) − ½ log(1 + g/λ_in), with g and h after all other coordinates are accounted for."""
    others = lifted[:, :-1]
    inverse = np.linalg.inv(others.T @ others + W[:-1, :-1])
    column = lifted[:, -1]
    rest = column - others @ inverse @ others.T @ column
    information = float(column @ rest)
    score = float(rest @ rewards)
    inner = belief.inner
    return 0.5 * score**2 / (0.04 * (inner + information)) - 0.5 * math.log1p(information / inner)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_pruning_in_many_dimensions_changes_no_choice(dtype):
    """From 256 dimensions on only actions that can win are looked at; bounds must hold and the best must be found."""
    dim, rng = 260, np.random.default_rng(4)
    policy = eb.Policy(PCA(2), Graded(0.3, theta_bound=1.0), Optimism(), seed=0, dtype=dtype)
    for round_ in range(40):
        actions = near_a_plane(rng, 40, dim)
        decision = policy.choose(actions)
        belief: Any = policy.belief
        view = belief.view(actions.astype(dtype), dim, policy.subspace.current(), round_ + 1)
        bounds, uppers = view.bounds(), view.uppers()
        assert (bounds >= uppers - 1e-9).all()
        assert decision.index == int(uppers.argmax())
        assert decision.upper == pytest.approx(uppers.max(), rel=1e-5 if dtype == "float32" else 1e-9)
        policy.learn(decision, float(decision.action[0]) + 0.1 * rng.standard_normal())
        if round_ % 7 == 6:
            batch = near_a_plane(rng, 3, dim)
            policy.learn_many(batch, batch[:, 1])
    # The bounds are good for something: most actions need no closer look.
    assert np.mean(bounds < uppers.max()) > 0.5


def test_many_dimensions_hold_the_same_matrix():
    """Rows that wait in blocks, a frame that turns, and batches: what is read is still that of Σ + W."""
    dim = 260
    policy = eb.Policy(PCA(2), Graded(0.3, theta_bound=1.4, delta=0.05), Optimism(), seed=0)
    lifted, rewards = played(policy, rounds=40, dim=dim)
    batch = near_a_plane(np.random.default_rng(8), 150, dim)
    policy.learn_many(batch, batch[:, 1])
    lifted, rewards = np.concatenate([lifted, batch]), np.concatenate([rewards, batch[:, 1]])
    probe = near_a_plane(np.random.default_rng(9), 8, dim)
    estimates, uppers = look(policy, probe)
    Z = lifted.T @ lifted + prior(policy.belief)
    theta = np.linalg.solve(Z, lifted.T @ rewards)
    widths = np.sqrt(np.einsum("ij,ji->i", probe, np.linalg.solve(Z, probe.T)))
    np.testing.assert_allclose(estimates, probe @ theta, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(uppers, probe @ theta + policy.diagnostics()["radius_ambient"] * widths, rtol=1e-7)


def test_a_graded_belief_needs_a_subspace():
    with pytest.raises(ValueError, match="needs a subspace with directions"):
        eb.Policy(Whole(), Graded(0.1), Optimism()).choose(np.ones((2, 3)))
    bad: list[tuple[dict[str, Any], str]] = [
        ({"noise": "loud"}, "noise is 'loud'; expected one of 'estimated'"),
        ({"noise": 0.1, "inside": 0.0}, "inside is 0"),
        ({"noise": 0.1, "outside": -1.0}, "outside is -1"),
        ({"noise": 0.1, "power": -1.0}, "power is -1"),
    ]
    for options, match in bad:
        with pytest.raises(ValueError, match=match):
            Graded(**options)
    with pytest.raises(ValueError, match="noise is 'estimated'; expected a number"):
        eb.OFUL(**{"noise": "estimated"})  # type: ignore[arg-type]
