"""Choosing in many decision sets at once is choosing in one after the other, with nothing learned in between."""

import numpy as np

from eigenbandits.policy import Policy
from eigenbandits.policy.files import to_bytes
from eigenbandits.testing.check import Make, check
from eigenbandits.testing.play import (
    as_read,
    assert_close,
    assert_one_sentence,
    assert_same,
    copy_of,
    decision_sets,
    play,
    reward,
)


def warm(make: Make, rounds: int = 25) -> Policy:
    """Return a policy that has played some rounds."""
    policy = make()
    play(policy, decision_sets(count=rounds))
    return policy


@check
def one_set_at_once_is_one_choice(make: Make) -> None:
    """choose_many with one set chooses as choose does, up to rounding."""
    policy = warm(make)
    other = copy_of(policy)
    for actions in decision_sets(count=5, seed=2):
        (one,) = policy.choose_many([actions])
        two = other.choose(actions)
        assert_close(one, two)
        policy.learn(one, reward(one))
        other.learn(two, reward(two))


@check
def many_sets_at_once(make: Make) -> None:
    """choose_many makes a sound decision for each set, in order, whatever their sizes."""
    policy = warm(make)
    sets = [actions for arms in (5, 1, 3, 8) for actions in decision_sets(count=3, arms=arms, seed=arms)]
    first = policy.round
    decisions = policy.choose_many(sets)
    assert [decision.round for decision in decisions] == list(range(first + 1, first + 1 + len(sets)))
    assert policy.round == first + len(sets)
    for decision, actions in zip(decisions, sets, strict=True):
        assert 0 <= decision.index < len(actions)
        np.testing.assert_array_equal(decision.action, as_read(policy, actions)[decision.index])
        assert np.isfinite(decision.model).all()
    values = [reward(decision) for decision in decisions]
    one_by_one = copy_of(policy)
    for decision, value in zip(reversed(decisions), reversed(values), strict=True):
        one_by_one.learn(decision, value)
    policy.learn_many(decisions, values)
    assert policy.diagnostics().rewards_learned == one_by_one.diagnostics().rewards_learned


@check
def blocks_of_sets(make: Make) -> None:
    """choose_many takes one array (n, K, d) too, and no sets at all."""
    policy = warm(make)
    other = copy_of(policy)
    block = np.stack(list(decision_sets(count=4, seed=2)))
    assert_same(policy.choose_many(block), other.choose_many(list(block)))
    before = to_bytes(policy)
    assert policy.choose_many([]) == []
    assert to_bytes(policy) == before


@check
def one_bad_set_spoils_nothing(make: Make) -> None:
    """If one of many sets is bad, the message says which, and nothing changes."""
    good = next(decision_sets())
    for policy in (make(), warm(make)):
        before = to_bytes(policy)
        for bad in ([], np.full((2, 6), np.nan), np.ones((2, 7)), [["a"] * 6]):
            message = assert_one_sentence(policy.choose_many, [good, bad])
            assert message.startswith("decision set 1 "), message
            assert to_bytes(policy) == before
