"""Streams of dependent vectors: what depends on what, and that the second moment stays what it was."""

import numpy as np
import pytest

from eigenbandits.environments import LowRank
from eigenbandits.lab.studies import streams

ENVIRONMENT = LowRank(dim=6, rank=2, arms=10, perturbation=0.5)


def offered(kind, rounds=2_000, seed=3):
    return streams.sets(kind, ENVIRONMENT, seed, rounds)


@pytest.mark.parametrize("kind", ["independent", "catalogue", "jitter", "query", "walk", "sessions"])
def test_second_moments_are_those_of_the_model(kind):
    """Within what 400 items or 100 sessions can tell: the largest eigenvalue of the difference is below 0.1."""
    sets = offered(kind).reshape(-1, 6)
    basis = ENVIRONMENT.instance(3).basis
    wanted = (basis * ENVIRONMENT.eigenvalues) @ basis.T + ENVIRONMENT.sigma2 * np.eye(6)
    assert np.linalg.norm(sets.T @ sets / len(sets) - wanted, 2) < 0.1


def test_a_catalogue_offers_its_items_alone():
    sets = offered("catalogue", 300)
    assert len(np.unique(sets.reshape(-1, 6), axis=0)) == streams.ITEMS
    assert all(len(np.unique(one, axis=0)) == 10 for one in sets)


def test_jitter_leaves_no_two_alike_and_moves_none():
    plain, moved = offered("catalogue", 300), offered("jitter", 300)
    assert len(np.unique(moved.reshape(-1, 6), axis=0)) == 3_000
    assert np.abs(plain - moved).max() < 1e-8


def test_a_query_shifts_its_set_as_a_whole():
    items, shifted = offered("catalogue", 300), offered("query", 300)
    shifts = np.sqrt(2.0) * shifted - items
    assert np.ptp(shifts, axis=1).max() < 1e-12
    assert np.abs(np.diff(shifts[:, 0], axis=0)).max() > 0.1


def test_a_walk_forgets_a_tenth_in_a_round():
    walk = offered("walk", 3_000).reshape(3_000, -1)
    for lag in (1, 5):
        found = np.mean(walk[:-lag] * walk[lag:]) / np.mean(walk**2)
        assert found == pytest.approx(streams.STAY**lag, abs=0.05)


def test_a_session_shares_half_of_its_energy():
    sets = offered("sessions")
    energy = np.mean(sets**2)
    same, other = sets[0::20, 0] * sets[19::20, 5], sets[19:-1:20, 0] * sets[20::20, 5]
    assert same.mean() / energy == pytest.approx(streams.SHARED, abs=0.15)
    assert other.mean() / energy == pytest.approx(0.0, abs=0.15)
