"""Evidences against Gaussian densities, integrals over the noise, and least squares by another route."""

from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import lsq_linear
from scipy.stats import invgamma, multivariate_normal, norm

from eigenbandits.theory.marginal import (
    excess_kurtosis,
    expected_maximum,
    left_out,
    neglect,
    noise_variance,
    regret_likelihood,
    regret_residuals,
    residual_likelihood,
    tempered,
)


def test_known_noise_gives_the_gaussian_log_density_up_to_a_constant():
    rng = np.random.default_rng(0)
    rewards, noise = rng.standard_normal(5), 0.7
    half = rng.standard_normal((5, 5))
    values = []
    for cover in (np.eye(5), np.eye(5) + half @ half.T):
        density = multivariate_normal(cov=noise**2 * cover).logpdf(rewards)
        residual = rewards @ np.linalg.solve(cover, rewards)
        ours = residual_likelihood(np.asarray(residual), 5, unit=1.0, weight=2.0, noise=noise)
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
        ours = residual_likelihood(np.asarray(residual), 5, unit=unit, weight=weight, noise=None)
        gaps.append(np.log(integral) - float(ours))
    assert gaps[0] == pytest.approx(gaps[1], abs=1e-6)


def test_the_noise_lies_between_its_prior_and_what_is_left():
    assert noise_variance(0.0, 0, unit=3.0, weight=2.0, noise=None) == pytest.approx(3.0)
    assert noise_variance(4e6, 1e6, unit=3.0, weight=2.0, noise=None) == pytest.approx(4.0, rel=1e-4)
    assert noise_variance(5.0, 7, unit=3.0, weight=2.0, noise=0.5) == 0.25


def moments(best, behind, rewards) -> tuple[np.ndarray, np.ndarray, float]:
    """Return the sums of products of (M, a, g) with each other and with r about their means, and Σr²."""
    columns = np.column_stack([best, behind, -(behind < 0.0).astype(float), rewards])
    columns = columns - columns.mean(axis=0)
    products = columns.T @ columns
    return products[None, :3, :3], products[None, :3, 3], float(products[3, 3])


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(
    "slopes", [(1.0, 1.0, 0.0), (0.0, 3.0, 1.0), (-1.0, 2.0, -1.0), (2.0, -1.0, 0.5), (-1.0, -1.0, -1.0)]
)
def test_regret_residuals_are_those_of_least_squares_with_slopes_of_at_least_0(seed, slopes):
    rng = np.random.default_rng(seed)
    count = 40
    best, behind = rng.standard_normal(count), np.minimum(0.5 - rng.random(count), 0.0)
    missed = -(behind < 0.0).astype(float)
    rewards = 0.3 + slopes[0] * best + slopes[1] * behind + slopes[2] * missed + 0.5 * rng.standard_normal(count)
    design = np.column_stack([np.ones(count), best, behind, missed])
    solved = lsq_linear(design, rewards, bounds=([-np.inf, 0.0, 0.0, 0.0], np.inf), tol=1e-14)
    at_prior = rewards - best - behind
    at_prior = np.square(at_prior - at_prior.mean()).sum()
    expected = (at_prior + count * 2.0 * solved.cost) / (1.0 + count)
    assert regret_residuals(*moments(best, behind, rewards), count)[0] == pytest.approx(expected, rel=1e-6)


def test_regret_residuals_of_nothing_and_of_a_member_that_is_never_contradicted():
    assert regret_residuals(np.zeros((2, 3, 3)), np.zeros((2, 3)), 0.0, 0).tolist() == [0.0, 0.0]
    rewards = np.array([0.0, 1.0, 1.0, 0.0])
    assert regret_residuals(*moments(rewards, np.zeros(4), rewards), 4)[0] == pytest.approx(0.0, abs=1e-8)


