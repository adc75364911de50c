"""Evidences against Gaussian densities, integrals over the noise, and least squares by another route."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import lsq_linear
from scipy.stats import invgamma, multivariate_normal

from eigenbandits.theory.marginal import noise_variance, regret_evidence, regret_residuals, residual_evidence


def test_known_noise_gives_the_gaussian_log_density_up_to_a_constant():
    rng = np.random.default_rng(0)
    rewards, noise = rng.standard_normal(5), 0.7
    half = rng.standard_normal((5, 5))
    values = []
    for cover in (np.eye(5), np.eye(5) + half @ half.T):
        density = multivariate_normal(cov=noise**2 * cover).logpdf(rewards)
        residual = rewards @ np.linalg.solve(cover, rewards)
        ours = residual_evidence(np.asarray(residual), 5, unit=1.0, weight=2.0, noise=noise)
        values.append(density - (ours - 0.5 * np.linalg.slogdet(cover)[1]))
    assert values[0] == pytest.approx(values[1], abs=1e-10)


def test_unknown_noise_is_integrated_over_its_prior():
    """Against ∫ N(r; 0, σ²I) IG(σ²; w, w·unit) dσ² by quadrature, for two lengths of r."""
    weight, unit = 2.0, 0.3
    gaps = []
    for residual in (0.5, 7.0):

        def density(variance, residual=residual):
            return (
                variance**-2.5
                * np.exp(-0.5 * residual / variance)
                * invgamma(weight, scale=weight * unit).pdf(variance)
            )

        integral = quad(density, 0.0, np.inf, limit=400)[0]
        ours = residual_evidence(np.asarray(residual), 5, unit=unit, weight=weight, noise=None)
        gaps.append(np.log(integral) - float(ours))
    assert gaps[0] == pytest.approx(gaps[1], abs=1e-6)


def test_the_noise_lies_between_its_prior_and_what_is_left():
    assert noise_variance(0.0, 0, unit=3.0, weight=2.0, noise=None) == pytest.approx(3.0)
    assert noise_variance(4e6, 1e6, unit=3.0, weight=2.0, noise=None) == pytest.approx(4.0, rel=1e-4)
    assert noise_variance(5.0, 7, unit=3.0, weight=2.0, noise=0.5) == 0.25


def centered_moments(best, behind, rewards):
    columns = [column - column.mean() for column in (best, behind, rewards)]
    m, a, r = columns
    return np.array([[m @ m, m @ a, a @ a, m @ r, a @ r], [r @ r, 0, 0, 0, 0]])


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("slopes", [(1.0, 1.0), (0.0, 3.0), (-1.0, 2.0), (2.0, -1.0), (-1.0, -1.0)])
def test_regret_residuals_are_those_of_least_squares_with_slopes_of_at_least_0(seed, slopes):
    rng = np.random.default_rng(seed)
    count = 40
    best, behind = rng.standard_normal(count), -rng.random(count)
    rewards = 0.3 + slopes[0] * best + slopes[1] * behind + 0.5 * rng.standard_normal(count)
    design = np.column_stack([np.ones(count), best, behind])
    solved = lsq_linear(design, rewards, bounds=([-np.inf, 0.0, 0.0], np.inf), tol=1e-14)
    at_one = rewards - best - behind
    at_one = np.square(at_one - at_one.mean()).sum()
    expected = (at_one + count * 2.0 * solved.cost) / (1.0 + count)
    found = regret_residuals(centered_moments(best, behind, rewards), count)
    assert found[0] == pytest.approx(expected, rel=1e-6)


def test_regret_residuals_of_nothing_and_of_a_member_that_is_never_contradicted():
    assert regret_residuals(np.zeros((3, 5)), 0).tolist() == [0.0, 0.0]
    rewards = np.array([0.0, 1.0, 1.0, 0.0])
    moments = centered_moments(rewards, np.zeros(4), rewards)
    assert regret_residuals(moments, 4)[0] == pytest.approx(0.0, abs=1e-12)


def test_a_member_whose_advantage_explains_the_rewards_wins():
    rng = np.random.default_rng(1)
    right = rng.random(200) < 0.8
    rewards = right.astype(float)
    best = rng.random(200)
    knows = centered_moments(best, np.where(right, 0.0, -0.2), rewards)
    blind = centered_moments(best, np.where(rng.random(200) < 0.8, 0.0, -0.2), rewards)
    both = np.concatenate([knows[:1], blind])
    evidence = regret_evidence(both, 200, unit=0.16, weight=2.0, noise=None)
    assert evidence[0] > evidence[1] + 50.0
