"""A list is one round, and what it teaches is what its items teach."""

from typing import Any

import numpy as np

from eigenbandits.policy.files import to_bytes
from eigenbandits.testing.check import Make, check
from eigenbandits.testing.many_sets import warm
from eigenbandits.testing.one_way import subspace_of
from eigenbandits.testing.play import as_read, assert_agree, assert_one_sentence, assert_refused, copy_of, decision_sets

SETS = list(decision_sets(count=4, arms=7, seed=2))
BAD_LISTS: list[dict[str, Any]] = [
    *({"count": count} for count in (0, -1, 8, 2.0, True, None)),
    {"allowed": [0, 1]},
    *({"examination": bad} for bad in ("most", [1.0, 0.5], [1.0, 0.5, 0.0], [1.0, 0.5, 1.5], None, [1.0, "a", 1.0])),
    *({"diversity": bad} for bad in (-1.0, np.nan, "high")),
]
BAD_OUTCOMES: list[Any] = [
    *(3, -1, True, 0.5, "first", [1.0], [1.0, 0.0, np.nan], [[1.0, 0.0, 0.0]], ["a", "b", "c"]),
]


@check
def lists_are_one_round(make: Make) -> None:
    """A list holds distinct allowed rows, counts as one round, and the subspace sees its set once."""
    policy = warm(make, 12)
    other = copy_of(policy)
    for actions in SETS:
        ranked = policy.choose_list(actions, 4, allowed=[0, 2, 3, 5, 6])
        other.choose(actions)
        assert len(set(ranked.indices.tolist()) & {0, 2, 3, 5, 6}) == 4
        assert {decision.round for decision in ranked.decisions} == {policy.round} == {other.round}
        for decision in ranked.decisions:
            np.testing.assert_array_equal(decision.action, as_read(policy, actions)[decision.index])
        assert subspace_of(policy) == subspace_of(other)


@check
def diverse_lists_are_sound(make: Make) -> None:
    """A list can hold all actions, and diversity is no part of an item's value."""
    policy = warm(make, 12)
    assert sorted(policy.choose_list(SETS[0], 7).indices) == list(range(7))
    for diversity in (0.5, 1e3):
        ranked = policy.choose_list(SETS[1], 5, diversity=diversity, examination=(0.2, 1.0, 0.5, 0.5, 0.1))
        assert len(set(ranked.indices.tolist())) == 5
        assert np.isfinite([[decision.estimate, decision.upper] for decision in ranked.decisions]).all()
        assert all(np.isfinite(decision.model).all() for decision in ranked.decisions)
        assert all(abs(decision.upper) < 50.0 for decision in ranked.decisions)
        policy.learn(ranked, 2)


@check
def loaded_policies_learn_from_lists(make: Make) -> None:
    """A loaded policy learns from lists that were chosen before it was saved."""
    outcomes: tuple[Any, ...] = (None, 1, 0, [0.0, 1.0, 1.0])
    examinations: tuple[Any, ...] = ("all", "cascade", (1.0, 0.5, 0.25))
    for examination in examinations:
        policy = warm(make, 4)
        waiting = [policy.choose_list(actions, 3, examination=examination) for actions in SETS]
        loaded = copy_of(policy)
        for ranked, outcome in zip(waiting, outcomes, strict=True):
            policy.learn(ranked, outcome)
            loaded.learn(ranked, outcome)
        assert to_bytes(loaded) == to_bytes(policy)


@check
def many_lists_are_one_by_one(make: Make) -> None:
    """Lists teach the same one by one, all at once, and item by item, up to rounding."""
    policy = warm(make, 4)
    waiting = [policy.choose_list(actions, 3, examination="cascade") for actions in SETS]
    batch, items = copy_of(policy), copy_of(policy)
    outcomes: tuple[Any, ...] = (None, 1, 0, [0.0, 0.0, 0.5])
    for ranked, outcome in zip(waiting, outcomes, strict=True):
        policy.learn(ranked, outcome)
    batch.learn_many(waiting, outcomes)
    taught = [(0, 0, 0), (0, 1), (1,), (0, 0, 0.5)]
    for ranked, values in zip(waiting, taught, strict=True):
        for decision, value in zip(ranked.decisions, values, strict=False):
            items.learn(decision, value)
    assert policy.diagnostics().rewards_learned == items.diagnostics().rewards_learned
    assert_agree(policy, batch)
    assert_agree(policy, items)


@check
def bad_lists(make: Make) -> None:
    """Bad options of a list, and bad outcomes, are refused and change nothing."""
    for rounds in (0, 3):
        policy = warm(make, rounds)
        before = to_bytes(policy)
        for bad in BAD_LISTS:
            options = {"count": 3} | bad
            assert_one_sentence(policy.choose_list, SETS[0], **options)
        assert to_bytes(policy) == before
        ranked = policy.choose_list(SETS[0], 3)
        for outcome in BAD_OUTCOMES:
            assert_refused(policy, policy.learn, ranked, outcome)
            both = [None, outcome]
            assert_refused(policy, policy.learn_many, [ranked, ranked], both)
        wrong: list[Any] = [[None, None], None, []]
        for outcomes in wrong:
            assert_refused(policy, policy.learn_many, [ranked], outcomes)
