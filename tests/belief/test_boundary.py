"""Sampling from an ellipsoid in many dimensions: the same law as drawing every model whole."""

from typing import Any

import numpy as np
import pytest

import eigenbandits as eb
from eigenbandits.belief.base import Models

DIM = 12


def taught():
    rng = np.random.default_rng(3)
    belief = eb.belief.Ambient(0.5, radius=2.0)
    belief.start(DIM)
    actions, rewards = rng.standard_normal((30, DIM)), rng.standard_normal(30)
    for action, reward in zip(actions, rewards, strict=True):
        belief.learn(action, float(reward))
    Z = actions.T @ actions + np.eye(DIM)
    return belief, Z, np.linalg.solve(Z, actions.T @ rewards)


def offered(kind):
    actions = np.random.default_rng(4).standard_normal((5, DIM))
    if kind == "twins":
        actions[3] = actions[2]
    return actions


@pytest.mark.parametrize("kind", ["five", "twins"])
def test_values_have_the_moments_of_an_even_law_on_the_boundary(kind):
    """u even on the sphere in D dimensions has the covariance I/D, so that values have Ω² X Z⁻¹ Xᵀ / D around Xθ̂."""
    belief, Z, center = taught()
    actions, count = offered(kind), 100_000
    values = belief.view(actions).boundary(count, np.random.default_rng(5)).values
    expected = 4.0 * actions @ np.linalg.solve(Z, actions.T) / DIM
    deviations = np.sqrt(np.diag(expected))
    # Five standard errors of a mean and of a covariance; the law has lighter tails than the normal one.
    assert (np.abs(values.mean(axis=0) - actions @ center) < 5 * deviations / np.sqrt(count)).all()
    assert (np.abs(np.cov(values.T) - expected) < 5 * np.sqrt(2 / count) * np.outer(deviations, deviations)).all()
    # A coordinate of u has the fourth moment 3/(D(D + 2)), where a normal one would have 3/D².
    fourth = (((values - actions @ center) / deviations) ** 4).mean(axis=0)
    assert fourth == pytest.approx(3 * DIM / (DIM + 2), abs=5 * np.sqrt(96 / count))


def test_models_lie_on_the_boundary_and_give_the_values():
    belief, Z, center = taught()
    actions = offered("twins")
    models = belief.view(actions).boundary(2_000, np.random.default_rng(6))
    vectors = np.array([models.vector(row) for row in range(2_000)])
    np.testing.assert_allclose(vectors @ actions.T, models.values, atol=1e-10)
    deviations = vectors - center
    np.testing.assert_allclose(np.einsum("ij,jk,ik->i", deviations, Z, deviations), 4.0, rtol=1e-9)
    # All of it is even, not only what the actions see: five standard errors of each entry of the covariance.
    expected = 4.0 * np.linalg.inv(Z) / DIM
    spread = np.sqrt(np.diag(expected))
    assert (np.abs(np.cov(vectors.T) - expected) < 5 * np.sqrt(2 / 2_000) * np.outer(spread, spread)).all()


def test_with_as_many_actions_as_dimensions_models_are_drawn_whole():
    belief, Z, center = taught()
    actions = np.random.default_rng(7).standard_normal((DIM, DIM))
    models = belief.view(actions).boundary(50, np.random.default_rng(8))
    vectors = np.array([models.vector(row) for row in range(50)])
    np.testing.assert_allclose(vectors @ actions.T, models.values, atol=1e-10)
    deviations = vectors - center
    np.testing.assert_allclose(np.einsum("ij,jk,ik->i", deviations, Z, deviations), 4.0, rtol=1e-9)


def test_many_actions_are_looked_at_a_part_of_the_models_at_a_time_and_the_best_of_all_decides():
    size, samples = 1 << 15, 10  # four models at a time
    values = np.random.default_rng(9).standard_normal((samples, size))

    class Counted:
        drawn = 0

        def boundary(self, count, rng):
            first = self.drawn
            self.drawn += count
            return Models(values[first : first + count], lambda row: np.array([first + row]))

        def finding(self, index):
            return None

    view: Any = Counted()
    choice = eb.rules.SampledOptimism(samples).choose(view, size, np.random.default_rng(0))
    assert view.drawn == samples
    best, index = divmod(int(values.argmax()), size)
    assert choice.index == index
    assert choice.upper == values.max()
    assert choice.model()[0] == best
