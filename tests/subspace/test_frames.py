"""Frames, known subspaces and random projections: coordinates, what they leave out, and what they imply."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import eigenbandits as eb
from eigenbandits.belief import Projected
from eigenbandits.rules import Optimism
from eigenbandits.subspace import PCA, Frame, Known, RandomProjection, Whole


def some_frame(rng, dim, rank, kind):
    directions = np.linalg.qr(rng.standard_normal((dim, rank)))[0]
    offset = rng.standard_normal(dim) if kind == "mean" else None
    return Frame(directions, offset, intercept=0.0 if kind == "none" else 1.7, error=0.1)


@given(st.integers(0, 10**6), st.integers(1, 8), st.data(), st.sampled_from(["none", "mean", "set"]))
def test_a_frame_reads_actions_as_its_definition_says(seed, dim, data, kind):
    rank = data.draw(st.integers(1, dim))
    rng = np.random.default_rng(seed)
    frame = some_frame(rng, dim, rank, kind)
    vectors = rng.standard_normal((5, dim))
    lifted = vectors if kind == "none" else np.column_stack([vectors, np.full(5, 1.7)])
    centred = vectors if frame.offset is None else vectors - frame.offset
    V = frame.directions
    z = centred @ V if kind == "none" else np.column_stack([centred @ V, np.full(5, 1.7)])
    coordinates, outside = frame.coordinates(lifted)
    np.testing.assert_allclose(coordinates, z, atol=1e-12)
    # By Pythagoras, so that only half of the digits are left where next to nothing is left out.
    np.testing.assert_allclose(outside, np.linalg.norm(centred - centred @ V @ V.T, axis=1), atol=1e-6)
    np.testing.assert_allclose(lifted @ frame.basis, z, atol=1e-10)
    assert frame.size == z.shape[1] == frame.basis.shape[1]
    # An ambient parameter ϑ and its shadow φ = Aᵀϑ give the same rewards but for what the coordinates leave out.
    parameter = rng.standard_normal((lifted.shape[1],))
    rest = centred - centred @ V @ V.T
    np.testing.assert_allclose(lifted @ parameter, z @ (frame.shadow.T @ parameter) + rest @ parameter[:dim], atol=1e-9)
    # The model in d numbers orders actions as the coordinates' parameter does.
    phi = rng.standard_normal((frame.size,))
    differences: np.ndarray = vectors @ frame.lower(phi) - z @ phi
    np.testing.assert_allclose(differences, np.full(5, differences[0]), atol=1e-9)
    # What leaks: Σ over past actions of z (what they leave out)ᵀ.
    gram = lifted.T @ lifted
    np.testing.assert_allclose(frame.leak(gram @ frame.basis), z.T @ rest, atol=1e-8)


def test_a_known_subspace_is_made_orthonormal():
    rng = np.random.default_rng(0)
    basis = rng.standard_normal((6, 3))
    frame = Known(basis, projection_error=0.3).frame()
    V = frame.directions
    np.testing.assert_allclose(V.T @ V, np.eye(3), atol=1e-12)
    np.testing.assert_allclose(V @ V.T @ basis, basis, atol=1e-12)
    assert frame.error == 0.3
    for bad, match in [
        (np.ones((3, 2)), "linearly dependent columns"),
        (np.ones((2, 3)), "linearly dependent columns"),
        (np.full((2, 1), np.nan), "basis holds nan"),
        (np.zeros((3, 1)), "linearly dependent columns"),
    ]:
        with pytest.raises(ValueError, match=match):
            Known(bad)


def test_a_random_projection_keeps_lengths_in_the_mean():
    """Entries are independent N(0, 1/m): the mean of ‖Mᵀx‖² over projections is ‖x‖², with variance 2/m."""
    x = np.arange(1.0, 31.0)
    lengths = []
    for seed in range(400):
        projection = RandomProjection(10, seed)
        projection.start(len(x))
        lengths.append(np.sum((projection.frame().directions.T @ x) ** 2) / (x @ x))
    assert np.mean(lengths) == pytest.approx(1.0, abs=5 * np.sqrt(0.2 / 400))
    assert np.var(lengths) == pytest.approx(0.2, rel=0.5)


def test_cbrap_is_ridge_regression_after_its_projection():
    rng = np.random.default_rng(1)
    policy = eb.CBRAP(noise=0.2, rank=3, ridge=0.5, theta_bound=1.5, delta=0.05, seed=4)
    actions, rewards = rng.standard_normal((20, 8)), rng.standard_normal(20)
    policy.learn_many(actions, rewards)
    probe = rng.standard_normal((5, 8))
    decision = policy.choose(probe)
    projection: RandomProjection = policy.subspace  # type: ignore[assignment]
    M = projection.matrix
    assert M is not None
    B = M.T @ actions.T @ actions @ M + 0.5 * np.eye(3)
    phi = np.linalg.solve(B, M.T @ actions.T @ rewards)
    ratio = np.linalg.slogdet(B)[1] - 3 * np.log(0.5)
    beta = 0.2 * np.sqrt(ratio - 2 * np.log(0.05)) + 1.5 * np.sqrt(0.5)
    z = probe @ M
    uppers = z @ phi + beta * np.sqrt(np.einsum("ij,ji->i", z, np.linalg.solve(B, z.T)))
    assert decision.index == int(uppers.argmax())
    assert decision.upper == pytest.approx(uppers.max(), rel=1e-9)
    assert decision.model == pytest.approx(
        M @ (phi + beta * np.linalg.solve(B, z[decision.index]) / norm(B, z, decision))
    )


def norm(B, z, decision):
    row = z[decision.index]
    return np.sqrt(row @ np.linalg.solve(B, row))


def test_the_whole_space_has_no_frame():
    whole = Whole()
    whole.start(2)
    assert whole.frame() is None


def test_differences_are_all_that_is_left_of_a_set():
    """As if the mean of each set had been taken off before the policy saw it."""
    rng = np.random.default_rng(4)
    sets = rng.standard_normal((30, 5, 4)) + 3.0 * rng.standard_normal((30, 1, 4))
    for options in ({"rank": 1}, {"rank": 2, "intersect": False, "radius": "general"}, {}):
        told = eb.PSLB(noise=0.3, center="differences", **options)
        handed = eb.PSLB(noise=0.3, center="none", **options)
        for actions in sets:
            decision, other = told.choose(actions), handed.choose(actions - actions.mean(axis=0))
            assert decision.index == other.index
            assert decision.upper == pytest.approx(other.upper, rel=1e-9)
            told.learn(decision, actions[decision.index, 0])
            handed.learn(other, actions[decision.index, 0])


@pytest.mark.parametrize("subspace", [PCA(2), Known(np.eye(4)[:, :2])])
def test_a_set_of_one_is_all_intercept(subspace):
    policy = eb.Policy(subspace, Projected(0.1), Optimism(), center="set")
    decision = policy.choose([[1.0, 2.0, 3.0, 4.0]])
    policy.learn(decision, 2.0)
    again = policy.choose([[1.0, 2.0, 3.0, 4.0]])
    # One reward of 2 with z = (0, 0, κ), κ² = 30 and λ = 1: the estimate is 2 · 30/31.
    assert again.estimate == pytest.approx(60 / 31)
