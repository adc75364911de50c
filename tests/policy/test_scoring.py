"""Starting from scores: the scorer's choice first, the same in any unit, and more than the scorer in the end."""

import dataclasses

import numpy as np
import pytest

import eigenbandits as eb
from eigenbandits.policy.files import from_bytes, to_bytes
from eigenbandits.policy.scoring import Scoring

DIM = 6


def sets(count, arms=5, dim=DIM, seed=0):
    return np.random.default_rng(seed).standard_normal((count, arms, dim))


def play(policy, actions, scores, rewards):
    """Play rounds with rewards (n, K) of every action, and return the rows chosen."""
    chosen = []
    for offered, ranks, row in zip(actions, scores, rewards, strict=True):
        decision = policy.choose(offered, scores=ranks)
        policy.learn(decision, row[decision.index])
        chosen.append(decision.index)
    return np.array(chosen)


@pytest.mark.parametrize("options", [{}, {"center": "none"}, {"center": "set"}, {"center": "differences"}])
def test_without_rewards_the_scorer_decides(options):
    # Scores that differ by more than a hundredth of their spread, which is what exploring may cost at any time.
    actions, scores = sets(30), np.random.default_rng(1).permuted(np.tile(np.arange(5.0), (30, 1)), axis=1)
    policy = eb.EigenUCB(seed=0, **options)
    chosen = [policy.choose(offered, scores=ranks).index for offered, ranks in zip(actions, scores, strict=True)]
    assert chosen == scores.argmax(axis=1).tolist()


def test_scores_are_relative_to_the_best_of_the_others_in_their_set():
    policy = eb.EigenUCB(seed=0)
    policy.choose(sets(1)[0], scores=[1.0, 0.0, 2.0, 1.0, 3.0])
    unit = np.std([1.0, 0.0, 2.0, 1.0, 3.0])

    def column(scores):
        return policy.lift(sets(1)[0][: len(scores)], np.array(scores))[0][:, -1] * unit / policy.scoring.size

    np.testing.assert_allclose(column([5.0, 9.0, 2.0]), [-4.0, 4.0, -7.0])
    np.testing.assert_allclose(column([5.0, 5.0]), [0.0, 0.0])
    # Alone it is relative to the second best of the first set, 2.
    np.testing.assert_allclose(column([5.0]), [3.0])
    lifted = policy.lift_vectors(np.ones((1, DIM)), [5.0])
    assert lifted[0, -1] * unit / policy.scoring.size == pytest.approx(3.0)


def test_refuted_actions_are_no_rivals():
    scoring = Scoring()
    scores = np.array([5.0, 9.0, 2.0, 7.0])
    scoring.start(scores, size=1.0, offered=True)

    def column(*refuted):
        return scoring.append_set(np.zeros((4, 1)), scores, False, np.array(refuted, int))[:, -1] * scoring.unit

    np.testing.assert_allclose(column(1), [-2.0, 2.0, -5.0, 2.0])
    np.testing.assert_allclose(column(1, 3), [3.0, 4.0, -3.0, 2.0])
    # A last one that is left still has a rival, the best of those refuted.
    np.testing.assert_allclose(column(0, 1, 3), column())


def test_the_second_rank_is_worth_more_once_the_first_is_refuted():
    """One answer of six is right, and each question is asked four times, by increasing rank.

    How often each rank is right, among the questions that have come so far, is counted; the features know nothing.
    """
    rng, policy = np.random.default_rng(0), eb.EigenUCB(seed=0)
    asked, scores = sets(400, arms=6), rng.standard_normal((400, 6))
    right = (scores + 0.7 * rng.standard_normal(scores.shape)).argmax(axis=1)
    estimated, earned = [], []
    for again in range(4):
        for place in rng.permutation(400):
            decision = policy.choose(asked[place], scores=scores[place])
            policy.learn(decision, float(decision.index == right[place]))
            if again and decision.index == np.argsort(-scores[place])[1]:
                estimated.append(decision.estimate)
                earned.append(float(decision.index == right[place]))
    second = np.array(estimated) < 0.9  # not learned yet
    assert second.sum() > 60
    assert np.mean(np.array(estimated)[second]) == pytest.approx(np.mean(np.array(earned)[second]), abs=0.15)


