"""The variance inflation that batches show, against closed forms."""

import numpy as np
import pytest

from eigenbandits.subspace.batches import KEPT, ROWS, Batches, Overdispersion, lump


def shown(vectors, size):
    batches = Batches()
    for start in range(0, len(vectors), size):
        batches.add(vectors[start : start + size])
    return batches


def autoregressive(rng, count, dim, coefficient):
    vectors = rng.standard_normal((count, dim))
    for t in range(1, count):
        vectors[t] = coefficient * vectors[t - 1] + np.sqrt(1.0 - coefficient**2) * vectors[t]
    return vectors


@pytest.mark.parametrize("dim", [3, 8, 50])
@pytest.mark.parametrize("size", [7, 100])
def test_independent_vectors_are_worth_their_number(dim, size):
    """1, but for the largest of some noisy ratios: at most 1.6 in three dimensions and 1.3 in eight or more."""
    vectors = np.random.default_rng(dim).standard_normal((6_000, dim))
    assert 1.0 <= shown(vectors, size).second_moment().inflation < (1.6 if dim == 3 else 1.3)


@pytest.mark.parametrize("times", [2, 5, 30])
def test_a_vector_that_comes_r_times_in_a_row_counts_once(times):
    vectors = np.repeat(np.random.default_rng(times).standard_normal((9_000 // times, 40)), times, axis=0)
    assert shown(vectors, 90).second_moment().inflation == pytest.approx(times, rel=0.3)


@pytest.mark.parametrize("coefficient", [0.5, 0.8, 0.9])
def test_a_walk_is_inflated_as_its_products_are(coefficient):
    """Products of two coordinates of an AR(1) process with coefficient a have the autocorrelation a^{2h}.

    So the variance of their mean is inflated by 1 + 2Σa^{2h} = (1 + a²)/(1 − a²).
    """
    vectors = autoregressive(np.random.default_rng(0), 20_000, 40, coefficient)
    wanted = (1.0 + coefficient**2) / (1.0 - coefficient**2)
    assert shown(vectors, 50).second_moment().inflation == pytest.approx(wanted, rel=0.25)


def test_sessions_are_inflated_by_the_length_and_the_square_of_the_share():
    """Of 100 vectors that share half of their energy, any two have z·z ρ·ρ of ¼: 1 + 99/4, in all."""
    rng = np.random.default_rng(1)
    common = np.repeat(rng.standard_normal((200, 40)), 100, axis=0)
    vectors = (common + rng.standard_normal(common.shape)) / np.sqrt(2.0)
    assert shown(vectors, 100).second_moment().inflation == pytest.approx(25.75, rel=0.3)
    # Sums of vectors show it as long as batches are no longer than sessions.
    assert shown(vectors[:4_000], 100).shared(centered=False).inflation == pytest.approx(25.75, rel=0.4)
    assert shown(vectors[:4_000], 100).shared(centered=True).inflation == pytest.approx(25.75, rel=0.4)


def test_a_part_that_all_vectors_share_shows_in_their_mean_alone():
    rng = np.random.default_rng(2)
    vectors = (rng.standard_normal(40) + rng.standard_normal((300, 40))) / np.sqrt(2.0)
    found = shown(vectors, 30)
    assert found.second_moment().inflation < 1.6
    assert found.shared(centered=True).inflation < 1.6
    # The share is that of one draw, in the directions looked at.
    assert 0.25 * 300 * 0.2 < found.shared(centered=False).inflation < 0.25 * 300 * 3.0


def test_rows_that_are_passed_over_count():
    vectors = np.repeat(np.random.default_rng(3).standard_normal((40, 30)), 4 * ROWS, axis=0)
    assert shown(vectors, 4 * ROWS).second_moment().inflation == pytest.approx(4 * ROWS, rel=0.3)


def test_memory_is_bounded_and_merging_loses_nothing():
    vectors = autoregressive(np.random.default_rng(4), 60 * KEPT, 20, 0.7)
    fine, coarse = shown(vectors, 10), shown(vectors, 40)
    assert fine.moments.shape[0] == KEPT
    assert fine.used[: fine.kept].sum() == len(vectors)
    np.testing.assert_allclose(fine.moments[: fine.kept].sum(axis=0), coarse.moments[: coarse.kept].sum(axis=0))


def test_equal_vectors_and_no_vectors_say_nothing():
    assert Batches().second_moment() == Overdispersion(1.0, 1.0) == Batches().shared(False)
    assert shown(np.ones((500, 4)), 10).second_moment().inflation == 1.0
    assert shown(np.zeros((500, 4)), 10).shared(False).inflation == 1.0


def test_sizes_that_leave_the_range_of_numbers_do_not_count():
    vectors = autoregressive(np.random.default_rng(5), 2_000, 10, 0.8)
    plain, huge = shown(vectors, 20), Batches()
    for start in range(0, 2_000, 20):
        huge.add(1e150 * vectors[start : start + 20], 1e150)
    assert huge.second_moment().inflation == pytest.approx(plain.second_moment().inflation)


def test_a_lump_is_never_less_than_one_vector():
    assert lump(Overdispersion(50.0, 1.0)) == 1.0
    assert lump(Overdispersion(400.0, 101.0)) == 200.0
