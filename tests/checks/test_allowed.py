"""What is not allowed is never chosen, and teaches the subspace all the same."""

import numpy as np
import pytest
from tests.checks.play import assert_same, decision_sets, play, reward
from tests.checks.test_bad_input import assert_refused
from tests.checks.test_many_sets import assert_close
from tests.checks.test_one_way import subspace_of

from eigenbandits.files import from_bytes, to_bytes

SETS = list(decision_sets(count=6, seed=2))


def warm(case, count=12):
    policy = case.make(seed=3)
    play(policy, decision_sets(count=count))
    return policy


def test_the_rest_is_the_decision_set(case):
    """As if the subspace had been shown all of them, and the choice were among those that are left."""
    policy = warm(case)
    plain = from_bytes(to_bytes(policy))
    for place, actions in enumerate(SETS):
        kept = [[1, 3], [0, 2, 4], [2]][place % 3]
        decision = policy.choose(actions, allowed=kept)
        assert decision.index in kept
        np.testing.assert_array_equal(decision.action, case.read(actions)[decision.index])
        policy.learn(decision, 0.5)
        if case.by_set:
            # What is excluded belongs to the mean that is taken off.
            plain.choose(actions)
            plain.learn(decision, 0.5)
        else:
            plain.observe(actions)
            among = plain.choose(actions[kept], observe=False)
            assert kept[among.index] == decision.index
            assert (among.estimate, among.upper) == (decision.estimate, decision.upper)
            assert among.propensity == decision.propensity
            plain.learn(among, 0.5)
            assert to_bytes(policy) == to_bytes(plain)
        assert subspace_of(policy) == subspace_of(plain)


def test_allowing_everything_changes_nothing(case):
    policy = warm(case)
    plain = from_bytes(to_bytes(policy))
    for actions, everything in zip(SETS, 2 * [np.ones(5, bool), [4, 2, 0, 1, 3], range(5)], strict=True):
        decision = policy.choose(actions, allowed=everything)
        assert_same([decision], [plain.choose(actions)])
        policy.learn(decision, reward(decision))
        plain.learn(decision, reward(decision))


def test_many_sets_with_what_is_allowed_in_each(case):
    policy = warm(case)
    other = from_bytes(to_bytes(policy))
    (one,) = policy.choose_many(SETS[:1], allowed=[[False, True, True, False, True]])
    assert_close(one, other.choose(SETS[0], allowed=[1, 2, 4]))
    masks = np.random.default_rng(0).random((6, 5)) < 0.5
    masks[:, 2] = True
    for decision, actions, mask in zip(policy.choose_many(SETS, allowed=masks), SETS, masks, strict=True):
        assert mask[decision.index]
        np.testing.assert_array_equal(decision.action, case.read(actions)[decision.index])
    free = policy.choose_many(SETS[:2], allowed=[None, [0]])
    assert free[1].index == 0


@pytest.mark.parametrize("rounds", [0, 3], ids=["fresh", "in use"])
def test_a_bad_mask_is_refused_and_leaves_no_trace(case, rounds):
    policy = warm(case, rounds)
    for bad in ([False] * 5, [], [True] * 4, [5], [-1], [1, 1], [0, 1, 1, 0, 0], [0.5], "all", 3, [[True] * 5], [None]):
        assert_refused(policy, lambda bad=bad: policy.choose(SETS[0], allowed=bad))
        assert_refused(policy, lambda bad=bad: policy.choose_many(SETS[:2], allowed=[None, bad]))
    assert_refused(policy, lambda: policy.choose_many(SETS[:2], allowed=[[0]]))
    assert_refused(policy, lambda: policy.choose_many(SETS[:2], allowed=3))
