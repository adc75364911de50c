"""The rules that estimate a rank and a projection error, on data whose truth is known."""

import numpy as np
import pytest

from eigenbandits.environments import LowRank
from eigenbandits.lab import estimates
from eigenbandits.lab.estimates import EDGE, GAP, HALVES, PARALLEL, SPECTRAL, THRESHOLD, Case, Sight


def spiked(rng, vectors, dim, spikes):
    """Return noise of variance 1 with the first few directions multiplied."""
    scales = np.ones(dim)
    scales[: len(spikes)] = spikes
    return rng.standard_normal((vectors, dim)) * scales


@pytest.mark.parametrize("vectors", [40, 2_000])
def test_clear_spikes_are_counted_by_every_rule(vectors):
    rng = np.random.default_rng(0)
    data = spiked(rng, vectors, 60, [30.0, 25.0, 20.0])
    spectrum = np.maximum(np.linalg.eigvalsh(data.T @ data / vectors)[::-1], 0.0)
    assert estimates.largest_gap(np.array([9.0, 8.5, 8.0, 1.0, 0.5])) == 3
    assert estimates.optimal_threshold(spectrum, vectors) == 3
    assert estimates.parallel_analysis(data @ rotation(rng, 60), spectrum, rng) == 3


def rotation(rng, dim):
    """Shuffling columns hides nothing of a structure that lies along the axes; turned, it does."""
    return np.linalg.qr(rng.standard_normal((dim, dim)))[0]


def test_pure_noise_has_no_direction_that_stands_out():
    rng = np.random.default_rng(0)
    data = rng.standard_normal((3_000, 40))
    spectrum = np.maximum(np.linalg.eigvalsh(data.T @ data / len(data))[::-1], 0.0)
    assert estimates.optimal_threshold(spectrum, 3_000) == 1
    assert estimates.parallel_analysis(data, spectrum, rng) <= 3


def test_the_threshold_for_a_square_matrix_is_the_published_one():
    """ω(1) = 2.86: Gavish and Donoho 2014, section 1, to the accuracy of their cubic."""
    for value, wanted in ((2.84, 1), (2.88, 2)):
        spectrum = np.array([9.0, value, 1.0, 1.0, 1.0, 1.0]) ** 2
        assert estimates.optimal_threshold(spectrum, 6) == wanted


def test_a_run_sees_the_truth_at_each_moment(monkeypatch):
    monkeypatch.setattr(estimates, "MOMENTS", (20, 60))
    case = Case("small", LowRank(12, 2, 10, perturbation=0.1))
    sight = estimates.look((case, 0))
    assert all(list(found) == [2, 2] for rule, found in sight.ranks.items() if rule != THRESHOLD)
    assert 0.0 < sight.truth[1] < sight.truth[0] < 0.2
    assert 0.25 < sight.nearest < 1.0
    assert all(low < sight.errors[SPECTRAL][i] < 4.0 * low for i, low in enumerate(sight.truth))


def test_the_tables_hold_medians_and_shares_worked_out_by_hand():
    def sight(rank, truth, spectral, halves):
        ranks = {EDGE: [1, rank, 4], GAP: [1, 1, 1], THRESHOLD: [2, 2, 2], PARALLEL: [3, 3, 3]}
        return Sight("m=4 9×", ranks, truth, {SPECTRAL: spectral, HALVES: halves}, 1.0 + (rank - 4) / 10)

    sights = [
        sight(3, [0.5, 0.2, 0.1], [1.0, 0.4, 0.2], [0.25, 0.1, 0.2]),
        sight(5, [0.5, 0.2, 0.1], [1.0, 0.4, 0.2], [0.25, 0.1, 0.2]),
    ]
    wanted = "m=4 9× 4 1 / 4 / 4 1 / 1 / 1 2 / 2 / 2 3 / 3 / 3"
    assert estimates.rank_table(sights).splitlines()[-1].split() == wanted.split()
    wanted = "m=4 9× 0.50 / 0.20 / 0.10 2.00 / 2.00 / 2.00 0 % 0.50 / 0.50 / 2.00 67 % 50 %"
    assert estimates.error_table(sights).splitlines()[-1].split() == wanted.split()
