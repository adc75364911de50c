"""The runner's regret, timing and bookkeeping against rounds that are worked out by hand."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np
import pytest

from eigenbandits.environments import LowRank, Round
from eigenbandits.lab import Trace, run

VALUES = [[1.0, 3.0], [2.0, 0.5], [0.0, 0.0], [4.0, 5.0]]
NOISES = [0.5, -0.25, 1.0, 0.0]


class ByHand:
    """Four rounds of two actions, over and over, whose values and noise are written above."""

    theta = np.array([1.0, 0.0])
    basis = np.eye(2)
    structure = None
    noise = 1.0
    action_bound = None
    theta_bound = 1.0

    def rounds(self) -> Iterator[Round]:
        while True:
            for values, noise in zip(VALUES, NOISES, strict=True):
                yield Round(np.eye(2), np.array(values), noise)


@dataclass(frozen=True)
class Pick:
    index: int


class Fixed:
    """Take the rows of a list, one after the other, and write down what comes back."""

    def __init__(self, rows, pause=0.0):
        self.rows, self.pause = list(rows), pause
        self.learned: list[tuple[int, float]] = []

    def choose(self, actions):
        time.sleep(self.pause)
        return Pick(self.rows[len(self.learned)])

    def learn(self, decision, reward):
        self.learned.append((decision.index, reward))

    def diagnostics(self):
        return {"seen": len(self.learned)}


def test_regret_rewards_and_choices_are_those_worked_out_by_hand():
    policy = Fixed([0, 0, 1, 0, 1])
    trace = run(policy, ByHand(), rounds=5, seed=9)
    np.testing.assert_allclose(trace.regret, [2.0, 2.0, 2.0, 3.0, 3.0])
    np.testing.assert_allclose(trace.rewards, [1.5, 1.75, 1.0, 4.0, 3.5])
    np.testing.assert_array_equal(trace.choices, [0, 0, 1, 0, 1])
    assert policy.learned == [(0, 1.5), (0, 1.75), (1, 1.0), (0, 4.0), (1, 3.5)]
    assert trace.rounds == 5
    assert (trace.policy, trace.environment, trace.seed) == ("Fixed", "ByHand", 9)


def test_summary_is_one_row():
    row = run(Fixed([0, 0, 1, 0]), ByHand(), rounds=4, seed=9).summary()
    assert row["median_microseconds"] > 0.0  # type: ignore[operator]
    del row["median_microseconds"]
    assert row == {
        "policy": "Fixed",
        "environment": "ByHand",
        "seed": 9,
        "rounds": 4,
        "regret": 3.0,
        "mean_reward": 2.0625,
    }


def test_environment_and_its_instance_are_the_same_to_play():
    environment = LowRank(dim=4, rank=2, arms=3)
    rows = [t % 3 for t in range(100)]
    by_environment = run(Fixed(rows), environment, 100, 7)
    by_instance = run(Fixed(rows), environment.instance(7), 100, 7)
    np.testing.assert_array_equal(by_environment.rewards, by_instance.rewards)
    assert by_environment.environment == by_instance.environment == environment.name


def test_every_policy_meets_the_same_noise():
    environment = LowRank(dim=4, rank=2, arms=3)
    offered = list(islice(environment.instance(7).rounds(), 100))
    for row in range(3):
        trace = run(Fixed([row] * 100), environment, 100, 7)
        expected = [o.values[row] + o.noise for o in offered]
        np.testing.assert_array_equal(trace.rewards, expected)
        np.testing.assert_allclose(trace.regret, np.cumsum([o.values.max() - o.values[row] for o in offered]))


def test_diagnostics_are_kept_after_the_rounds_asked_for():
    trace = run(Fixed([0] * 10), ByHand(), rounds=10, diagnose_at=[1, 10])
    assert trace.diagnostics == {1: {"seen": 1}, 10: {"seen": 10}}


@pytest.mark.parametrize("wrong", [0, 11])
def test_diagnostics_outside_the_run_are_refused(wrong):
    policy = Fixed([0] * 10)
    with pytest.raises(ValueError, match=f"diagnose_at holds {wrong}; expected rounds from 1 to 10"):
        run(policy, ByHand(), rounds=10, diagnose_at=[wrong])
    assert policy.learned == []


def test_progress_hears_of_every_round():
    heard: list[int] = []
    run(Fixed([0] * 4), ByHand(), rounds=4, progress=heard.append)
    assert heard == [1, 2, 3, 4]


def test_time_is_that_of_the_policy_alone():
    class Slow(ByHand):
        def rounds(self):
            for offered in super().rounds():
                time.sleep(0.05)
                yield offered

    trace = run(Fixed([0] * 4, pause=0.001), Slow(), rounds=4)
    assert trace.seconds.shape == (4,)
    assert trace.seconds.min() >= 0.001
    assert np.median(trace.seconds) < 0.05


def test_truth_is_revealed_to_whoever_asks_for_it():
    class Knowing(Fixed):
        def reveal(self, instance):
            self.theta = instance.theta

        def choose(self, actions):
            return Pick(int(np.argmax(actions @ self.theta)))

    environment = LowRank(dim=4, rank=2, arms=5)
    assert run(Knowing([]), environment, 50, 1).regret[-1] == 0.0


def test_a_policy_may_carry_its_own_name():
    policy = Fixed([0])
    policy.name = "first arm"  # type: ignore[attr-defined]
    assert run(policy, ByHand(), 1).policy == "first arm"


def test_rows_outside_the_decision_set_are_refused():
    with pytest.raises(IndexError, match="index is -1"):
        run(Fixed([-1]), ByHand(), 1)


@pytest.mark.parametrize("rounds", [0, -3, 2.5])
def test_rounds_must_be_a_whole_number_above_zero(rounds):
    with pytest.raises(ValueError, match="rounds is"):
        run(Fixed([]), ByHand(), rounds)


def test_trace_is_frozen():
    trace = run(Fixed([0]), ByHand(), 1)
    assert isinstance(trace, Trace)
    with pytest.raises(AttributeError):
        trace.seed = 3  # type: ignore[misc]


@pytest.mark.parametrize(
    ("policy", "environment", "sentence"),
    [
        (Trace, LowRank(dim=3, rank=1, arms=2), "policy is the class Trace; expected an object of it"),
        (Fixed([0]), LowRank, "environment is the class LowRank; expected an object of it"),
        (LowRank(dim=3, rank=1, arms=2), Fixed([0]), "The policy comes first"),
        (Fixed([0]), 3, "environment is .*; expected an environment"),
    ],
)
def test_what_is_no_policy_or_no_environment_is_refused_in_one_sentence(policy, environment, sentence):
    with pytest.raises(TypeError, match=sentence):
        run(policy, environment, 1)
