"""What vectors that come again add, beside an honest count of every visit."""

import numpy as np
import pytest

from eigenbandits.subspace.revisits import ANCHORS, Revisits

DIM, RANK = 80, 2
BASIS = np.eye(DIM)[:, :RANK]
# z of energy 2·9, ρ of energy 78.
UNIT = 18.0 * 78.0


def draw(rng, count):
    vectors = rng.standard_normal((count, DIM))
    vectors[:, :RANK] *= 3.0
    return vectors


def visited(rng, items, sets, size, jitter=0.0, query=0.0, one_in=1, popularity=None, basis=BASIS, unit=UNIT):
    """Offer sets drawn from a catalogue; return what they are found to be worth, and what they are.

    Visits with weights w are worth (Σw)²/Σw² vectors (Kish 1965), each counted by its own ‖z‖²‖ρ‖².
    """
    catalogue, found, visits = draw(rng, items), Revisits(), np.zeros(items)
    found.start(DIM)
    for t in range(1, sets + 1):
        chosen = rng.choice(items, size, replace=False, p=popularity)
        visits[chosen] += 1
        if t % one_in == 0:
            offered = catalogue[chosen] + jitter * rng.standard_normal((size, DIM)) + query * draw(rng, 1)
            found.add(offered, t * size, basis, None, DIM - RANK, unit)
    count = sets * size
    sizes = np.square(catalogue[:, :RANK]).sum(axis=1) * np.square(catalogue[:, RANK:]).sum(axis=1) / UNIT
    return count / (1.0 + found.inflation(count)), count / (1.0 + (visits * (visits - 1)) @ sizes / count)


@pytest.mark.parametrize("jitter", [0.0, 1e-9, 1e-2])
@pytest.mark.parametrize("items", [50, 300, 2_000])
def test_visits_are_worth_what_kish_says(items, jitter):
    worth, truth = visited(np.random.default_rng(items), items, 600, 10, jitter)
    assert worth == pytest.approx(truth, rel=0.3)


def test_a_sample_of_the_sets_tells_what_all_are_worth():
    worth, truth = visited(np.random.default_rng(1), 300, 3_000, 10, one_in=16)
    assert worth == pytest.approx(truth, rel=0.3)


def test_popular_items_count_for_what_they_are():
    popularity = np.arange(1.0, 501.0) ** -1.0
    worth, truth = visited(np.random.default_rng(2), 500, 2_000, 5, popularity=popularity / popularity.sum())
    assert truth < 200
    assert worth == pytest.approx(truth, rel=0.4)


def test_under_a_shift_of_the_set_an_item_counts_by_its_share():
    """With a query of an item's size, z·z and ρ·ρ of two visits are half of a vector's: n²/4N is added."""
    rng = np.random.default_rng(3)
    worth, truth = visited(rng, 300, 1_000, 10, query=1.0, unit=4.0 * UNIT)
    assert 10_000 / worth - 1.0 == pytest.approx((10_000 / truth - 1.0) / 4.0, rel=0.35)


def test_vectors_that_never_come_again_add_next_to_nothing():
    rng = np.random.default_rng(4)
    found = Revisits()
    found.start(DIM)
    for t in range(1, 1_001):
        found.add(draw(rng, 10), 10 * t, BASIS, None, DIM - RANK, UNIT)
    assert found.filled == ANCHORS
    assert found.inflation(10_000) < 0.2


def test_one_set_that_comes_for_ever_counts_once():
    """Less their set's mean too, seven vectors and no more."""
    worth, _ = visited(np.random.default_rng(5), 7, 1_000, 7)
    assert worth == pytest.approx(7.0, rel=0.5)


def test_in_few_dimensions_only_equals_are_the_same():
    rng = np.random.default_rng(6)
    catalogue, fresh, again = rng.standard_normal((40, 3)), Revisits(), Revisits()
    for found in (fresh, again):
        found.start(3)
    for t in range(1, 501):
        fresh.add(rng.standard_normal((8, 3)), 8 * t, np.eye(3)[:, :1], None, 2.0, 2.0)
        jittered = catalogue[rng.choice(40, 8, replace=False)] + 1e-9 * rng.standard_normal((8, 3))
        again.add(jittered, 8 * t, np.eye(3)[:, :1], None, 2.0, 2.0)
    assert fresh.inflation(4_000) < 0.1
    assert 4_000 / (1.0 + again.inflation(4_000)) == pytest.approx(40.0, rel=0.8)


def test_before_a_subspace_is_known_vectors_are_compared_as_a_whole():
    worth, truth = visited(np.random.default_rng(7), 100, 300, 10, basis=np.zeros((DIM, 0)), unit=0.0)
    assert worth == pytest.approx(truth, rel=0.3)
