"""Intervals for skewed means: limits worked out by hand, and how often they cover where the truth is known."""

import math

import numpy as np
import pytest
from scipy import stats

from eigenbandits.offpolicy.intervals import mean_interval, standardized_moment


def test_moments_against_scipy():
    terms = np.random.default_rng(0).exponential(size=200)
    assert standardized_moment(terms, 3) == pytest.approx(stats.skew(terms))
    assert standardized_moment(terms, 4) == pytest.approx(stats.kurtosis(terms, fisher=False))


def test_many_normal_terms_have_the_usual_interval():
    """Skewness 0 and kurtosis 3 by construction: 2n/(3 − 1) = n degrees of freedom."""
    half = np.random.default_rng(1).standard_normal(500)
    terms = np.concatenate([half, -half]) + 7.0
    low, high = mean_interval(terms)
    kurtosis = stats.kurtosis(terms, fisher=False)
    reach = stats.t.ppf(0.975, 2000 / (kurtosis - 1.0)) * terms.std(ddof=1) / math.sqrt(1000)
    assert [low, high] == pytest.approx([7.0 - reach, 7.0 + reach])


def test_the_leaning_limit_solves_halls_cubic():
    """On the side where the cubic decides, its value at the limit is −z."""
    terms = np.array([0.0] * 95 + [20.0] * 5)
    _, high = mean_interval(terms)
    error = terms.std(ddof=1) / 10.0
    t, k = (terms.mean() - high) / error, stats.skew(terms) / 10.0
    assert t + k * t**2 / 3 + k**2 * t**3 / 27 + k / 6 == pytest.approx(-stats.norm.ppf(0.975))


def test_degenerate_terms():
    assert mean_interval(np.array([3.0])) == (3.0, 3.0)
    assert mean_interval(np.full(10, 0.25)) == (0.25, 0.25)
    low, high = mean_interval(np.array([0.0, 1.0]))
    assert low < 0.5 < high


@pytest.mark.parametrize("scale", [1e-8, 1e8])
def test_units_do_not_matter(scale):
    terms = np.random.default_rng(2).exponential(size=50)
    np.testing.assert_allclose(mean_interval(scale * terms), scale * np.array(mean_interval(terms)), rtol=1e-9)


def covers(draw, truth, logs=1500):
    intervals = [mean_interval(draw()) for _ in range(logs)]
    return np.mean([low <= truth <= high for low, high in intervals])


@pytest.mark.parametrize("share", [0.05, 0.1])
def test_weights_of_a_floor_are_covered_as_often_as_promised(share):
    """n = 500 events, of which a share ε has weight 1/ε and the others none: the mean is 1.

    The usual interval covers in some 93 % here; tolerance: four standard errors of 1,500 logs below 95 %.
    """
    rng = np.random.default_rng(3)
    found = covers(lambda: (rng.random(500) < share) / share * (1.0 + 0.5 * rng.standard_normal(500)), 1.0)
    assert found >= 0.95 - 4 * math.sqrt(0.95 * 0.05 / 1500)


def test_heavy_tails_on_both_sides_are_covered_as_often_as_promised():
    """The terms of a doubly robust estimate: mostly small, now and then a large residual of either sign."""
    rng = np.random.default_rng(4)
    found = covers(lambda: np.where(rng.random(300) < 0.05, 15.0, 0.5) * rng.standard_normal(300), 0.0)
    assert found >= 0.95 - 4 * math.sqrt(0.95 * 0.05 / 1500)
