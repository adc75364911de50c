"""What vectors that come again are worth, beside an honest count of every visit."""

import numpy as np
import pytest

import eigenbandits as eb
from eigenbandits.subspace import PCA
from eigenbandits.subspace.error import subspace_distance
from eigenbandits.subspace.pca import SAMPLED, is_sampled
from eigenbandits.subspace.repeats import KEPT, Repeats


def visited(rng, items, sets, size, fraction=1.0, dtype=np.float64, popularity=None):
    """Offer sets drawn from `items` vectors; show a share of them, and return the sketch with Kish's honest number."""
    catalogue = rng.standard_normal((items, 5)).astype(dtype)
    sketch, visits = Repeats(), np.zeros(items)
    for _ in range(sets):
        chosen = rng.choice(items, size, replace=False, p=popularity)
        visits[chosen] += 1
        if rng.random() < fraction:
            sketch.add(np.ascontiguousarray(catalogue[chosen]))
    return sketch, visits.sum() ** 2 / np.square(visits).sum()


@pytest.mark.parametrize("items", [10, 300, 5_000])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_visits_are_worth_what_kish_says(items, dtype):
    sketch, truth = visited(np.random.default_rng(items), items, 400, 10, dtype=dtype)
    assert sketch.worth(4_000) == pytest.approx(truth, rel=0.1)


def test_a_sample_tells_what_all_are_worth():
    sketch, truth = visited(np.random.default_rng(1), 800, 3_000, 10, fraction=1 / 16)
    assert sketch.worth(30_000) == pytest.approx(truth, rel=0.1)


def test_popular_items_count_for_what_they_are():
    popularity = np.arange(1.0, 501.0) ** -1.0
    sketch, truth = visited(
        np.random.default_rng(2), 500, 3_000, 5, fraction=1 / 4, popularity=popularity / popularity.sum()
    )
    assert truth < 200
    assert sketch.worth(15_000) == pytest.approx(truth, rel=0.15)


def test_vectors_that_never_come_again_all_count():
    rng = np.random.default_rng(0)
    sketch = Repeats()
    for _ in range(5 * KEPT // 10):
        sketch.add(rng.standard_normal((10, 3)))
    assert sketch.worth(10**6) == 10**6
    assert sketch.kept == KEPT


def test_a_vector_that_is_twice_in_one_set_has_come_once():
    rng = np.random.default_rng(0)
    sketch = Repeats()
    for _ in range(50):
        sketch.add(np.repeat(rng.standard_normal((1, 4)), 10, axis=0))
    assert sketch.worth(500) == 500


def test_one_set_that_comes_for_ever_counts_once():
    actions = np.random.default_rng(0).standard_normal((7, 4))
    sketch = Repeats()
    for t in range(1_000):
        sketch.add(actions[np.roll(np.arange(7), t)])  # in any order
    assert sketch.worth(7_000) == pytest.approx(7.0, rel=1e-3)


def test_vectors_that_differ_in_one_number_are_different():
    vectors = np.zeros((50, 30))
    vectors[np.arange(50), np.arange(50) % 30] = 1.0 + np.arange(50) // 30
    sketch = Repeats()
    sketch.add(vectors)
    assert sketch.kept == 50


def test_one_set_in_many_is_looked_at_and_a_cycle_cannot_hide():
    assert all(is_sampled(t) for t in range(1, SAMPLED + 1))
    looked = [t for t in range(SAMPLED + 1, 16_000) if is_sampled(t)]
    assert len(looked) == pytest.approx(16_000 / SAMPLED, rel=0.05)
    for cycle in (2, 3, 16, 32):
        assert len({t % cycle for t in looked}) == cycle


def test_a_catalogue_that_comes_again_is_worth_its_items():
    """400 items: the rank stays the true one, and the error stays what 400 vectors can tell, for ever."""
    world = eb.environments.LowRank(dim=40, rank=3, arms=400, perturbation=1.0).instance(0)
    items = next(world.rounds()).actions
    rng = np.random.default_rng(1)
    subspace = PCA("auto")
    subspace.start(items.shape[1])
    for _ in range(3_000):
        subspace.observe(items[rng.choice(400, 8, replace=False)])
        frame = subspace.frame()
    assert subspace.independent == pytest.approx(400, rel=0.2)
    assert frame.directions.shape[1] == 3
    truth = subspace_distance(world.basis, frame.directions)
    assert truth < frame.error < 2.5 * truth
