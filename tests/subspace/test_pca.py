"""PCA against NumPy's covariance, in blocks and one by one, dense and tracked; and streaming PCA beside it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import eigenbandits as eb
from eigenbandits.policy.centering import Centering
from eigenbandits.subspace import PCA, Streaming
from eigenbandits.subspace.error import subspace_distance


def near_a_subspace(rng, count, dim, rank=3, noise=0.3, mean=0.0):
    basis = np.linalg.qr(rng.standard_normal((dim, rank)))[0]
    strengths = np.linspace(3.0, 1.5, rank)
    return rng.standard_normal((count, rank)) * strengths @ basis.T + noise * rng.standard_normal((count, dim)) + mean


def started(subspace, sets, center="none"):
    """Return a subspace as a policy starts it, and what centers its decision sets."""
    centering = Centering(center)
    centering.start(sets[0])
    subspace.start(sets[0].shape[1], centering.intercept, centering.around_mean)
    return centering


def observed(subspace, sets, center="none"):
    """Show decision sets to a subspace, as a policy does, and return its frame."""
    centering = started(subspace, sets, center)
    for actions in sets:
        subspace.observe(actions, centering.center_of(actions))
    return subspace.frame()


def split(vectors, sizes):
    return np.split(vectors, np.cumsum(sizes)[:-1])


def reference_spectrum(sets, center):
    """Return the eigenvalues in descending order, by NumPy's covariance of all vectors."""
    by_set = center in ("set", "differences")
    vectors = np.concatenate([actions - actions.mean(axis=0) for actions in sets] if by_set else sets)
    matrix = np.cov(vectors.T, bias=True) if center == "mean" else vectors.T @ vectors / len(vectors)
    return np.linalg.eigvalsh(matrix)[::-1]


@settings(max_examples=40)
@given(
    st.integers(0, 10**6),
    st.lists(st.integers(1, 300), min_size=1, max_size=6),
    st.integers(2, 12),
    st.sampled_from(["none", "mean", "set", "differences"]),
)
def test_the_spectrum_is_that_of_the_covariance(seed, sizes, dim, center):
    rng = np.random.default_rng(seed)
    sets = split(near_a_subspace(rng, sum(sizes), dim, rank=2, mean=1.0), sizes)
    frame = observed(PCA(2), sets, center)
    expected = reference_spectrum(sets, center)
    np.testing.assert_allclose(frame.spectrum, np.maximum(expected, 0.0), rtol=1e-8, atol=1e-10 * expected[0])
    V = frame.directions
    np.testing.assert_allclose(V.T @ V, np.eye(2), atol=1e-10)


@pytest.mark.parametrize("center", ["none", "mean"])
@pytest.mark.parametrize("dim", [5, 150])
def test_blocks_are_the_same_as_one_by_one(center, dim):
    rng = np.random.default_rng(1)
    vectors = near_a_subspace(rng, 700, dim, mean=0.7)
    one_by_one = observed(PCA(3), [vectors[:1], *vectors[1:, None]], center)
    # The first set fixes the reference, which changes nothing but rounding.
    for sizes in ([700], [1, 699], [128, 128, 128, 316], [3] * 233 + [1], [127, 2, 571]):
        frame = observed(PCA(3), split(vectors, sizes), center)
        np.testing.assert_allclose(frame.spectrum[:3], one_by_one.spectrum[:3], rtol=1e-9)
        assert subspace_distance(frame.directions, one_by_one.directions) < 1e-6


def test_a_large_common_mean_costs_no_digits():
    rng = np.random.default_rng(2)
    vectors = near_a_subspace(rng, 500, 6, rank=2)
    plain = observed(PCA(2), split(vectors, [100] * 5), "mean")
    shifted = observed(PCA(2), split(vectors + 1e6, [100] * 5), "mean")
    np.testing.assert_allclose(shifted.spectrum, plain.spectrum, rtol=1e-6)
    assert subspace_distance(shifted.directions, plain.directions) < 1e-6


@pytest.mark.parametrize("center", ["none", "mean", "set", "differences"])
def test_tracked_directions_are_the_eigenvectors(center):
    """Beyond 128 dimensions the leading eigenvectors are tracked; what they may miss is added to the error."""
    rng = np.random.default_rng(3)
    dim = 200
    vectors = near_a_subspace(rng, 3_000, dim, mean=0.1)
    sets = split(vectors, [20] * 150)
    subspace = PCA(3)
    centering = started(subspace, sets, center)
    for actions in sets:
        subspace.observe(actions, centering.center_of(actions))
        frame = subspace.frame()
    seen = sets[: subspace.refreshed_set]
    centred = np.concatenate([s - s.mean(axis=0) for s in seen] if center in ("set", "differences") else seen)
    matrix = np.cov(centred.T, bias=True) if center == "mean" else centred.T @ centred / len(centred)
    values, vectors = np.linalg.eigh(matrix)
    true = vectors[:, ::-1][:, :3]
    distance = subspace_distance(frame.directions, true)
    assert distance <= subspace.residual + 1e-9
    assert subspace.residual <= 1e-3
    assert frame.spectrum is not None
    np.testing.assert_allclose(frame.spectrum[:3], values[::-1][:3], rtol=1e-4)
    # The others are held by their mean: the trace is right.
    assert frame.spectrum.sum() == pytest.approx(values.sum(), rel=1e-6)