def test_a_member_that_was_contradicted_whenever_the_choice_was_wrong_wins():
    """However far behind it said that the choice was."""
    rng = np.random.default_rng(1)
    right = rng.random(200) < 0.8
    rewards, best, sizes = right.astype(float), rng.random(200), -0.5 * rng.random(200)
    knows = moments(best, np.where(right, 0.0, sizes), rewards)
    blind = moments(best, np.where(rng.random(200) < 0.8, 0.0, sizes), rewards)
    gram, cross = (np.concatenate([one, other]) for one, other in zip(knows[:2], blind[:2], strict=True))
    found = regret_likelihood(gram, cross, knows[2], 200, unit=0.16, weight=2.0, noise=None)
    assert found[0] > found[1] + 50.0


@pytest.mark.parametrize("noise", [None, 0.7])
def test_likelihood_and_what_it_leaves_out_are_a_density(noise):
    """Of five rewards around 0, whose noise is known or integrated out."""
    rewards = np.array([0.3, -1.0, 0.2, 0.9, -0.4])
    known: dict[str, Any] = {"unit": 0.6, "weight": 1.5, "noise": noise}
    ours = float(residual_likelihood(np.asarray(rewards @ rewards), 5, **known)) + left_out(5, **known)
    if noise is None:
        expected = quad(
            lambda variance: (
                np.prod(norm(0.0, np.sqrt(variance)).pdf(rewards)) * invgamma(1.5, scale=1.5 * 0.6).pdf(variance)
            ),
            0.0,
            np.inf,
            limit=400,
        )[0]
    else:
        expected = float(np.prod(norm(0.0, noise).pdf(rewards)))
    assert ours == pytest.approx(np.log(expected), abs=1e-6)


@pytest.mark.parametrize("failures", [0.5, 0.1, 0.02])
def test_gains_are_tempered_by_the_ratio_of_two_variances(failures):
    """Var eᵀHe for errors of rewards that fail now and then, and for normal ones of the same variance, by simulation.

    H averages over groups of five, so that all leverages are df/n = 1/5. Of 200,000 draws both variances are known to
    within 2 %.
    """
    rng = np.random.default_rng(0)
    draws, groups, size = 200_000, 4, 5
    variance = failures * (1.0 - failures)
    errors = (rng.random((draws, groups, size)) < failures) - failures
    normal = np.sqrt(variance) * rng.standard_normal(errors.shape)
    seen, expected = (float(np.var(size * (drawn.mean(axis=2) ** 2).sum(axis=1))) for drawn in (errors, normal))
    kurtosis = (1.0 - 6.0 * variance) / variance
    ratio = 1.0 / float(tempered(np.ones(1), np.full(1, groups), groups * size, kurtosis)[0])
    assert seen / expected == pytest.approx(ratio, rel=0.06)


def test_excess_kurtosis_is_that_of_the_errors_in_any_unit():
    rng = np.random.default_rng(1)
    errors = rng.standard_t(8.0, 1000)
    for unit in (1e-40, 1.0, 1e40):
        squares = (unit * errors) ** 2
        found = excess_kurtosis(float(squares.sum()), float(squares @ squares), 1000)
        assert found == pytest.approx((errors**4).mean() / (errors**2).mean() ** 2 - 3.0)
    assert excess_kurtosis(0.0, 0.0, 0.0) == excess_kurtosis(0.0, 0.0, 10.0) == 0.0


@pytest.mark.parametrize("count", [2, 3, 10, 26, 77, 1000, 100_000])
def test_the_expected_maximum_is_the_integral(count):
    def density(x):
        return x * count * norm.pdf(x) * norm.cdf(x) ** (count - 1)

    exact = quad(density, -10.0, 12.0, limit=400, points=[0.0, 2.0, 4.0])[0]
    assert expected_maximum(count) == pytest.approx(exact, rel=0.07 if count == 2 else 0.03)


def test_neglect_is_the_index_of_lai():
    # After 900 rewards of one action and 4 of another with σ = 2, the other's value is raised by √(2σ² log(900/4)/4).
    assert 2.0 * 4**-0.5 * neglect(np.array([900 / 4]))[0] == pytest.approx((2 * np.log(225.0)) ** 0.5)
    assert neglect(np.array([0.0, 0.9, 1.0])).tolist() == [0.0, 0.0, 0.0]
