"""The same seed gives the same choices; copies and files continue bit for bit."""

import copy
import pickle
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from eigenbandits.policy import Diagnostics
from eigenbandits.policy.files import load, to_bytes
from eigenbandits.testing.check import Make, check
from eigenbandits.testing.play import assert_same, copy_of, decision_sets, play, reward


def assert_same_diagnostics(found: Diagnostics, again: Diagnostics) -> None:
    """Compare what two policies report, to the last bit."""
    assert found.as_dict().keys() == again.as_dict().keys()
    for key, value in found.as_dict().items():
        np.testing.assert_array_equal(value, again.as_dict()[key], err_msg=key)


@check
def same_seed_same_choices(make: Make) -> None:
    """Two policies with the same seed choose the same."""
    first, second = make(), make()
    assert_same(play(first, decision_sets()), play(second, decision_sets()))
    assert to_bytes(first) == to_bytes(second)


@check
def clones_have_seen_nothing(make: Make) -> None:
    """A clone has the same parameters and chooses as the policy did from its start."""
    policy = make()
    decisions = play(policy, decision_sets())
    before = to_bytes(policy)
    clone = policy.clone()
    assert type(clone) is type(policy)
    assert to_bytes(clone) == to_bytes(make())
    assert_same(play(clone, decision_sets()), decisions)
    assert to_bytes(policy) == before


@check
def loaded_policies_go_on(make: Make) -> None:
    """A policy that was saved and loaded continues bit for bit."""
    for rounds in (0, 15):
        policy = make()
        play(policy, decision_sets(count=rounds))
        with TemporaryDirectory() as folder:
            policy.save(Path(folder) / "policy.eb")
            loaded = load(Path(folder) / "policy.eb")
        assert type(loaded) is type(policy)
        assert repr(loaded) == repr(policy)
        assert to_bytes(loaded) == to_bytes(policy)
        later = list(decision_sets(count=25, seed=2))
        assert_same(play(policy, later), play(loaded, later))
        assert to_bytes(loaded) == to_bytes(policy)


@check
def loaded_policies_learn_late_rewards(make: Make) -> None:
    """A loaded policy learns from decisions that were made before it was saved."""
    policy, waiting = make(), []
    for actions in decision_sets(count=12):
        waiting.append(policy.choose(actions))
        if len(waiting) > 4:
            decision = waiting.pop(0)
            policy.learn(decision, reward(decision))
    loaded = copy_of(policy)
    for decision in reversed(waiting):
        policy.learn(decision, reward(decision))
        loaded.learn(decision, reward(decision))
    assert to_bytes(loaded) == to_bytes(policy)
    later = list(decision_sets(count=12, seed=2))
    assert_same(play(policy, later), play(loaded, later))


@check
def restarts_change_nothing(make: Make) -> None:
    """A policy that is saved and loaded after every step chooses as one that never was."""
    steady, restarted = make(), make()
    for actions in decision_sets(count=15):
        one, other = steady.choose(actions), restarted.choose(actions)
        assert_same([one], [other])
        restarted = copy_of(restarted)
        steady.learn(one, reward(one))
        restarted.learn(other, reward(other))
        restarted = copy_of(restarted)
    assert to_bytes(steady) == to_bytes(restarted)


@check
def files_hold_everything(make: Make) -> None:
    """What a policy reports about itself, at any time, the loaded one reports too."""
    policy = make()
    # Rows in pairs, so that the actions of a set are worth less than their number.
    for count, actions in enumerate(decision_sets(count=70, arms=3), 1):
        decision = policy.choose(np.repeat(actions, 2, axis=0))
        policy.learn(decision, reward(decision))
        if count > 40 and count % 3 == 1:
            assert_same_diagnostics(policy.diagnostics(), copy_of(policy).diagnostics())


@check
def restored_policies_share_nothing(make: Make) -> None:
    """A policy restored from the state of another does not change it."""
    policy = make()
    play(policy, decision_sets(count=5))
    restored = policy.clone()
    restored.restore(policy.state())
    before = to_bytes(policy)
    play(restored, decision_sets(count=5, seed=2))
    assert to_bytes(policy) == before


@check
def diagnostics_change_nothing(make: Make) -> None:
    """Reading the diagnostics in every round changes no choice."""
    for rounds in (0, 1, 20):
        policy = make()
        play(policy, decision_sets(count=rounds))
        before = to_bytes(policy)
        found = policy.diagnostics()
        assert to_bytes(policy) == before
        assert_same_diagnostics(found, copy_of(policy).diagnostics())
        assert found.rounds == rounds
        assert all(isinstance(warning, str) for warning in found.warnings)
    unseen, seen = make(), make()
    for actions in decision_sets(count=10):
        one, other = unseen.choose(actions), seen.choose(actions)
        seen.diagnostics()
        assert_same([one], [other])
        unseen.learn(one, reward(one))
        seen.learn(other, reward(other))
        seen.diagnostics()


@check
def pickle_is_refused(make: Make) -> None:
    """Pickling and deep copies are refused with a sentence that says what to do."""
    policy = make()
    attempts: list[Callable[[], object]] = [lambda: pickle.dumps(policy), lambda: copy.deepcopy(policy)]
    for attempt in attempts:
        try:
            attempt()
        except TypeError as error:
            assert str(error).startswith("policies are not pickled: use policy.save"), str(error)
        else:
            raise AssertionError("the policy was pickled")
