"""What is not allowed is never chosen, and is observed all the same."""

from typing import Any

import numpy as np

from eigenbandits.policy.files import to_bytes
from eigenbandits.testing.check import Make, check
from eigenbandits.testing.many_sets import warm
from eigenbandits.testing.one_way import subspace_of
from eigenbandits.testing.play import as_read, assert_close, assert_refused, assert_same, copy_of, decision_sets, reward

SETS = list(decision_sets(count=6, seed=2))


@check
def allowed_rows_are_the_decision_set(make: Make) -> None:
    """The choice is as if the set had only the allowed rows, and the subspace had seen all of them."""
    policy = warm(make, 12)
    plain = copy_of(policy)
    for place, actions in enumerate(SETS):
        kept = [[1, 3], [0, 2, 4], [2]][place % 3]
        decision = policy.choose(actions, allowed=kept)
        assert decision.index in kept
        np.testing.assert_array_equal(decision.action, as_read(policy, actions)[decision.index])
        policy.learn(decision, 0.5)
        if policy.rows_depend_on_sets:
            # What is excluded belongs to the mean that is subtracted, or to what scores are relative to.
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


@check
def allowing_everything_changes_nothing(make: Make) -> None:
    """A mask or a list that allows every row changes no choice."""
    policy = warm(make, 12)
    plain = copy_of(policy)
    everything: list[Any] = [np.ones(5, bool), [4, 2, 0, 1, 3], range(5)]
    for actions, rows in zip(SETS, 2 * everything, strict=True):
        decision = policy.choose(actions, allowed=rows)
        assert_same([decision], [plain.choose(actions)])
        policy.learn(decision, reward(decision))
        plain.learn(decision, reward(decision))


@check
def allowed_rows_in_many_sets(make: Make) -> None:
    """choose_many obeys what is allowed in each set."""
    policy = warm(make, 12)
    other = copy_of(policy)
    (one,) = policy.choose_many(SETS[:1], allowed=[[False, True, True, False, True]])
    assert_close(one, other.choose(SETS[0], allowed=[1, 2, 4]))
    masks = np.random.default_rng(0).random((6, 5)) < 0.5
    masks[:, 2] = True
    for decision, actions, mask in zip(policy.choose_many(SETS, allowed=masks), SETS, masks, strict=True):
        assert mask[decision.index]
        np.testing.assert_array_equal(decision.action, as_read(policy, actions)[decision.index])
    free = policy.choose_many(SETS[:2], allowed=[None, [0]])
    assert free[1].index == 0


@check
def bad_masks(make: Make) -> None:
    """A mask that allows nothing, has the wrong length or no truth values is refused and changes nothing."""
    masks: list[Any] = [[False] * 5, [], [True] * 4, [5], [-1], [1, 1], [0, 1, 1, 0, 0], [0.5], "all", 3]
    for rounds in (0, 3):
        policy = warm(make, rounds)
        for bad in [*masks, [[True] * 5], [None]]:
            assert_refused(policy, policy.choose, SETS[0], allowed=bad)
            assert_refused(policy, policy.choose_many, SETS[:2], allowed=[None, bad])
        for wrong in ([[0]], 3):
            assert_refused(policy, policy.choose_many, SETS[:2], allowed=wrong)
