"""In many dimensions, and once many vectors are known, only some of a large decision set enter the second moment."""

import numpy as np
import pytest

import eigenbandits as eb
from eigenbandits.linalg import LARGE
from eigenbandits.policy.centering import Centering
from eigenbandits.subspace import PCA, Streaming
from eigenbandits.subspace.pca import FEWEST, PLENTY, STRIDE

DIM, ARMS = LARGE, 320


def shown(subspace, sets, center="none"):
    """Show decision sets to a subspace and return what each added to the number of vectors that count."""
    centering = Centering(center)
    centering.start(sets[0])
    subspace.start(sets[0].shape[1], centering.intercept, centering.around_mean)
    added = []
    for actions in sets:
        before = subspace.added
        subspace.observe(actions, centering.center_of(actions))
        added.append(subspace.added - before)
    return added


def marked(count, arms=ARMS, dim=DIM):
    """Return decision sets in which action i of every set is 1 along coordinate i, and nothing else."""
    return [np.eye(arms, dim) for _ in range(count)]


def test_all_count_until_plenty_are_known_and_some_of_each_set_after_that():
    sets = np.random.default_rng(0).standard_normal((40, ARMS, DIM))
    added = shown(PCA(2), sets)
    full = -(-PLENTY * DIM // ARMS)  # sets of 320 until there are 16 · 256
    assert added[:full] == [ARMS] * full
    assert added[full:] == [FEWEST] * (len(sets) - full)


@pytest.mark.parametrize(
    ("options", "arms", "dim"),
    [({"refresh": "every-round"}, ARMS, DIM), ({}, 2 * FEWEST - 1, DIM), ({}, ARMS, LARGE - 1)],
    ids=["every-round", "small sets", "few dimensions"],
)
def test_all_count_for_ever_where(options, arms, dim):
    sets = np.random.default_rng(0).standard_normal((80, arms, dim))
    assert shown(PCA(2, **options), sets) == [arms] * 80


@pytest.mark.parametrize("center", ["none", "mean", "set", "differences"])
def test_the_second_moment_is_that_of_the_vectors_added(center):
    rng = np.random.default_rng(1)
    sets = rng.standard_normal((30, ARMS, DIM)) * np.linspace(2.0, 0.5, DIM) + rng.standard_normal(DIM)
    subspace = PCA(3)
    counts = shown(subspace, sets, center)
    assert min(counts) < ARMS
    # Recomputed: rows i, i + 10, i + 20, … of set i mod 10, less the mean of the whole set where sets are centred.
    parts = []
    for number, (actions, count) in enumerate(zip(sets, counts, strict=True), start=1):
        rows = actions if count == ARMS else actions[number % 10 :: 10]
        parts.append(rows - actions.mean(axis=0) if center in ("set", "differences") else rows)
    vectors = np.concatenate(parts)
    found = subspace.diagnostics()
    assert found["vectors_seen"] == sets.shape[0] * ARMS
    assert subspace.added == len(vectors)
    # Where directions are found around the mean, the mean of the first set is taken off from the start.
    reference = sets[0].mean(axis=0) if center == "mean" else 0.0
    np.testing.assert_allclose(
        subspace.moment.full(), (vectors - reference).T @ (vectors - reference), rtol=1e-9, atol=1e-7
    )
    frame = subspace.frame()
    assert frame.spectrum is not None
    spread = np.cov(vectors.T, bias=True) if center == "mean" else vectors.T @ vectors / len(vectors)
    assert frame.spectrum.sum() == pytest.approx(np.trace(spread), rel=1e-9)


def test_every_action_of_a_catalogue_gets_its_turn():
    """The same catalogue in the same order in every round: each of its vectors is added equally often."""
    subspace = PCA(2)
    shown(subspace, marked(14 + 2 * (ARMS // FEWEST)))
    counts = np.diagonal(subspace.moment.full())
    assert counts.max() - counts.min() <= 1.0


def test_a_huge_catalogue_is_thinned_by_no_more_than_the_stride():
    subspace = PCA(2)
    rng = np.random.default_rng(2)
    sets = [rng.standard_normal((PLENTY * DIM, DIM)), rng.standard_normal((5_000, DIM))]
    assert shown(subspace, sets)[1] == pytest.approx(5_000 / STRIDE, abs=1)


def test_nothing_is_lost_in_regret():
    """The paper's model with 300 actions in 256 dimensions, against the letter of Algorithm 1; both by 4 seeds."""
    regret = {"lazy": 0.0, "every-round": 0.0}
    for refresh in regret:
        for seed in range(4):
            environment = eb.environments.LowRank(dim=256, rank=2, arms=300)
            policy = eb.PSLB(noise=0.1, rank=2, refresh=refresh, seed=seed)
            regret[refresh] += eb.run(policy, environment, rounds=60, seed=seed).regret[-1]
    assert regret["lazy"] < 1.25 * regret["every-round"]


def test_streaming_thins_by_itself():
    subspace = Streaming(2)
    sets = np.random.default_rng(0).standard_normal((3, 64, 8))
    subspace.start(8)
    for actions in sets:
        subspace.observe(actions)
    assert subspace.fresh < subspace.seen
