"""The streaming subspace against exact PCA, its memory, and the slim belief against the full one."""

from itertools import islice

import numpy as np
import pytest

import eigenbandits as eb
from eigenbandits.policy import files
from eigenbandits.subspace import PCA, Streaming, eigen
from eigenbandits.subspace.error import subspace_distance


def _sets(count, **options):
    instance = eb.environments.LowRank(**({"dim": 60, "rank": 3, "arms": 10} | options)).instance(0)
    return instance, [offered.actions for offered in islice(instance.rounds(), count)]


def _observe(subspace, sets):
    subspace.start(sets[0].shape[1])
    for actions in sets:
        subspace.observe(actions)
        frame = subspace.frame()
    return frame


@pytest.mark.parametrize("perturbation", [0.1, 1.0, 9.0])
def test_it_comes_as_near_to_the_truth_as_exact_pca(perturbation):
    instance, sets = _sets(1500, perturbation=perturbation)
    exact = subspace_distance(instance.basis, _observe(PCA(3), sets).directions)
    streamed = _observe(Streaming(3), sets)
    truth = subspace_distance(instance.basis, streamed.directions)
    assert truth <= 1.5 * exact
    assert truth <= streamed.error <= 4.0 * truth


def test_auto_finds_the_rank():
    _, sets = _sets(800)
    assert _observe(Streaming("auto"), sets).directions.shape[1] == 3


def test_large_sets_are_sampled_and_all_positions_get_their_turn():
    subspace = Streaming(2)
    rng = np.random.default_rng(0)
    first = rng.standard_normal((400, 5))
    subspace.start(first.shape[1])
    seen = np.zeros(5)
    for position in range(8):
        # Only rows at one position modulo 8 carry the second axis; after eight sets it must have been seen.
        actions = np.zeros((400, 5))
        actions[:, 0] = 1.0
        actions[position::8, 1] = 1.0
        subspace.observe(actions)
    subspace.frame()
    seen = np.abs(subspace.frame().directions).max(axis=1)
    assert seen[1] > 0.1


def test_memory_is_linear_in_d():
    sizes = []
    for dim in (1000, 4000):
        policy = eb.PSLB(noise=0.5, rank=3, subspace="streaming", intersect=False)
        rng = np.random.default_rng(0)
        for _ in range(5):
            decision = policy.choose(rng.standard_normal((6, dim)))
            policy.learn(decision, 1.0)
        sizes.append(len(files.to_bytes(policy)))
    assert sizes[1] < 4.5 * sizes[0]
    # In all some (m + 4) + 2 (m) columns and a few vectors of d numbers; a (d, d) matrix would be 4,000 columns.
    assert sizes[1] < 60 * 4000 * 8


def test_the_slim_belief_loses_little_of_what_the_full_one_knows():
    """Turned from frame to frame without Σ, B stays near V̂ᵀΣV̂ + λI and the estimate near the full one's."""
    instance, sets = _sets(600)
    slim = eb.PSLB(noise=0.5, rank=3, subspace="streaming", intersect=False)
    chosen = []
    for actions in sets:
        decision = slim.choose(actions)
        chosen.append(decision.action)
        slim.learn(decision, float(decision.action @ instance.theta))
    frame = slim.subspace.current()
    assert frame is not None
    assert isinstance(slim.belief, eb.belief.Projected)
    slim.belief.follow(frame)
    rows = np.array(chosen)
    full = (rows @ frame.directions).T @ (rows @ frame.directions)
    ratio = np.linalg.eigvals(np.linalg.solve(full, slim.belief.gram)).real
    # What lay outside of older spans is left out, so less is claimed to be known than is, but not much less.
    assert ratio.max() <= 1.05
    assert ratio.min() >= 0.8


def test_options_that_need_a_full_matrix_keep_one_and_others_do_not():
    for radius, slim in (("sharp", True), (0.5, True), ("general", False), ("worst-case", False)):
        policy = eb.PSLB(noise=0.5, rank=2, subspace="streaming", intersect=False, radius=radius)
        assert isinstance(policy.belief, eb.belief.Projected)
        assert policy.belief.slim is slim
    with pytest.raises(ValueError, match="Σ"):
        eb.belief.Projected(0.5, radius="general", slim=True)


@pytest.mark.parametrize("seed", range(5))
def test_tracking_agrees_with_a_dense_decomposition(seed):
    rng = np.random.default_rng(seed)
    values = np.concatenate([[9.0, 7.0, 5.0], rng.uniform(0.5, 1.0, 77)])
    rotation, _ = np.linalg.qr(rng.standard_normal((80, 80)))
    matrix = (rotation * values) @ rotation.T
    guess = rng.standard_normal((80, 11))
    top = eigen.tracked(lambda block: matrix @ block, float(values.sum()), 10**6, guess, lambda spectrum: 3)
    assert subspace_distance(rotation[:, :3], top.vectors[:, :3]) <= top.residual + 1e-12
    assert top.residual <= eigen.TOLERANCE
    np.testing.assert_allclose(top.spectrum[:3], values[:3], rtol=1e-5)
    assert top.spectrum.sum() == pytest.approx(values.sum())


def test_tracking_without_a_gap_owns_up_to_it():
    """Evenly spaced eigenvalues: eight steps cannot tell the third from the fourth, and the residual says so."""
    rng = np.random.default_rng(0)
    values = np.linspace(1.0, 1.1, 50)[:, None]
    guess = rng.standard_normal((50, 6))
    top = eigen.tracked(lambda block: values * block, float(values.sum()), 10**6, guess, lambda spectrum: 3)
    truth = subspace_distance(np.eye(50)[:, :-4:-1], top.vectors[:, :3])
    assert truth > 0.5
    assert top.residual > 0.5


def test_tracked_pca_follows_the_exact_one():
    instance, sets = _sets(200, dim=200)
    tracked, exact = PCA(3), PCA(3)
    frame = _observe(tracked, sets)
    _observe(exact, sets)
    assert tracked.block is not None
    half = exact.moment.flush() / exact.seen
    # Both at the same moment: the frame may be older than the last set.
    assert frame.error <= 1.0
    matrix = np.tril(half) + np.tril(half, -1).T
    dense = np.linalg.eigh(matrix)[1][:, ::-1][:, :3]
    assert subspace_distance(dense, frame.directions) <= 0.1
    assert subspace_distance(instance.basis, frame.directions) <= frame.error
