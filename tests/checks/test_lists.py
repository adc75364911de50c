"""A list is what one choice after the other would give, and what it teaches is what its items do."""

import numpy as np
import pytest
from tests.checks.play import decision_sets, play, reward
from tests.checks.test_learning import assert_agree, whole_sketch
from tests.checks.test_one_way import subspace_of

import eigenbandits as eb
from eigenbandits.files import from_bytes, to_bytes

SETS = list(decision_sets(count=4, arms=7, seed=2))


@pytest.fixture(autouse=True)
def _with_lists(case):
    if case.kind in (eb.Budgeted, eb.Guarded):
        pytest.skip("a policy with a guard or a budget chooses no lists")


def warm(case, count=12, **options):
    policy = case.make(seed=3, **options)
    play(policy, decision_sets(count=count))
    return policy


def test_a_list_is_one_choice_after_the_other(case):
    """Each among the rows that are left, with the same chance; the subspace sees the set once."""
    policy = warm(case)
    other = from_bytes(to_bytes(policy))
    if "uppers" in policy.rule.needs and policy.belief.view(np.zeros((1, policy.centering.lifted_dim))).independent:
        pytest.skip("a posterior's optimism is for the list as a whole: tests/test_lists.py")
    for actions, allowed in zip(SETS, (None, [0, 2, 3, 5, 6], None, [1, 2, 4, 5]), strict=True):
        ranked = policy.choose_list(actions, 4, allowed=allowed)
        left = np.isin(np.arange(7), np.arange(7) if allowed is None else allowed)
        for position, decision in enumerate(ranked.decisions):
            twin = other.choose(actions, position == 0, allowed=left)
            assert decision.index == twin.index
            # A radius that is spent over rounds is a little wider in each.
            close = 1e-2 if case.variant == "anytime" else 1e-6 if case.single else 1e-9
            assert decision.upper == pytest.approx(twin.upper, rel=close)
            assert decision.estimate == pytest.approx(twin.estimate, rel=close)
            assert decision.propensity == twin.propensity
            left[decision.index] = False
        assert subspace_of(policy) == subspace_of(other)
        rewards = [reward(decision) for decision in ranked.decisions]
        policy.learn(ranked, rewards)
        other.learn_many(ranked.decisions, rewards)


def test_a_list_is_one_round_of_the_actions_that_are_allowed(case):
    policy = warm(case)
    other = from_bytes(to_bytes(policy))
    for actions in SETS:
        ranked = policy.choose_list(actions, 4, allowed=[0, 2, 3, 5, 6])
        other.choose(actions)
        assert len(set(ranked.indices.tolist()) & {0, 2, 3, 5, 6}) == 4
        assert {decision.round for decision in ranked.decisions} == {policy.round} == {other.round}
        for decision in ranked.decisions:
            np.testing.assert_array_equal(decision.action, case.read(actions)[decision.index])
        assert subspace_of(policy) == subspace_of(other)


def test_the_whole_set_and_one_action_and_diversity(case):
    policy = warm(case)
    assert sorted(policy.choose_list(SETS[0], 7).indices) == list(range(7))
    for diversity in (0.5, 1e3):
        ranked = policy.choose_list(SETS[1], 5, diversity=diversity, examination=(0.2, 1.0, 0.5, 0.5, 0.1))
        assert len(set(ranked.indices.tolist())) == 5
        assert np.isfinite([[decision.estimate, decision.upper] for decision in ranked.decisions]).all()
        assert all(np.isfinite(decision.model).all() for decision in ranked.decisions)
        # What an item adds to the list is no part of its value.
        assert all(abs(decision.upper) < 50.0 for decision in ranked.decisions)
        policy.learn(ranked, 2)


@pytest.mark.parametrize("examination", ["all", "cascade", (1.0, 0.5, 0.25)])
def test_files_between_a_list_and_its_outcome(case, examination):
    policy = warm(case, 4)
    waiting = [policy.choose_list(actions, 3, examination=examination) for actions in SETS]
    loaded = from_bytes(to_bytes(policy))
    for ranked, outcome in zip(waiting, (None, 1, 0, [0.0, 1.0, 1.0]), strict=True):
        policy.learn(ranked, outcome)
        loaded.learn(ranked, outcome)
    assert to_bytes(loaded) == to_bytes(policy)


def test_many_lists_are_the_same_as_one_by_one(case):
    policy = warm(case, 4, **whole_sketch(case))
    waiting = [policy.choose_list(actions, 3, examination="cascade") for actions in SETS]
    batch, items = from_bytes(to_bytes(policy)), from_bytes(to_bytes(policy))
    outcomes = (None, 1, 0, [0.0, 0.0, 0.5])
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


BAD_LISTS = [
    *({"count": count} for count in (0, -1, 8, 2.0, True, None)),
    {"allowed": [0, 1]},
    *({"examination": bad} for bad in ("most", [1.0, 0.5], [1.0, 0.5, 0.0], [1.0, 0.5, 1.5], None, [1.0, "a", 1.0])),
    *({"diversity": bad} for bad in (-1.0, np.nan, "high")),
]
BAD_OUTCOMES = [3, -1, True, 0.5, "first", [1.0], [1.0, 0.0, np.nan], [[1.0, 0.0, 0.0]], ["a", "b", "c"]]


def refuse(calls):
    for call in calls:
        with pytest.raises(ValueError, match=r"^[a-z].*\.$") as caught:
            call()
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("rounds", [0, 3], ids=["fresh", "in use"])
def test_a_bad_list_is_refused_and_leaves_no_trace(case, rounds):
    policy = warm(case, rounds)
    before = to_bytes(policy)
    refuse(lambda bad=bad: policy.choose_list(SETS[0], **{"count": 3} | bad) for bad in BAD_LISTS)
    assert to_bytes(policy) == before
    ranked = policy.choose_list(SETS[0], 3)
    before = to_bytes(policy)
    refuse(lambda bad=bad: policy.learn(ranked, bad) for bad in BAD_OUTCOMES)
    refuse(lambda bad=bad: policy.learn_many([ranked, ranked], [None, bad]) for bad in BAD_OUTCOMES)
    refuse(lambda bad=bad: policy.learn_many([ranked], bad) for bad in ([None, None], None, []))
    assert to_bytes(policy) == before
