"""Choosing in many decision sets at once is choosing in one after the other, with nothing learned in between."""

import numpy as np
import pytest
from tests.checks.cases import Case
from tests.checks.play import assert_same, decision_sets, play, reward

import eigenbandits as eb
from eigenbandits.files import from_bytes, to_bytes


def warm(case):
    policy = case.make(seed=3)
    play(policy, decision_sets(count=25))
    return policy


def assert_close(one, two):
    assert (one.index, one.round) == (two.index, two.round)
    assert one.upper == pytest.approx(two.upper, rel=1e-9, abs=1e-12)
    assert one.estimate == pytest.approx(two.estimate, rel=1e-9, abs=1e-12)
    np.testing.assert_allclose(one.model, two.model, rtol=1e-8, atol=1e-10)


def test_one_set_at_once_is_one_choice(case):
    policy = warm(case)
    other = from_bytes(to_bytes(policy))
    for actions in decision_sets(count=5, seed=2):
        (one,) = policy.choose_many([actions])
        two = other.choose(actions)
        assert_close(one, two)
        policy.learn(one, reward(one))
        other.learn(two, reward(two))


def test_many_sets_at_once(case):
    """The subspace sees all sets first; beyond that nothing differs but the order of chance and of rounding."""
    policy = warm(case)
    sets = [actions for arms in (5, 1, 3, 8) for actions in decision_sets(count=3, arms=arms, seed=arms)]
    first = policy.round
    decisions = policy.choose_many(sets)
    assert [decision.round for decision in decisions] == list(range(first + 1, first + 1 + len(sets)))
    assert policy.round == first + len(sets)
    for decision, actions in zip(decisions, sets, strict=True):
        assert 0 <= decision.index < len(actions)
        np.testing.assert_array_equal(decision.action, case.read(actions)[decision.index])
        assert np.isfinite(decision.model).all()
    values = [reward(decision) for decision in decisions]
    one_by_one = from_bytes(to_bytes(policy))
    for decision, value in zip(reversed(decisions), reversed(values), strict=True):
        one_by_one.learn(decision, value)
    policy.learn_many(decisions, values)
    assert policy.diagnostics().rewards_learned == one_by_one.diagnostics().rewards_learned


WITHOUT_CHANCE = [Case(eb.OFUL), Case(eb.LinUCB), Case(eb.Greedy), Case(eb.SOFUL), Case(eb.CBSCFD), Case(eb.CBRAP)]


@pytest.mark.parametrize("case", WITHOUT_CHANCE, ids=lambda case: case.name)
def test_where_the_subspace_stands_still_every_choice_is_the_same(case):
    policy = warm(case)
    other = from_bytes(to_bytes(policy))
    sets = list(decision_sets(count=12, seed=2))
    for one, two in zip(policy.choose_many(sets), [other.choose(actions) for actions in sets], strict=True):
        assert_close(one, two)


def test_a_block_of_sets_and_none_at_all(case):
    policy = warm(case)
    other = from_bytes(to_bytes(policy))
    block = np.stack(list(decision_sets(count=4, seed=2)))
    assert_same(policy.choose_many(block), other.choose_many(list(block)))
    before = to_bytes(policy)
    assert policy.choose_many([]) == []
    assert to_bytes(policy) == before


def test_one_bad_set_spoils_nothing(case):
    good = next(decision_sets())
    for policy in (case.make(seed=3), warm(case)):
        before = to_bytes(policy)
        for bad in ([], np.full((2, 6), np.nan), np.ones((2, 7)), [["a"] * 6]):
            with pytest.raises(ValueError, match=r"^decision set 1 .*\.$"):
                policy.choose_many([good, bad])
            assert to_bytes(policy) == before