def test_the_rank_is_found_and_follows_the_data():
    rng = np.random.default_rng(4)
    for dim, rank in ((20, 1), (20, 4), (150, 3)):
        sets = split(near_a_subspace(rng, 4_000, dim, rank=rank), [40] * 100)
        assert observed(PCA("auto"), sets).directions.shape == (dim, rank)


@pytest.mark.parametrize("refresh", ["lazy", "every-round"])
def test_refreshes_fall_where_they_should(refresh):
    rng = np.random.default_rng(5)
    subspace = PCA(2, refresh=refresh, growth=0.1)
    sets = split(near_a_subspace(rng, 1_000, 5), [10] * 100)
    subspace.start(sets[0].shape[1])
    versions = []
    for actions in sets:
        subspace.observe(actions)
        versions.append(subspace.frame().version)
    if refresh == "every-round":
        assert versions == list(range(1, 101))
        return
    # Due once the number of vectors has grown by a tenth: every set up to the tenth, then ever fewer.
    expected, last, version = [], 0, 0
    for count in range(1, 101):
        if 10 * count >= 1.1 * last:
            last, version = 10 * count, version + 1
        expected.append(version)
    assert versions == expected
    assert versions[9] == 10
    assert versions[-1] < 40


def test_looking_does_not_refresh():
    subspace = PCA(2)
    rng = np.random.default_rng(6)
    subspace.start(5)
    assert subspace.current() is None
    subspace.observe(near_a_subspace(rng, 10, 5))
    assert subspace.current() is None
    frame = subspace.frame()
    subspace.observe(near_a_subspace(rng, 100, 5))
    assert subspace.current() is frame
    assert subspace.frame() is not frame


def test_the_error_is_of_the_kind_asked_for():
    rng = np.random.default_rng(7)
    sets = split(near_a_subspace(rng, 2_000, 6, rank=2), [20] * 100)
    structure = eb.Structure(1.0, 1.0, 1e-4, 2.0, 6.0)
    assert observed(PCA(2, projection_error=0.25), sets).error == 0.25
    assert observed(PCA(2, projection_error=0), sets).error == 0.0
    bound = observed(PCA(2, projection_error="theorem", structure=structure, delta=0.05), sets).error
    assert bound == eb.theory.projection_error(structure, vectors_seen=2_000, dim=6, rank=2, delta=0.05)
    assert 0.0 < observed(PCA(2), sets).error < 0.2
    assert observed(PCA(6), sets).error == 0.0


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"rank": 0}, "rank is 0"),
        ({"rank": "many"}, "rank is 'many'"),
        ({"projection_error": "guess"}, "projection_error is 'guess'"),
        ({"projection_error": -0.1}, "projection_error is -0.1"),
        ({"projection_error": "theorem"}, "structure is None; expected an eb.Structure"),
        ({"refresh": "never"}, "refresh is 'never'"),
        ({"growth": -1.0}, "growth is -1"),
        ({"delta": 0.0}, "delta is 0"),
    ],
)
def test_bad_parameters_are_named(options, match):
    with pytest.raises(ValueError, match=match):
        PCA(**options)


# --- streaming ---


@pytest.mark.parametrize("center", ["none", "set", "differences"])
def test_streaming_finds_what_pca_finds(center):
    rng = np.random.default_rng(8)
    sets = split(near_a_subspace(rng, 6_000, 40), [20] * 300)
    streaming, exact = Streaming(3), PCA(3)
    for subspace in (streaming, exact):
        centering = started(subspace, sets, center)
        for actions in sets:
            subspace.observe(actions, centering.center_of(actions))
            subspace.frame()
    fast, slow = streaming.frame(), exact.frame()
    assert fast.spectrum is not None
    assert slow.spectrum is not None
    # It has not looked at the last quarter at most, so that both differ by sampling error; both are close to the truth.
    assert subspace_distance(fast.directions, slow.directions) < 0.05
    np.testing.assert_allclose(fast.spectrum[:3], slow.spectrum[:3], rtol=0.1)
    assert fast.spectrum.sum() == pytest.approx(slow.spectrum.sum(), rel=0.05)
    assert fast.directions.T @ fast.directions == pytest.approx(np.eye(3), abs=1e-10)


def test_streaming_finds_the_rank():
    rng = np.random.default_rng(9)
    subspace = Streaming("auto")
    sets = split(near_a_subspace(rng, 8_000, 60, rank=4), [40] * 200)
    subspace.start(sets[0].shape[1])
    for actions in sets:
        subspace.observe(actions)
        subspace.frame()
    assert subspace.diagnostics()["rank"] == 4


def test_streaming_holds_no_square_matrix():
    subspace = Streaming(2)
    actions = np.random.default_rng(10).standard_normal((30, 5_000))
    subspace.start(5_000)
    subspace.observe(actions)
    subspace.frame()
    arrays = [value for value in subspace.state().values() if isinstance(value, np.ndarray)]
    assert max(array.size for array in arrays) <= 6 * 5_000
