"""Choosing in many decision sets at once, where neither the subspace nor chance plays a part."""

import pytest
from tests.checks.cases import Case
from tests.checks.play import decision_sets, play

import eigenbandits as eb
from eigenbandits.testing.play import assert_close, copy_of

WITHOUT_CHANCE = [Case(eb.OFUL), Case(eb.LinUCB), Case(eb.Greedy), Case(eb.SOFUL), Case(eb.CBSCFD), Case(eb.CBRAP)]


@pytest.mark.parametrize("case", WITHOUT_CHANCE, ids=lambda case: case.name)
def test_where_the_subspace_stands_still_every_choice_is_the_same(case):
    policy = case.make(seed=3)
    play(policy, decision_sets(count=25))
    other = copy_of(policy)
    sets = list(decision_sets(count=12, seed=2))
    for one, two in zip(policy.choose_many(sets), [other.choose(actions) for actions in sets], strict=True):
        assert_close(one, two)
