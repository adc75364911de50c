"""The exact optimum over two ellipsoids against a convex solver, closed forms and sampled points."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.solver import Pair, solver_support

from eigenbandits.belief.ellipsoids import Ellipsoid, Intersection

KINDS = ["thin", "nested", "tangent", "nearly disjoint", "disjoint", "equal centres", "identical"]
PAIRS = [(kind, seed) for kind in KINDS for seed in range(29)]


def random_axes(rng: np.random.Generator, size: int, condition: float) -> tuple[np.ndarray, np.ndarray]:
    vectors = np.linalg.qr(rng.standard_normal((size, size)))[0]
    lengths = condition ** (-0.5 * rng.permutation(np.linspace(0.0, 1.0, size)))
    return vectors, lengths * 10.0 ** rng.uniform(-1.0, 1.0)


def touching_point(vectors: np.ndarray, lengths: np.ndarray, normal: np.ndarray) -> np.ndarray:
    """Return the point of a centred ellipsoid that lies farthest along a direction."""
    inside = lengths * (vectors.T @ normal)
    return vectors @ (lengths * inside) / np.linalg.norm(inside)


def separated(rng: np.random.Generator, size: int, condition: float, overlap: float) -> Pair:
    first, second = random_axes(rng, size, condition), random_axes(rng, size, condition)
    center, normal = rng.standard_normal(size), rng.standard_normal(size)
    way = touching_point(*first, normal) + touching_point(*second, normal)
    return Pair(Ellipsoid(center, *first), Ellipsoid(center + (1.0 - overlap) * way, *second), overlap)


def make(kind: str, seed: int) -> Pair:
    """Return one of the pairs of a kind; the number of dimensions goes round from 1 to 8."""
    rng = np.random.default_rng([KINDS.index(kind), seed])
    size, mild = 1 + seed % 8, 10.0 ** rng.uniform(0.0, 2.0)
    if kind == "thin":
        return separated(rng, size, 1e8, rng.uniform(0.05, 1.0))
    if kind == "tangent":
        return separated(rng, size, mild, 1e-4)
    if kind == "nearly disjoint":
        return separated(rng, size, mild, 10.0 ** rng.uniform(-3.0, -1.0))
    if kind == "disjoint":
        return separated(rng, size, mild, -(10.0 ** rng.uniform(-4.0, 0.0)))
    vectors, lengths = random_axes(rng, size, mild)
    center = rng.standard_normal(size)
    first = Ellipsoid(center, vectors, lengths)
    if kind == "identical":
        return Pair(first, first)
    if kind == "equal centres":
        return Pair(first, Ellipsoid(center, *random_axes(rng, size, mild)))
    # Nested: a small copy, turned, well inside.
    turned, smaller = random_axes(rng, size, mild)
    inner = 0.2 * lengths.min() * smaller / smaller.max()
    shift = 0.5 * vectors @ (lengths * rng.standard_normal(size) / np.sqrt(4 * size))
    return Pair(first, Ellipsoid(center + shift, turned, inner))


def quadratic(ellipsoid: Ellipsoid, points: np.ndarray) -> np.ndarray:
    """Return (φ − c)ᵀ shape (φ − c) for each row φ."""
    inside = (points - ellipsoid.center) @ ellipsoid.vectors / ellipsoid.lengths
    return np.square(inside).sum(axis=1)


@pytest.fixture(params=PAIRS, ids=lambda pair: f"{pair[0]}-{pair[1]}", scope="module")
def pair(request: pytest.FixtureRequest) -> Pair:
    return make(*request.param)


def directions_for(pair: Pair, count: int = 3) -> np.ndarray:
    return np.random.default_rng(7).standard_normal((count, len(pair.first.center)))


def test_support_and_emptiness_agree_with_a_convex_solver(pair):
    directions = directions_for(pair, 2)
    geometry = Intersection(pair.first, pair.second)
    found = geometry.support(directions)
    expected = np.array([solver_support(pair, direction) for direction in directions])
    assert geometry.empty == bool(np.isneginf(expected).all()) == bool(np.isneginf(expected).any())
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_support_is_reached_and_never_passed(pair):
    geometry = Intersection(pair.first, pair.second)
    if geometry.empty:
        return
    directions = directions_for(pair)
    found = geometry.support(directions)
    points = geometry.boundary(500, np.random.default_rng(0))
    width = np.abs(found[:, None] - directions @ points.T).max(axis=1)
    assert (directions @ points.T <= found[:, None] + 1e-9 * width[:, None] + 1e-12).all()
    for direction, value in zip(directions, found, strict=True):
        best = geometry.optimum(direction)
        assert quadratic(pair.first, best[None])[0] <= 1.0 + 1e-6
        assert quadratic(pair.second, best[None])[0] <= 1.0 + 1e-6
        assert direction @ best == pytest.approx(value, rel=1e-6)


def test_points_lie_in_both_and_boundary_points_on_the_boundary_of_one(pair):
    geometry = Intersection(pair.first, pair.second)
    if geometry.empty:
        return
    point = geometry.point()[None]
    assert max(quadratic(pair.first, point)[0], quadratic(pair.second, point)[0]) <= 1.0 + 1e-8
    points = geometry.boundary(200, np.random.default_rng(0))
    farther = np.maximum(quadratic(pair.first, points), quadratic(pair.second, points))
    np.testing.assert_allclose(farther, 1.0, atol=1e-7)


def test_depth_is_the_least_larger_of_the_two_forms(pair):
    geometry = Intersection(pair.first, pair.second)
    if pair.overlap is not None:
        assert geometry.depth == pytest.approx((1.0 - pair.overlap) ** 2, rel=1e-7)
    deepest = geometry.point()[None]
    at_point = max(quadratic(pair.first, deepest)[0], quadratic(pair.second, deepest)[0])
    assert at_point == pytest.approx(geometry.depth, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("condition", [1.0, 1e3, 1e8])
@pytest.mark.parametrize("size", range(1, 9))
def test_emptiness_is_decided_down_to_a_hundred_millionth_of_the_distance(size, condition):
    """The margin around tangency: an overlap or a gap of 1e-8 of the distance is told apart."""
    rng = np.random.default_rng(size)
    for overlap in (1e-8, 1e-7, 1e-5):
        pair = separated(rng, size, condition, overlap)
        assert not Intersection(pair.first, pair.second).empty
        pair = separated(rng, size, condition, -overlap)
        assert Intersection(pair.first, pair.second).empty


@pytest.mark.parametrize("size", range(1, 9))
def test_tangent_ellipsoids_have_one_point(size):
    rng = np.random.default_rng(size)
    pair = separated(rng, size, 10.0, 0.0)
    geometry = Intersection(pair.first, pair.second)
    directions = directions_for(pair)
    assert not geometry.empty
    # The point itself is known only to the square root of what counts as empty, 1e-9.
    np.testing.assert_allclose(geometry.support(directions), directions @ geometry.point(), atol=1e-3)


def test_support_of_one_ellipsoid_where_the_other_contains_it():
    rng = np.random.default_rng(3)
    vectors, lengths = random_axes(rng, 4, 100.0)
    inner = Ellipsoid(rng.standard_normal(4), vectors, lengths)
    outer = Ellipsoid(np.zeros(4), np.eye(4), np.full(4, 1e3))
    directions = rng.standard_normal((20, 4))
    expected = directions @ inner.center + np.linalg.norm(directions @ (vectors * lengths), axis=1)
    np.testing.assert_allclose(Intersection(inner, outer).support(directions), expected, rtol=1e-12)
    np.testing.assert_allclose(Intersection(outer, inner).support(directions), expected, rtol=1e-12)


def test_two_unit_balls_by_hand():
    # Centres (0, 0) and (1, 0): a lens with corners (½, ±√3/2) and extreme points (0, 0) and (1, 0).
    first = Ellipsoid(np.zeros(2), np.eye(2), np.ones(2))
    second = Ellipsoid(np.array([1.0, 0.0]), np.eye(2), np.ones(2))
    lens = Intersection(first, second)
    directions = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -2.0], [0.0, 0.0]])
    np.testing.assert_allclose(lens.support(directions), [1.0, 0.0, 3**0.5 / 2, 3**0.5, 0.0], atol=1e-12)
    np.testing.assert_allclose(lens.optimum(directions[2]), [0.5, 3**0.5 / 2], atol=1e-9)
    assert lens.depth == pytest.approx(0.25)
    np.testing.assert_allclose(lens.point(), [0.5, 0.0], atol=1e-9)


def test_an_interval_by_hand():
    # [−1, 3] and [2, 6] meet in [2, 3].
    axis = np.eye(1)
    meet = Intersection(
        Ellipsoid(np.array([1.0]), axis, np.array([2.0])), Ellipsoid(np.array([4.0]), axis, np.array([2.0]))
    )
    np.testing.assert_allclose(meet.support(np.array([[1.0], [-1.0], [10.0]])), [3.0, -2.0, 30.0], rtol=1e-12)
    ends = meet.boundary(50, np.random.default_rng(0))
    np.testing.assert_allclose(np.unique(np.round(ends, 9)), [2.0, 3.0], atol=1e-8)


def test_a_set_without_an_inside_is_a_point():
    point = Ellipsoid(np.array([0.5, 0.0]), np.eye(2), np.zeros(2))
    ball = Ellipsoid(np.zeros(2), np.eye(2), np.ones(2))
    directions = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 1.0]])
    for geometry in (Intersection(point, ball), Intersection(ball, point)):
        np.testing.assert_allclose(geometry.support(directions), [0.5, 0.0, -0.5], atol=1e-9)
    far = Ellipsoid(np.array([2.0, 0.0]), np.eye(2), np.zeros(2))
    assert Intersection(far, ball).empty
    assert Intersection(ball, far).empty


@given(st.integers(0, 10**6), st.sampled_from([1e-8, 1e-3, 1e3, 1e8]))
def test_the_unit_does_not_matter(seed, scale):
    pair = make("nearly disjoint", seed)
    scaled = Intersection(
        Ellipsoid(scale * pair.first.center, pair.first.vectors, scale * pair.first.lengths),
        Ellipsoid(scale * pair.second.center, pair.second.vectors, scale * pair.second.lengths),
    )
    directions = directions_for(pair)
    plain = Intersection(pair.first, pair.second)
    np.testing.assert_allclose(scaled.support(directions), scale * plain.support(directions), rtol=1e-6)
    assert scaled.depth == pytest.approx(plain.depth, rel=1e-9)


@given(st.integers(0, 10**6))
def test_the_order_of_the_two_does_not_matter(seed):
    pair = make("nearly disjoint", seed)
    directions = directions_for(pair)
    one, other = Intersection(pair.first, pair.second), Intersection(pair.second, pair.first)
    np.testing.assert_allclose(one.support(directions), other.support(directions), rtol=1e-7)
    assert one.depth == pytest.approx(other.depth, rel=1e-9)