@pytest.mark.parametrize("options", [{}, {"memory": "auto"}])
def test_a_decision_rebuilt_from_its_vector_and_its_forecast_teaches_the_same(options):
    rng, policy = np.random.default_rng(4), eb.EigenUCB(seed=0, **options)
    asked, scores = sets(20), rng.standard_normal((20, 5))
    for place in np.tile(np.arange(20), 6):
        decision = policy.choose(asked[place], scores=scores[place])
        policy.learn(decision, float(decision.index == 0))
    other = from_bytes(to_bytes(policy))
    one = policy.choose(asked[3], scores=scores[3])
    other.choose(asked[3], scores=scores[3])
    row = policy.lift_vectors(one.action[None], scores[3][[one.index]])[0]
    assert one.lifted is not None
    assert row[-1] != one.lifted[-1]
    row.flags.writeable = False
    policy.learn(one, 1.0)
    other.learn(dataclasses.replace(one, lifted=row), 1.0)
    if not options:
        assert to_bytes(other) == to_bytes(policy)
    assert other.belief.refuted(row[None, :-1]) is None


def test_the_fall_from_the_first_rank_is_learned_from_first_ranks_alone():
    """One answer of eight is right, the one with the highest score plus noise.

    The features know nothing, so the model has only the scores. It must not think the second rank nearer than it is, as
    it would by the slope of the scores of first ranks, which gives 0.3 to 0.4 of the fall.
    """
    rng, policy = np.random.default_rng(0), eb.EigenUCB(seed=0)
    scores = rng.standard_normal((800, 8))
    right = (scores + 0.7 * rng.standard_normal(scores.shape)).argmax(axis=1)
    ranked = np.argsort(-scores, axis=1)
    for actions, ranks, best in zip(sets(800, arms=8), scores, right, strict=True):
        decision = policy.choose(actions, scores=ranks)
        policy.learn(decision, float(decision.index == best))
    estimated, earned = [], []
    for actions, ranks, order, best in zip(sets(800, arms=8, seed=2)[:400], scores[:400], ranked, right, strict=False):
        rows = policy.lift(actions, ranks)[0]
        values = policy.belief.linear(rows).estimates()
        estimated.append(values[order[0]] - values[order[1]])
        earned.append(float(order[0] == best) - float(order[1] == best))
    assert np.mean(earned) < np.mean(estimated) < 2.0 * np.mean(earned)


def test_other_units_of_the_scores_change_no_choice():
    actions, scores = sets(150), sets(150, seed=1)[:, :, 0]
    rewards = scores + actions @ np.linspace(-1, 1, DIM)
    plain = play(eb.EigenUCB(seed=0), actions, scores, rewards)
    assert (plain != scores.argmax(axis=1)).any()
    for times, plus in ((1e8, 0.0), (1e-8, 0.0), (2.0, 1e3)):
        np.testing.assert_array_equal(play(eb.EigenUCB(seed=0), actions, times * scores + plus, rewards), plain)


def test_a_prior_gives_the_scores_that_it_says():
    actions, theta = sets(20), np.linspace(-1, 1, DIM)
    rewards = actions[:, :, 0]
    by_scores = play(eb.EigenUCB(seed=0), actions, actions @ theta, rewards)
    none = [None] * len(actions)
    for prior in (theta, theta.tolist(), lambda offered: offered @ theta):
        np.testing.assert_array_equal(play(eb.EigenUCB(prior=prior, seed=0), actions, none, rewards), by_scores)
    by_sum = play(eb.EigenUCB(seed=0), actions, actions.sum(axis=2), rewards)
    np.testing.assert_array_equal(play(eb.EigenUCB(prior=1.0, seed=0), actions, none, rewards), by_sum)


