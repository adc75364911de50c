"""What is taken off the actions, the reference, and the intercept's coordinate."""

import math

import numpy as np
import pytest

import eigenbandits as eb
from eigenbandits.policy.centering import Centering

ACTIONS = np.array([[3.0, 4.0], [1.0, 0.0]])


def started(kind, actions=ACTIONS, intercept=1.0):
    centering = Centering(kind)
    centering.start(actions, intercept)
    return centering


@pytest.mark.parametrize(
    ("kind", "expected", "center"),
    [
        ("none", [[3, 4], [1, 0]], None),
        ("set", [[1, 2, 0.5], [-1, -2, 0.5]], [2, 2]),
        ("differences", [[1, 2], [-1, -2]], [2, 2]),
    ],
)
def test_a_set_is_lifted_by_its_own_mean(kind, expected, center):
    centering = started(kind, np.ones((1, 2)), intercept=0.5)
    lifted, taken_off = centering.lift(ACTIONS)
    assert lifted.tolist() == expected
    assert centering.lifted_dim == lifted.shape[1]
    assert (None if taken_off is None else taken_off.tolist()) == center


def test_the_reference_is_the_first_sets_mean_where_that_is_more_than_chance():
    rng = np.random.default_rng(0)
    first = rng.standard_normal((50, 4))
    assert started("mean", first).reference is None
    shifted = started("mean", first + 5.0)
    np.testing.assert_allclose(shifted.reference, (first + 5.0).mean(axis=0))
    # It stays, whatever comes later, so that a vector means the same for ever.
    lifted, _ = shifted.lift(ACTIONS[:, [0, 1, 0, 1]])
    np.testing.assert_array_equal(lifted[:, :4], ACTIONS[:, [0, 1, 0, 1]] - shifted.reference)
    np.testing.assert_array_equal(shifted.lift_vectors(ACTIONS[:1, [0, 1, 0, 1]]), lifted[:1])


@pytest.mark.parametrize("kind", ["set", "differences"])
def test_a_bare_vector_has_no_meaning_where_sets_are_centered(kind):
    with pytest.raises(ValueError, match="pass the Decision that choose"):
        started(kind).lift_vectors(ACTIONS[0])


def test_an_unknown_kind_is_refused():
    with pytest.raises(ValueError, match="center is 'median'; expected one of 'none', 'mean', 'set', 'differences'"):
        eb.OFUL(noise=0.1, center="median")


@pytest.mark.parametrize("center", ["none", "mean", "set", "differences"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_decision_carries_the_row_that_it_was_made_on(center, dtype):
    rng = np.random.default_rng(1)
    policy = eb.OFUL(noise=0.1, center=center, dtype=dtype)
    kappa = 0.0
    for _ in range(5):
        actions = (rng.standard_normal((6, 3)) + 3.0).astype(dtype)
        if policy.round == 0:
            first = actions
            kappa = math.sqrt(np.mean(np.sum(first**2, axis=1)))
        decision = policy.choose(actions)
        taken_off = {"none": np.zeros(3), "mean": first.mean(axis=0)}.get(center, actions.mean(axis=0))
        row = decision.action - taken_off.astype(dtype)
        expected = np.append(row, kappa) if center in ("mean", "set") else row
        assert decision.lifted is not None
        assert decision.lifted.dtype == np.float64
        assert not decision.lifted.flags.writeable
        np.testing.assert_allclose(decision.lifted, expected, rtol=1e-12 if dtype == "float64" else 1e-6)
        assert len(decision.model) == 3


@pytest.mark.parametrize("scale", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("center", ["none", "mean"])
def test_what_came_first_does_not_matter(scale, center):
    """One early reward of a vector of any size, before or after the rest: the frame corrects for the reference."""
    rng = np.random.default_rng(2)
    catalogue = rng.standard_normal((50, 5)) * [3.0, 2.0, 0.1, 0.1, 0.1] + 1.0
    early, late = (eb.PSLB(noise=0.1, rank=2, center=center, intersect=False, projection_error=0.1) for _ in range(2))
    # κ is a number here, as for beliefs that learn the size of an intercept.
    early.belief.intercept = late.belief.intercept = 1.0
    early.learn(scale * catalogue[0], 0.5)
    early.observe(catalogue)
    late.observe(catalogue)
    late.learn(scale * catalogue[0], 0.5)
    for _ in range(30):
        actions = rng.standard_normal((6, 5)) + 1.0
        one, two = early.choose(actions), late.choose(actions)
        assert one.index == two.index
        assert one.upper == pytest.approx(two.upper, rel=1e-8)
        early.learn(one, float(actions[one.index, 0]))
        late.learn(two, float(actions[one.index, 0]))
