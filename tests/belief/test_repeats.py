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


def test_what_an_action_is_worth_is_the_best_linear_unbiased_prediction():
    """Against the joint normal law of θ, one effect per action, and the rewards, solved as a whole."""
    rng = np.random.default_rng(5)
    common, ratio, counts = 0.6, 0.8, [1, 2, 5, 3]
    actions = rng.standard_normal((4, 3))
    which = np.repeat(np.arange(4), counts)
    rewards = rng.standard_normal(len(which))
    same = which[:, None] == which
    covariance = ratio * actions[which] @ actions[which].T + common * same + (1.0 - common) * np.eye(len(which))
    with_rewards = ratio * actions @ actions[which].T + common * (np.arange(4)[:, None] == which)
    truth = with_rewards @ np.linalg.solve(covariance, rewards)

    # θ from as many different actions as the repetitions are worth, then a share of the way to each mean.
    means = np.array([rewards[which == action].mean() for action in range(4)])
    worth = np.array([repeats._worth(count, common) for count in counts])
    precision = (actions * worth[:, None]).T @ actions + np.eye(3) / ratio
    linear = actions @ np.linalg.solve(precision, actions.T @ (worth * means))
    shares = common * worth
    np.testing.assert_allclose(linear + shares * (means - linear), truth, rtol=1e-10)


def test_known_actions_have_their_share_and_their_mean():
    found = Repeats()
    rows = np.arange(6.0).reshape(3, 2)
    assert found.known(rows, variance=1.0) is None
    for _ in range(400):
        found.count(rows[0], 1.0, variance=1.0)
    found.count(rows[2], -2.0, variance=1.0)
    known = found.known(np.vstack([rows, rows + 0.5]), variance=1.0)
    assert known is not None
    places, shares, means = known
    assert places.tolist() == [0, 2]
    assert means.tolist() == [1.0, -2.0]
    # 400 equal rewards: ι is almost 1, and so is κ; a single reward has κ = ι.
    common = found._common(1.0)
    assert 0.95 < common < 1.0
    np.testing.assert_allclose(shares, [400 * common / (1.0 + 399 * common), common], rtol=1e-12)


def test_what_is_known_to_earn_less_than_the_average_is_refuted():
    found = Repeats()
    rows = np.arange(8.0).reshape(4, 2)
    assert found.refuted(rows, variance=1.0) is None
    for _ in range(200):
        found.count(rows[0], 1.0, variance=1.0)
    found.count(rows[1], 0.0, variance=1.0)
    found.count(rows[2], 1.0, variance=1.0)
    refuted = found.refuted(rows, variance=1.0)
    assert refuted is not None
    assert refuted.tolist() == [1]
    # Noisy repetitions refute nothing.
    noisy = Repeats()
    for reward in np.random.default_rng(0).integers(2, size=200):
        noisy.count(rows[reward], float(reward), variance=0.0)
    assert noisy.refuted(rows, variance=0.0) is None


def test_rows_that_differ_in_one_bit_are_different():
    rng = np.random.default_rng(6)
    rows = rng.standard_normal((500, 40))
    changed = rows.copy()
    places = rng.integers(40, size=500)
    changed[np.arange(500), places] = np.nextafter(changed[np.arange(500), places], np.inf)
    digests = repeats._digests(np.vstack([rows, changed]))
    assert len(set(digests.tolist())) == 1000
    assert repeats._digests(rows.astype(np.float32)).tolist() != repeats._digests(rows).tolist()
    np.testing.assert_array_equal(repeats._digests(rows[3:4]), digests[3:4])  # alone as among others


def test_a_wrong_answer_is_not_given_again():
    """Labels that the score and the vectors say nothing of: each question's own is found by elimination."""
    rng = np.random.default_rng(7)
    asked, right, policy = rng.standard_normal((30, 4, 10)), rng.integers(4, size=30), eb.EigenUCB(seed=0)
    scores = rng.standard_normal((30, 4))
    correct = np.zeros((12, 30))
    for again in range(12):
        for question in range(30):
            decision = policy.choose(asked[question], scores=scores[question])
            correct[again, question] = decision.index == right[question]
            policy.learn(decision, correct[again, question])
    assert correct[0].mean() < 0.5
    assert correct[-1].mean() > 0.9
    known = [question for question in range(30) if correct[-1, question]]
    many = policy.choose_many(asked[known], scores=scores[known])
    assert [decision.index for decision in many] == right[known].tolist()
    listed = [policy.choose_list(asked[q], 2, scores=scores[q]).indices[0] for q in known]
    assert listed == right[known].tolist()
    loaded = eb.EigenUCB(seed=0)
    loaded.restore(policy.state())
    assert all(loaded.choose(asked[q], scores=scores[q]).index == right[q] for q in known)


def test_with_a_memory_answers_are_forgotten():
    """The right answers change halfway: with a half-life, what was right once does not stay so."""
    rng = np.random.default_rng(10)
    asked, scores, right = rng.standard_normal((20, 3, 8)), rng.standard_normal((20, 3)), rng.integers(3, size=20)
    policy = eb.EigenUCB(memory=100, seed=0)
    correct = np.zeros((40, 20))
    for again in range(40):
        if again == 20:
            right = (right + 1) % 3
        for question in range(20):
            decision = policy.choose(asked[question], scores=scores[question])
            correct[again, question] = decision.index == right[question]
            policy.learn(decision, correct[again, question])
    assert correct[15:20].mean() > 0.7
    assert correct[20].mean() < 0.2
    assert correct[35:].mean() > 0.7


def test_draws_know_what_an_action_has_earned():
    policy = eb.EigenTS(seed=0)
    rng = np.random.default_rng(8)
    asked, scores = rng.standard_normal((10, 3, 6)), rng.standard_normal((10, 3))
    for _ in range(10):
        for question in range(10):
            decision = policy.choose(asked[question], scores=scores[question])
            policy.learn(decision, float(decision.index == 2))
    again = [policy.choose(asked[question], scores=scores[question]).index for question in range(10)]
    assert again.count(2) >= 8


def test_replicas_add_up_what_they_remember():
    rng = np.random.default_rng(9)
    base = eb.EigenUCB(seed=0)
    rows, scores = rng.standard_normal((6, 4)), rng.standard_normal(6)
    base.choose(rows, scores=scores)
    base.learn_many(rows[:3], [1.0, 0.0, 1.0], scores=scores[:3])
    first, second = base.clone(), base.clone()
    first.restore(base.state())
    second.restore(base.state())
    first.learn_many(rows[[0, 3]], [0.0, 1.0], scores=scores[[0, 3]])
    second.learn_many(rows[[0, 3, 4]], [0.0, 0.0, 1.0], scores=scores[[0, 3, 4]])
    first.merge([second], base=base)
    assert isinstance(first.belief, eb.belief.Spectral)
    found = first.belief.repeats
    keys = repeats._digests(first.lift_vectors(rows, scores)[:, :-1]).tolist()
    places = [found._find(key) for key in keys]
    assert places[5] is None
    remembered = [(float(found.counts[place]), float(found.means[place])) for place in places[:5]]
    expected = [(3.0, 1.0 / 3.0), (1.0, 0.0), (1.0, 1.0), (2.0, 0.5), (1.0, 1.0)]
    np.testing.assert_allclose(remembered, expected)


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
