"""The Open Bandit Pipeline's arrays: as its datasets return them, both ways."""

import numpy as np
import pytest

from eigenbandits.offpolicy import Log, estimate, from_obp, to_obp


def feedback(**change):
    rng = np.random.default_rng(0)
    return {
        "n_rounds": 6,
        "n_actions": 3,
        "context": rng.standard_normal((6, 2)),
        "action_context": rng.standard_normal((3, 2)),
        "action": np.array([0, 1, 2, 2, 1, 0]),
        "position": None,
        "reward": np.array([1, 0, 0, 1, 1, 0]),
        "expected_reward": None,
        "pscore": np.array([0.5, 0.2, 0.3, 0.3, 0.2, 0.5]),
    } | change


def test_vectors_are_products_of_both_contexts():
    given = feedback()
    log = from_obp(given)
    assert log.shape == (6, 3, 6)
    for event in range(6):
        for row in range(3):
            c, a = given["context"][event], given["action_context"][row]
            expected = [c[0] * a[0], c[0] * a[1], c[1] * a[0], c[1] * a[1], a[0], a[1]]
            np.testing.assert_array_equal(log.decision_set(event)[row], expected)
    assert log.chosen.tolist() == [0, 1, 2, 2, 1, 0]
    assert log.earned.tolist() == [1.0, 0.0, 0.0, 1.0, 1.0, 0.0]
    assert log.probabilities.tolist() == [0.5, 0.2, 0.3, 0.3, 0.2, 0.5]


def test_without_contexts_each_action_is_a_direction():
    log = from_obp(feedback(context=None, action_context=None))
    np.testing.assert_array_equal(log.decision_set(3), np.hstack([np.eye(3), np.eye(3)]))


def test_vectors_may_be_made_by_the_user():
    log = from_obp(feedback(), lambda context, actions: context * actions)
    given = feedback()
    np.testing.assert_array_equal(log.decision_set(4)[2], given["context"][4] * given["action_context"][2])


def test_sets_are_made_when_they_are_asked_for():
    asked = []

    def vectors(context, actions):
        asked.append(context)
        return actions

    log = from_obp(feedback(), vectors)
    before = len(asked)
    assert before <= 2
    log.decision_set(5)
    assert len(asked) == before + 1


def test_estimates_from_it_are_those_of_the_pipeline():
    """IPW by its formula, Σ r π(a|x)/pscore over n, and its self-normalized form."""
    given = feedback()
    wanted = np.array([0.1, 0.6, 0.3])
    weights = wanted[given["action"]] / given["pscore"]
    log = from_obp(given)
    assert estimate(log, lambda actions: wanted, "ips").value == pytest.approx(np.mean(weights * given["reward"]))
    found = estimate(log, lambda actions: wanted, "snips").value
    assert found == pytest.approx(np.sum(weights * given["reward"]) / np.sum(weights))


def test_a_log_comes_back_bit_for_bit():
    rng = np.random.default_rng(1)
    log = Log(rng.standard_normal((5, 3, 4)), [0, 1, 2, 0, 1], rng.standard_normal(5), np.full(5, 0.4))
    given = to_obp(log)
    assert (given["n_rounds"], given["n_actions"], given["context"].shape) == (5, 3, (5, 12))
    back = from_obp(given)
    for event in range(5):
        np.testing.assert_array_equal(back.decision_set(event), log.decision_set(event))
    np.testing.assert_array_equal(back.chosen, log.chosen)
    np.testing.assert_array_equal(back.earned, log.earned)
    np.testing.assert_array_equal(back.probabilities, log.probabilities)


def test_what_does_not_fit_is_refused_in_one_sentence():
    with pytest.raises(ValueError, match="the feedback has no entry 'pscore'; expected the dictionary"):
        from_obp(feedback(pscore=None))
    with pytest.raises(ValueError, match=r"context has shape \(5, 2\) and action_context \(3, 2\); expected \(6, p\)"):
        from_obp(feedback(context=np.ones((5, 2))))
    ragged = Log([np.ones((2, 3)), np.ones((3, 3))], [0, 0], [1.0, 1.0])
    with pytest.raises(ValueError, match="the events offer from 2 to 3 actions"):
        to_obp(ragged)
