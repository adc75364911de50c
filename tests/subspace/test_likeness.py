"""How many independent vectors a decision set is worth."""

from itertools import islice

import numpy as np
import pytest

import eigenbandits as eb
from eigenbandits.subspace import PCA
from eigenbandits.subspace.error import subspace_distance


def _pca(seed=0, rounds=400, **options):
    instance = eb.environments.LowRank(dim=60, rank=3, arms=10, **options).instance(seed)
    subspace = PCA(3)
    for t, offered in enumerate(islice(instance.rounds(), rounds)):
        if t == 0:
            subspace.start(offered.actions.shape[1])
        subspace.observe(offered.actions)
        subspace.frame()
    return instance, subspace


def test_independent_actions_count_in_full():
    _, subspace = _pca()
    assert subspace.effective.likeness == pytest.approx(1.0, abs=0.1)


def test_pairs_of_near_equals_count_half():
    _, subspace = _pca(vectors="duplicates")
    assert subspace.effective.likeness == pytest.approx(2.0, abs=0.2)


def test_a_set_that_is_one_vector_ten_times_counts_as_one():
    rng = np.random.default_rng(0)
    subspace = PCA(1)
    scales = np.array([3.0, 1.0, 1.0, 1.0, 1.0])
    for t in range(300):
        actions = np.repeat(rng.standard_normal((1, 5)) * scales, 10, axis=0)
        if t == 0:
            subspace.start(actions.shape[1])
        subspace.observe(actions)
        subspace.frame()
    assert subspace.effective.likeness == pytest.approx(10.0, rel=1e-6)


@pytest.mark.parametrize("vectors", ["sphere", "cube", "duplicates"])
def test_the_estimated_error_is_seldom_exceeded(vectors):
    """Twelve draws each: the truth stays below the estimate, and the estimate within 3.5 times the truth."""
    for seed in range(12):
        instance, subspace = _pca(seed, 150, vectors=vectors)
        frame = subspace.current()
        assert frame is not None
        truth = subspace_distance(instance.basis, frame.directions)
        assert truth <= frame.error <= 3.5 * truth
