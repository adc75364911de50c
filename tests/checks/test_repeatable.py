"""The same seed gives the same choices; copies and files go on bit for bit."""

import copy
import pickle

import numpy as np
import pytest
from tests.checks.play import assert_same, decision_sets, play, reward

import eigenbandits as eb
from eigenbandits.files import from_bytes, to_bytes


def test_same_seed_same_choices(case):
    first, second = case.make(seed=3), case.make(seed=3)
    assert_same(play(first, decision_sets()), play(second, decision_sets()))
    assert to_bytes(first) == to_bytes(second)


def test_another_seed_makes_other_choices_where_chance_decides(case):
    outcomes = [play(case.make(seed=seed), decision_sets(count=40)) for seed in (0, 1)]
    if outcomes[0][-1].propensity is not None:
        assert [d.index for d in outcomes[0]] != [d.index for d in outcomes[1]]
    elif case.kind is not eb.CBRAP and case.options.get("rule") != "sampled":
        assert_same(*outcomes)


def test_a_clone_has_seen_nothing(case):
    policy = case.make(seed=3)
    decisions = play(policy, decision_sets())
    before = to_bytes(policy)
    clone = policy.clone()
    assert type(clone) is type(policy)
    assert to_bytes(clone) == to_bytes(case.make(seed=3))
    assert_same(play(clone, decision_sets()), decisions)
    assert to_bytes(policy) == before


def test_save_and_load_go_on_bit_for_bit(case, tmp_path):
    policy = case.make(seed=3)
    play(policy, decision_sets(count=15))
    policy.save(tmp_path / "policy")
    loaded = eb.load(tmp_path / "policy")
    assert type(loaded) is type(policy)
    assert repr(loaded) == repr(policy)
    assert to_bytes(loaded) == to_bytes(policy)
    later = list(decision_sets(count=25, seed=2))
    assert_same(play(policy, later), play(loaded, later))
    assert to_bytes(loaded) == to_bytes(policy)


def test_save_and_load_among_late_rewards(case):
    policy = case.make(seed=3)
    waiting = []
    for actions in decision_sets(count=12):
        waiting.append(policy.choose(actions))
        if len(waiting) > 4:
            decision = waiting.pop(0)
            policy.learn(decision, reward(decision))
    loaded = from_bytes(to_bytes(policy))
    # The first thing that the loaded policy does is to learn from decisions that its former self made.
    for decision in reversed(waiting):
        policy.learn(decision, reward(decision))
        loaded.learn(decision, reward(decision))
    later = list(decision_sets(count=12, seed=2))
    assert_same(play(policy, later), play(loaded, later))


def test_save_and_load_between_a_choice_and_its_reward(case):
    policy = case.make(seed=3)
    play(policy, decision_sets(count=5))
    decision = policy.choose(next(decision_sets(seed=2)))
    loaded = from_bytes(to_bytes(policy))
    policy.learn(decision, 0.5)
    loaded.learn(decision, 0.5)
    assert to_bytes(loaded) == to_bytes(policy)


def test_a_fresh_policy_survives_a_file(case):
    policy = case.make(seed=3)
    loaded = from_bytes(to_bytes(policy))
    assert_same(play(policy, decision_sets()), play(loaded, decision_sets()))


def test_many_files_change_nothing(case):
    """A service that is restarted after every round chooses as one that never was."""
    steady, restarted = case.make(seed=3), case.make(seed=3)
    for actions in decision_sets(count=15):
        one, other = steady.choose(actions), restarted.choose(actions)
        assert_same([one], [other])
        restarted = from_bytes(to_bytes(restarted))
        steady.learn(one, reward(one))
        restarted.learn(other, reward(other))
        restarted = from_bytes(to_bytes(restarted))
    assert to_bytes(steady) == to_bytes(restarted)


def test_a_file_holds_everything_at_any_moment(case):
    """What a policy knows of itself, in whatever phase of its refreshes and repairs, a file made just then knows."""
    policy = case.make(seed=3)
    # Rows in pairs, so that the actions of a set are worth less than their number.
    for count, actions in enumerate(decision_sets(count=70, arms=3), 1):
        decision = policy.choose(np.repeat(actions, 2, axis=0))
        policy.learn(decision, reward(decision))
        if count > 40 and count % 3 == 1:
            found, again = policy.diagnostics(), from_bytes(to_bytes(policy)).diagnostics()
            for key, value in found.as_dict().items():
                np.testing.assert_array_equal(value, again.as_dict()[key], err_msg=key)


def test_a_loaded_policy_shares_nothing_with_the_saved_one(case):
    policy = case.make(seed=3)
    play(policy, decision_sets(count=5))
    loaded = policy.clone()
    loaded.restore(policy.state())
    before = to_bytes(policy)
    play(loaded, decision_sets(count=5, seed=2))
    assert to_bytes(policy) == before


@pytest.mark.parametrize("rounds", [0, 1, 20])
def test_diagnostics_change_nothing_and_survive_a_file(case, rounds):
    policy = case.make(seed=3)
    play(policy, decision_sets(count=rounds))
    before = to_bytes(policy)
    loaded = from_bytes(before)
    found = policy.diagnostics()
    assert to_bytes(policy) == before
    again = loaded.diagnostics()
    assert found.as_dict().keys() == again.as_dict().keys()
    for key, value in found.as_dict().items():
        np.testing.assert_array_equal(value, again.as_dict()[key], err_msg=key)
    assert found.rounds == rounds
    assert all(isinstance(warning, str) for warning in found.warnings)
    # A policy that was looked at in every round chooses as one that never was.
    unseen, seen = case.make(seed=3), case.make(seed=3)
    for actions in decision_sets(count=10):
        one, other = unseen.choose(actions), seen.choose(actions)
        seen.diagnostics()
        assert_same([one], [other])
        unseen.learn(one, reward(one))
        seen.learn(other, reward(other))
        seen.diagnostics()


def test_pickle_is_refused_with_a_word_on_what_to_do(case):
    policy = case.make()
    for refused in (lambda: pickle.dumps(policy), lambda: copy.deepcopy(policy)):
        with pytest.raises(TypeError, match=r"^policies are not pickled: use policy\.save"):
            refused()