def test_ahead_of_a_good_score_and_hardly_ever_behind():
    """The score knows a part of θ: better than it in the end, no window of 100 far below, better than without it."""
    rng = np.random.default_rng(0)
    theta = rng.standard_normal(20)
    known = theta + 0.7 * rng.standard_normal(20)
    actions = sets(1000, arms=10, dim=20)
    values = actions @ theta / np.linalg.norm(theta)
    rewards = values + 0.5 * rng.standard_normal(values.shape)
    scores = actions @ known
    rounds = np.arange(1000)
    ours = values[rounds, play(eb.EigenUCB(seed=0), actions, scores, rewards)]
    scorer = values[rounds, scores.argmax(axis=1)]
    alone = values[rounds, play(eb.EigenUCB(seed=0), actions, [None] * 1000, rewards)]
    windows = (ours - scorer).reshape(10, 100).mean(axis=1)
    assert windows.min() > -0.05
    assert windows[3:].min() > 0.1
    assert ours[:100].mean() > alone[:100].mean()


def test_a_score_that_misleads_is_left():
    rng = np.random.default_rng(0)
    theta, actions = rng.standard_normal(8), sets(600, arms=6, dim=8)
    values = actions @ theta / np.linalg.norm(theta)
    chosen = play(eb.EigenUCB(seed=0), actions, -values, values + 0.3 * rng.standard_normal(values.shape))
    late = values[np.arange(300, 600), chosen[300:]]
    assert late.mean() > 0.95 * values[300:].max(axis=1).mean()


def test_equal_scores_leave_the_choice_to_the_rewards():
    """A rule that prefers five of ten fixed actions: the best of the five is found.

    Which of the five comes first is a tie that rounding breaks, and an allowance paces the trials: it takes 100 to 500
    rounds, depending on the noise.
    """
    rng, policy = np.random.default_rng(0), eb.EigenUCB(seed=0)
    means, chosen = np.linspace(0.1, 1.0, 10)[::-1], []
    means[:5] = [0.3, 0.5, 0.9, 0.4, 0.6]
    for _ in range(1000):
        decision = policy.choose(np.eye(10), scores=[1.0] * 5 + [0.0] * 5)
        policy.learn(decision, means[decision.index] + 0.2 * rng.standard_normal())
        chosen.append(decision.index)
    assert max(chosen[:50]) < 5
    assert chosen[-100:].count(2) > 90


def test_a_trial_is_paid_for_by_the_choices_after_it():
    """The optimist wants the second action, which is 4 allowances worse than the best: every fourth choice."""

    class Fixed(eb.belief.View):
        allowance = 0.125

        def estimates(self):
            return np.array([1.0, 0.5])

        def uppers(self):
            return np.array([1.1, 2.0])

        def believer(self):
            return lambda: np.zeros(1)

        def optimist(self, index):
            return self.believer()

        def part(self, rows):
            return self

    rule, rng = eb.rules.Optimism(), np.random.default_rng(0)
    chosen = [rule.choose(Fixed(), 2, rng).index for _ in range(110)]
    assert np.flatnonzero(chosen).tolist() == [99, 103, 107]


def test_vectors_teach_with_their_scores():
    policy = eb.EigenUCB(seed=0)
    policy.choose(sets(1)[0], scores=[1.0, 0.0, 2.0, 1.0, 3.0])
    one, many = from_bytes(to_bytes(policy)), from_bytes(to_bytes(policy))
    actions, scores = sets(8)[:, 0], np.arange(8.0)
    many.learn_many(actions, np.sin(scores), scores=scores)
    for vector, score in zip(actions, scores, strict=True):
        one.learn(vector, float(np.sin(score)), score=score)
    ours, theirs = (made.choose(sets(1)[0], scores=np.arange(5.0)) for made in (one, many))
    assert ours.index == theirs.index
    assert ours.estimate == pytest.approx(theirs.estimate)


def test_many_sets_at_once_choose_as_one_by_one():
    actions, scores = sets(40), sets(40, seed=1)[:, :, 0]
    policy = eb.EigenUCB(seed=0)
    play(policy, actions[:30], scores[:30], actions[:30, :, 0])
    other = from_bytes(to_bytes(policy))
    for offered in actions[30:]:
        other.observe(offered)
    one_by_one = [
        other.choose(*each[:1], scores=each[1], observe=False) for each in zip(actions[30:], scores[30:], strict=True)
    ]
    at_once = policy.choose_many(actions[30:], scores=scores[30:])
    assert [decision.index for decision in at_once] == [decision.index for decision in one_by_one]


