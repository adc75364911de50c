"""check_policy finds broken promises, names all of them, and skips only with a reason."""

import numpy as np
import pytest

import eigenbandits as eb
from eigenbandits.algorithms.base import Algorithm, Parts
from eigenbandits.testing import BrokenPromisesError, check_policy, checks


class Sound(Algorithm):
    def parts(self) -> Parts:
        return eb.subspace.Whole(), eb.belief.Ambient(0.1), eb.rules.Optimism()


class Forgetful(Sound):
    """Learns from every second reward only."""

    def learn(self, action, reward, *, score=None):
        if self.round % 2:
            super().learn(action, reward, score=score)


class Talkative(Sound):
    """Counts how often it was asked, in its own state."""

    def diagnostics(self):
        self.round += 1
        return super().diagnostics()


class Trusting(Sound):
    """Takes any reward for a number, and what is none for 0."""

    def learn(self, action, reward, *, score=None):
        finite = isinstance(reward, int | float | np.number) and np.isfinite(reward)
        super().learn(action, reward if finite else 0.0, score=score)


class Secretive(Sound):
    """Keeps something that its files do not hold."""

    def __post_init__(self, *words: str) -> None:
        super().__post_init__(*words)
        self.luck = np.random.default_rng()

    def choose(self, actions, observe=True, **options):
        found = super().choose(actions, observe, **options)
        return found if self.luck.random() < 0.5 else super().choose(actions, observe, **options)


def broken(kind) -> str:
    with pytest.raises(BrokenPromisesError) as caught:
        check_policy(lambda dim, seed: kind(seed=seed))
    return str(caught.value)


def test_a_sound_policy_passes_everything():
    names = [check.name for check in checks()]
    assert check_policy(lambda dim, seed: Sound(seed=seed)) == names
    assert len(set(names)) == len(names) > 40
    assert all(check.promise.endswith(".") for check in checks())


@pytest.mark.parametrize(
    ("kind", "promise"),
    [
        (Forgetful, "many_is_one_by_one"),
        (Talkative, "diagnostics_change_nothing"),
        (Trusting, "bad_rewards"),
        (Secretive, "same_seed_same_choices"),
    ],
)
def test_a_broken_promise_is_named(kind, promise):
    message = broken(kind)
    assert f"- {promise}: " in message
    assert f"of {len(checks())} checks failed:" in message


def test_what_is_skipped_needs_a_name_and_a_reason():
    def make(dim, seed):
        return Trusting(seed=seed)

    failing = [line[2:].partition(":")[0] for line in broken(Trusting).splitlines() if line.startswith("- ")]
    passed = check_policy(make, skip=dict.fromkeys(failing, "rewards are clicks, and come as they come"))
    assert set(passed) == {check.name for check in checks()} - set(failing)
    with pytest.raises(ValueError, match="skip names bad_reward; expected some of actions_out_of_reach, "):
        check_policy(make, skip={"bad_reward": "a typing error"})
    with pytest.raises(ValueError, match="skip has no reason for bad_rewards; say why"):
        check_policy(make, skip={"bad_rewards": ""})


@pytest.mark.parametrize(
    ("factory", "said"),
    [(lambda seed: Sound(seed=seed), "unexpected keyword argument 'dim'"), (lambda dim, seed: [], "returned a list")],
)
def test_a_factory_that_makes_no_policy_is_one_error_and_not_fifty(factory, said):
    with pytest.raises(ValueError, match=rf"^factory\(dim=6, seed=3\) raised .*{said}.*; expected a function of dim"):
        check_policy(factory)
