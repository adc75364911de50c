"""Rewards of repeated actions: what n of them are worth, by hand, and what a policy with scores makes of that."""

import numpy as np
import pytest

import eigenbandits as eb
from eigenbandits.belief.spectral import repeats
from eigenbandits.belief.spectral.repeats import Repeats


def test_noisy_repetitions_all_count():
    rng = np.random.default_rng(0)
    found = Repeats()
    counted = [found.count(np.ones(3), reward, variance=1.0) for reward in rng.standard_normal(2000)]
    # The variance of the rewards is the model's own, so that nothing is common.
    assert np.mean(counted) > 0.9


def test_repetitions_count_by_the_common_share():
    # Half of the variance is common: 20 repetitions are worth 20/(1 + 19/2) of as many actions.
    rng = np.random.default_rng(1)
    found, counted = Repeats(), 0
    for _ in range(20):
        for action in range(100):
            reward = np.cos(action) + np.sqrt(0.5) * rng.standard_normal()
            counted += found.count(np.array([float(action)]), reward, variance=1.0)
    assert counted == pytest.approx(100 * 20 / (1.0 + 19 * 0.5), rel=0.3)  # ι is taken two errors lower


def test_only_the_latest_actions_are_remembered(monkeypatch):
    monkeypatch.setattr(repeats, "ROOM", 4)
    found = Repeats()
    for number in range(6):
        assert found.count(np.array([float(number)]), 1.0, variance=0.1)
    assert found.repeated == 0
    other = Repeats()
    other.restore(found.state())
    for one in (found, other):
        one.count(np.array([5.0]), 1.0, variance=0.1)
        assert one.repeated == 1
        one.count(np.array([0.0]), 1.0, variance=0.1)  # forgotten
        assert one.repeated == 1


def asked_again(policy):
    """Ask a few questions again and again, each with rewards of its own, and return how well it follows the score."""
    rng = np.random.default_rng(2)
    known = rng.standard_normal(30) / np.sqrt(30)
    asked, unseen = rng.standard_normal((20, 5, 30)), rng.standard_normal((300, 5, 30))
    own = rng.standard_normal((20, 5))
    for place in np.tile(np.arange(20), 30):
        decision = policy.choose(asked[place], scores=asked[place] @ known)
        policy.learn(decision, float(asked[place][decision.index] @ known + own[place, decision.index]))
    assert policy.diagnostics().rewards_learned == 600
    # Rewards that no one has seen follow the score, and nothing else.
    return np.mean([policy.choose(one, scores=one @ known).index == (one @ known).argmax() for one in unseen])


def test_questions_asked_again_do_not_cost_those_never_asked(monkeypatch):
    ours = asked_again(eb.EigenUCB(seed=0))
    monkeypatch.setattr(Repeats, "count", lambda *_: True)
    by_heart = asked_again(eb.EigenUCB(seed=0))
    assert ours > by_heart + 0.1


def test_one_by_one_and_many_at_once_count_the_same():
    rng = np.random.default_rng(3)
    rows = rng.standard_normal((10, 6))[rng.integers(10, size=200)]
    one, many = eb.EigenUCB(seed=0), eb.EigenUCB(seed=0)
    scores = rows.sum(axis=1)
    for row, score in zip(rows, scores, strict=True):
        one.learn(row, float(score), score=float(score))
    many.learn_many(rows, scores, scores=scores)
    many.learn_many(rows[:3], scores[:3], scores=scores[:3])  # nothing new at all
    for row, score in zip(rows[:3], scores[:3], strict=True):
        one.learn(row, float(score), score=float(score))
    found = []
    for policy in (one, many):
        assert isinstance(policy.belief, eb.belief.Spectral)
        found.append((policy.belief.repeats.skipped, policy.belief.evidence.count))
    assert found[0] == found[1]
    assert found[0][0] > 100
