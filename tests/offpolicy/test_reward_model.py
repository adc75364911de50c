"""The reward model of a log: against its definition, and that no event has a say in its own prediction."""

import numpy as np
import pytest

from eigenbandits.offpolicy import Log
from eigenbandits.offpolicy.reward_model import Sums, event_by_event, whole_log


def linear_log(events, noise=0.1, dim=4, seed=0):
    rng = np.random.default_rng(seed)
    theta = np.arange(1.0, dim + 1.0)
    actions = rng.standard_normal((events, 3, dim)) + 2.0
    choices = rng.integers(0, 3, events)
    rewards = actions[np.arange(events), choices] @ theta + 5.0 + noise * rng.standard_normal(events)
    return Log(actions, choices, rewards), theta


def test_the_ridge_is_the_one_with_the_least_cross_validation_error():
    """Generalized cross-validation from its definition, with the hat matrix of each ridge."""
    rng = np.random.default_rng(1)
    x, r = rng.standard_normal((30, 6)), rng.standard_normal(30)
    r += x[:, 0]
    sums = Sums(6)
    sums.add(x, r)
    centered, level = x - x.mean(axis=0), r - r.mean()
    energy = np.linalg.eigvalsh(centered.T @ centered).mean()
    best = None
    for ridge in np.logspace(-4.0, 3.0, 15) * energy:
        solved = np.linalg.solve(centered.T @ centered + ridge * np.eye(6), centered.T)
        hat = centered @ solved + 1.0 / 30
        error = float(np.sum((level - centered @ (solved @ level)) ** 2)) / (1.0 - np.trace(hat) / 30) ** 2
        if best is None or error < best[0]:
            best = error, solved @ level
    assert best is not None
    probe = rng.standard_normal((5, 6))
    np.testing.assert_allclose(sums.fit()(probe), r.mean() + (probe - x.mean(axis=0)) @ best[1], rtol=1e-8)


def test_it_finds_a_linear_reward():
    log, theta = linear_log(500)
    probe = np.random.default_rng(2).standard_normal((6, 4))
    np.testing.assert_allclose(whole_log(log)(probe), probe @ theta + 5.0, atol=0.1)


def test_each_event_is_predicted_from_those_before_it_alone():
    """Whatever happens at an event or later, its prediction stays the same."""
    log, _ = linear_log(40)
    predictions = [model(log.decision_set(event)) for event, model in enumerate(event_by_event(log))]
    for changed in (0, 1, 7, 25):
        rewards = log.earned.copy()
        rewards[changed:] += 100.0
        other = Log(log.actions, log.chosen, rewards)
        for event, model in enumerate(event_by_event(other)):
            if event <= changed:
                np.testing.assert_array_equal(model(log.decision_set(event)), predictions[event])
    assert predictions[0].tolist() == [0.0] * 3
    # The last model has seen at least two thirds of the events before.
    assert np.abs(predictions[-1] - log.decision_set(39) @ np.arange(1.0, 5.0) - 5.0).max() < 0.5


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
def test_few_equal_or_tiny_actions_give_finite_predictions(scale):
    for actions in (np.zeros((5, 2, 3)), np.ones((5, 2, 3)), np.random.default_rng(3).standard_normal((5, 2, 3))):
        log = Log(scale * actions, [0, 1, 0, 1, 0], [1.0, 2.0, 3.0, 4.0, 5.0])
        for model in (*event_by_event(log), whole_log(log)):
            assert np.isfinite(model(scale * actions[0])).all()
    # Nothing to tell the actions apart: the mean.
    assert whole_log(Log(np.ones((4, 2, 3)), [0] * 4, [1.0, 2.0, 3.0, 6.0]))(np.ones((2, 3))).tolist() == [3.0, 3.0]


def test_blocks_do_not_matter(monkeypatch):
    log, _ = linear_log(50)
    once = whole_log(log)(log.decision_set(0))
    monkeypatch.setattr("eigenbandits.offpolicy.reward_model._BLOCK", 7)
    np.testing.assert_allclose(whole_log(log)(log.decision_set(0)), once)
