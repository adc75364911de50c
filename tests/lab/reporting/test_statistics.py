"""Intervals and paired tests against numbers worked out by hand, tables of textbooks and scipy's own."""

import math

import numpy as np
import pytest
from scipy import stats

from eigenbandits.lab.reporting.statistics import band, compare, holm, mean_interval, paired_p


def test_the_interval_of_five_numbers_by_hand():
    """1 … 5: mean 3, standard error √2.5/√5 = 0.70711, t(0.975, 4) = 2.776445."""
    found = mean_interval([1, 2, 3, 4, 5])
    assert (found.mean, found.count) == (3.0, 5)
    assert found.low == pytest.approx(3.0 - 2.776445 * 0.7071068, abs=1e-6)
    assert found.high == pytest.approx(3.0 + 2.776445 * 0.7071068, abs=1e-6)


def test_one_seed_has_no_interval():
    found = mean_interval([7.0])
    assert found.mean == 7.0
    assert math.isnan(found.low)
    assert math.isnan(found.high)


def test_intervals_hold_the_mean_as_often_as_they_say():
    """2,000 samples of 6 normal numbers: 95 % within 4 standard errors, √(0.95·0.05/2000) = 0.49 %."""
    samples = np.random.default_rng(0).normal(3.0, 2.0, (2000, 6))
    held = np.mean([found.low <= 3.0 <= found.high for found in map(mean_interval, samples)])
    assert held == pytest.approx(0.95, abs=4 * 0.0049)


def test_the_paired_t_test_by_hand():
    """Differences 1, 2, 3: mean 2, standard error 1/√3, t = 3.4641 with 2 degrees of freedom, p = 0.0742."""
    first, second = [11.0, 22.0, 33.0], [10.0, 20.0, 30.0]
    assert paired_p(first, second) == pytest.approx(0.0741799, abs=1e-6)
    assert paired_p(first, second) == pytest.approx(stats.ttest_rel(first, second).pvalue)


def test_wilcoxon_by_enumeration():
    """Six differences, all above zero: of the 2⁶ ways to give signs, two are as extreme: p = 2/64."""
    assert paired_p([1, 2, 3, 4, 5, 6], [0] * 6, "wilcoxon") == pytest.approx(2 / 64)


def test_pairs_that_are_equal_or_differ_by_a_constant():
    assert paired_p([1.0, 2.0], [1.0, 2.0]) == 1.0
    assert paired_p([1.0, 2.0], [1.0, 2.0], "wilcoxon") == 1.0
    assert paired_p([2.0, 3.0], [1.0, 2.0]) == 0.0
    assert math.isnan(paired_p([1.0], [2.0]))
    assert math.isnan(paired_p([1.0, np.nan], [2.0, 3.0]))
    with pytest.raises(ValueError, match="test is 'z'"):
        paired_p([1.0, 2.0], [1.0, 3.0], "z")


@pytest.mark.parametrize(
    ("given", "corrected"),
    [
        ([0.01, 0.02, 0.03, 0.005], [0.03, 0.04, 0.04, 0.02]),  # 4·0.005, 3·0.01, 2·0.02, then not below 0.04
        ([0.5, 0.6], [1.0, 1.0]),
        ([0.03], [0.03]),
        ([], []),
    ],
)
def test_holm_by_hand(given, corrected):
    assert holm(given) == pytest.approx(corrected)


def test_holm_leaves_unknown_ones_out_of_the_count():
    found = holm([0.02, math.nan, 0.01])
    assert found[0] == pytest.approx(0.02)
    assert math.isnan(found[1])
    assert found[2] == pytest.approx(0.02)


def test_holm_keeps_false_findings_rare():
    """Five true null hypotheses at 5 %: some finding in at most 5 % of 2,000 trials, plus 4 standard errors."""
    p_values = np.random.default_rng(0).random((2000, 5))
    assert np.mean([min(holm(list(row))) < 0.05 for row in p_values]) <= 0.05 + 4 * 0.0049


def test_bands_are_what_they_are_called():
    runs = np.array([[1.0, 2.0], [3.0, 2.0], [5.0, 2.0]])
    low, high = band(runs, "standard error")
    np.testing.assert_allclose(low, [3.0 - 2.0 / math.sqrt(3), 2.0])
    np.testing.assert_allclose(high, [3.0 + 2.0 / math.sqrt(3), 2.0])
    low, high = band(runs, "bootstrap")
    assert 1.0 <= low[0] < 3.0 < high[0] <= 5.0
    assert low[1] == high[1] == 2.0
    low, high = band(runs[:1], "standard error")
    np.testing.assert_array_equal(low, runs[0])
    np.testing.assert_array_equal(high, runs[0])


def test_comparisons_pair_the_same_seeds():
    """Seeds vary by hundreds, policies by one or so: only paired differences show it."""
    seeds = np.array([100.0, 300.0, 50.0, 900.0])
    final = np.stack([[seeds], [seeds + np.array([1.0, 1.1, 0.9, 1.0])], [seeds[::-1]]])
    found = {(c.first, c.second): c for c in compare(final, ["a", "b", "c"], ["e"])}
    assert found["a", "b"].difference.mean == pytest.approx(-1.0)
    assert found["a", "b"].p == pytest.approx(stats.ttest_rel(final[0, 0], final[1, 0]).pvalue)
    assert found["a", "b"].corrected == pytest.approx(3 * found["a", "b"].p)
    assert found["a", "b"].corrected < 0.001
    assert found["a", "c"].corrected > 0.5
    assert stats.ttest_ind(final[0, 0], final[1, 0]).pvalue > 0.9
