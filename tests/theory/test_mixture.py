"""The mixture's formulas against densities, quadrature and dense algebra."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import integrate, stats

from eigenbandits.theory import mixture, omega_logdet, omega_mixture


def log_factor(eta, bias, gain, noise):
    """One step of the martingale: the member's density over that of N(xᵀθ*, R²), for r − xᵀθ* = eta; its logarithm."""
    score = mixture.prediction_score(surprise=eta + bias, gain=gain, noise=noise)
    return (eta**2 - score) / (2 * noise**2)


def factor(eta, bias, gain, noise):
    return math.exp(log_factor(eta, bias, gain, noise))


def test_a_score_is_the_log_density_of_the_prediction_up_to_a_constant():
    rng = np.random.default_rng(0)
    for _ in range(20):
        mean, reward = rng.normal(size=2)
        gain, noise = rng.exponential(size=2)
        density = stats.norm.logpdf(reward, mean, noise * math.sqrt(1 + gain))
        expected = -2 * noise**2 * density - noise**2 * math.log(2 * math.pi * noise**2)
        assert mixture.prediction_score(surprise=reward - mean, gain=gain, noise=noise) == pytest.approx(expected)


def test_the_level_is_minus_the_log_of_the_mean_of_likelihoods():
    scores, noise, delta = [3.0, 4.5, 2.0], 0.7, 0.02
    mean = sum(math.exp(-score / (2 * noise**2)) for score in scores) / 3
    expected = -2 * noise**2 * math.log(delta * mean)
    assert mixture.mixture_level(scores=scores, noise=noise, delta=delta) == pytest.approx(expected)
    # Far beyond the range of the exponential only the differences count.
    far = [score + 1e6 for score in scores]
    assert mixture.mixture_level(scores=far, noise=noise, delta=delta) == pytest.approx(expected + 1e6)
    assert mixture.mixture_level(scores=scores, noise=0.0, delta=delta) == 2.0


@pytest.mark.parametrize("gain", [0.0, 0.3, 5.0, 200.0])
@pytest.mark.parametrize("bias", [-3.0, -0.1, 0.0, 1.0])
def test_one_step_has_mean_one_for_gaussian_noise_and_no_more_for_sub_gaussian(bias, gain):
    noise = 0.5

    def integrand(eta):
        return math.exp(log_factor(eta, bias, gain, noise) + stats.norm.logpdf(eta, scale=noise))

    # The integrand is a normal density of width R√(1 + v) around −bias.
    width = noise * math.sqrt(1 + gain)
    mean, _ = integrate.quad(integrand, -bias - 12 * width, -bias + 12 * width, points=[-bias], limit=200)
    assert mean == pytest.approx(1.0, abs=1e-6)
    signs = (factor(noise, bias, gain, noise) + factor(-noise, bias, gain, noise)) / 2
    assert signs <= 1.0 + 1e-12
    edge = math.sqrt(3) * noise
    uniform, _ = integrate.quad(lambda eta: factor(eta, bias, gain, noise) / (2 * edge), -edge, edge)
    assert uniform <= 1.0 + 1e-9
    # A Bernoulli reward of probability 0.1, centered, is ½-sub-Gaussian by Hoeffding's lemma.
    bernoulli = 0.1 * factor(0.9, bias, gain, 0.5) + 0.9 * factor(-0.1, bias, gain, 0.5)
    assert bernoulli <= 1.0 + 1e-12


def test_noise_that_is_wider_than_it_says_breaks_the_martingale():
    wide = (factor(1.5, 0.0, 1.0, 0.5) + factor(-1.5, 0.0, 1.0, 0.5)) / 2  # signs of size 3R
    assert wide > 1.0


def test_the_penalty_bounds_the_norm_of_every_parameter_of_the_true_subspace():
    rng = np.random.default_rng(1)
    inner, outer, bound = 0.7, 9.0, 2.0
    largest = 0.0
    for _ in range(300):
        true = np.linalg.qr(rng.normal(size=(6, 2)))[0]
        found = np.linalg.qr(true + 0.3 * rng.normal(size=(6, 2)))[0]
        error = float(np.linalg.norm(found @ found.T - true @ true.T, 2))
        theta = true @ rng.normal(size=2)
        theta *= bound / np.linalg.norm(theta)
        hat = found @ found.T
        actual = theta @ (inner * hat + outer * (np.eye(6) - hat)) @ theta
        granted = mixture.penalty_bound(theta_bound=bound, inside=inner, outside=outer, projection_error=error)
        assert actual <= granted * (1 + 1e-12)
        largest = max(largest, actual / granted)
    assert largest > 0.99  # the bound is attained
    with pytest.raises(ValueError, match="inside <= outside"):
        mixture.penalty_bound(theta_bound=1.0, inside=2.0, outside=1.0, projection_error=0.0)


def test_for_one_fixed_ridge_the_mixture_is_the_narrower_radius_of_oful():
    rng = np.random.default_rng(2)
    noise, delta, bound, ridge, dim = 0.5, 0.05, 1.5, 0.8, 4
    actions, rewards = rng.normal(size=(30, dim)), rng.normal(size=30)
    score = 0.0
    for t, (action, reward) in enumerate(zip(actions, rewards, strict=True)):
        Z = actions[:t].T @ actions[:t] + ridge * np.eye(dim)
        mean = action @ np.linalg.solve(Z, actions[:t].T @ rewards[:t])
        gain = action @ np.linalg.solve(Z, action)
        score += mixture.prediction_score(surprise=reward - mean, gain=gain, noise=noise)
    Z = actions.T @ actions + ridge * np.eye(dim)
    b = actions.T @ rewards
    square = mixture.squared_radius(
        level=mixture.mixture_level(scores=[score], noise=noise, delta=delta),
        residual=float(rewards @ rewards - b @ np.linalg.solve(Z, b)),
        penalty=mixture.penalty_bound(theta_bound=bound, inside=ridge, outside=ridge, projection_error=1.0),
    )
    known = {
        "noise": noise,
        "delta": delta,
        "theta_bound": bound,
        "ridge": ridge,
        "log_det_ratio": float(np.linalg.slogdet(Z / ridge)[1]),
    }
    assert omega_mixture(**known) == pytest.approx(math.sqrt(square))
    assert omega_mixture(**known) < omega_logdet(**known) <= math.sqrt(2) * omega_mixture(**known)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [({"delta": 0.0}, "delta is 0.0"), ({"noise": -1.0}, "noise is -1.0"), ({"ridge": 0.0}, "ridge 0.0")],
)
def test_bad_numbers_are_refused(wrong, words):
    known = {"noise": 1.0, "delta": 0.1, "theta_bound": 1.0, "ridge": 1.0, "log_det_ratio": 0.0}
    with pytest.raises(ValueError, match=words):
        omega_mixture(**known | wrong)
    with pytest.raises(ValueError, match=r"gain is -0\.1"):
        mixture.prediction_score(surprise=0.0, gain=-0.1, noise=1.0)