def test_what_was_observed_before_the_first_score_counts():
    policy = eb.EigenUCB(seed=0)
    policy.observe(sets(1, arms=50)[0])
    decision = policy.choose(sets(1)[0], scores=[0.0, 1.0, 0.0, 0.0, 0.0])
    assert decision.index == 1
    policy.learn(decision, 1.0)
    assert policy.diagnostics().vectors_seen == 55


@pytest.mark.parametrize("kind", [eb.OFUL, eb.LinTS])
def test_ridge_beliefs_take_the_score_for_one_more_number(kind):
    """A policy on actions with the score appended, of the size of an action, is the same."""
    actions, scores = sets(30), sets(30, seed=1)[:, :, 0]
    size = np.sqrt((actions[0] ** 2).sum() / 5)
    column = scores / scores[0].std() * size
    ours = play(kind(noise=0.1, seed=0), actions, scores, actions[:, :, 0])
    joined = np.concatenate([actions, column[:, :, None]], axis=2)
    theirs = play(kind(noise=0.1, seed=0), joined, [None] * 30, actions[:, :, 0])
    np.testing.assert_array_equal(ours, theirs)


BAD = {
    "too few": ([1.0, 2.0], r"scores has shape \(2,\); expected \(5,\), one for each action"),
    "NaN": ([np.nan] * 5, "scores"),
    "words": (list("abcde"), "scores"),
    "missing": (None, "scores is missing; expected one for each action"),
}


@pytest.mark.parametrize(("scores", "message"), BAD.values(), ids=BAD)
def test_bad_scores_leave_no_trace(scores, message):
    policy = eb.EigenUCB(seed=0)
    play(policy, sets(3), sets(3)[:, :, 0], sets(3)[:, :, 1])
    before = to_bytes(policy)
    with pytest.raises(ValueError, match=message):
        policy.choose(sets(1)[0], scores=scores)
    with pytest.raises(ValueError, match="scores"):
        policy.choose_many(sets(2), scores=None if scores is None else [scores, scores])
    with pytest.raises(ValueError, match="scores"):
        policy.learn(np.ones(DIM), 1.0)
    assert to_bytes(policy) == before


def test_scores_come_from_the_start_from_one_source_and_to_those_who_take_them():
    policy = eb.EigenUCB(seed=0)
    policy.choose(sets(1)[0])
    with pytest.raises(ValueError, match="expected them from the first call on"):
        policy.choose(sets(1)[0], scores=np.arange(5.0))
    with pytest.raises(ValueError, match="expected only one of them"):
        eb.EigenUCB(prior=1.0).choose(sets(1)[0], scores=np.arange(5.0))
    with pytest.raises(ValueError, match="prior has length 2; expected 6"):
        eb.EigenUCB(prior=[1.0, 2.0]).choose(sets(1)[0])
    with pytest.raises(ValueError, match=r"prior\(actions\) has shape \(1,\); expected \(5,\)"):
        eb.EigenUCB(prior=lambda actions: [1.0]).choose(sets(1)[0])
    with pytest.raises(ValueError, match="Screened does not take scores"):
        eb.EigenUCB(prior=1.0, certified=True, noise=0.1, theta_bound=1.0)
    fresh = eb.PSLB(noise=0.1)
    before = to_bytes(fresh)
    with pytest.raises(ValueError, match="does not take scores; append them to the actions"):
        fresh.choose(sets(1)[0], scores=np.arange(5.0))
    assert to_bytes(fresh) == before
    with pytest.raises(ValueError, match="expected them for all, or for none"):
        eb.EigenUCB().choose_many(sets(2), scores=[np.arange(5.0), None])  # type: ignore[list-item]


def test_a_function_is_not_saved():
    with pytest.raises(TypeError, match="a parameter of type function cannot be saved"):
        to_bytes(eb.EigenUCB(prior=lambda actions: actions[:, 0]))
