"""Bad input gets one clear sentence and leaves the policy as it was, to the last bit."""

from typing import Any

import numpy as np

from eigenbandits.algorithms import OFUL
from eigenbandits.inputs import Array
from eigenbandits.testing.check import Make, check
from eigenbandits.testing.many_sets import warm
from eigenbandits.testing.play import assert_refused, decision_sets, play

DIM = 6
GOOD = np.arange(24.0).reshape(4, DIM)


def spoiled(value: float) -> Array:
    """Return a decision set with one bad number."""
    actions = GOOD.copy()
    actions[2, 3] = value
    return actions


BAD_SETS: dict[str, Any] = {
    "empty list": [],
    "no rows": np.zeros((0, DIM)),
    "no columns": np.zeros((3, 0)),
    "one axis": np.ones(DIM),
    "three axes": np.ones((2, 3, DIM)),
    "a number": 3.0,
    "None": None,
    "NaN": spoiled(np.nan),
    "infinity": spoiled(np.inf),
    "both infinities": np.array([[np.inf, -np.inf, 0.0, 0, 0, 0]]),
    "objects": np.full((2, DIM), object()),
    "a column of lists with a hole": np.array([[1.0] * DIM, None], dtype=object),
    "a list with a masked row": [np.ma.masked_array([1.0] * DIM, [True] + [False] * (DIM - 1))],
    "strings": GOOD.astype(str),
    "ragged": [[1.0] * DIM, [1.0] * (DIM - 1)],
    "a hole": [[1.0, None, 0, 0, 0, 0]],
    "complex": GOOD + 1j,
    "dates": np.zeros((2, DIM), dtype="datetime64[s]"),
    "a mapping": {"a": 1.0},
    "beyond every float": [[10**400] * DIM],
}
BAD_REWARDS: dict[str, Any] = {
    "NaN": np.nan,
    "infinity": np.inf,
    "minus infinity": -np.inf,
    "None": None,
    "a word": "much",
    "a number in words": "0.5",
    "bytes": b"1",
    "a list": [0.5],
    "an array": np.array([0.5, 0.5]),
    "an array of one": np.array([0.5]),
    "complex": 1j,
    "beyond every float": 10**400,
}


@check
def bad_decision_sets(make: Make) -> None:
    """What is no matrix of finite numbers is refused and changes nothing."""
    for rounds in (0, 3):
        policy = warm(make, rounds)
        for name, bad in BAD_SETS.items():
            assert_refused(policy, policy.choose, bad)
            assert_refused(policy, policy.observe, bad)
            assert_refused(policy, policy.learn_many, bad, [0.5])
            if name != "one axis":
                assert_refused(policy, policy.learn, bad, 0.5)


@check
def vectors_of_another_length(make: Make) -> None:
    """Once the length of the actions is known, vectors of another length are refused and change nothing."""
    policy = warm(make, 3)
    wrong = np.ones((2, DIM + 1))
    assert_refused(policy, policy.choose, wrong)
    assert_refused(policy, policy.observe, wrong)
    assert_refused(policy, policy.learn, wrong[0], 0.5)
    assert_refused(policy, policy.learn_many, wrong, [0.5, 0.5])


@check
def bad_rewards(make: Make) -> None:
    """A reward that is not a finite number is refused and changes nothing."""
    policy = warm(make, 3)
    decision = policy.choose(GOOD)
    for bad in BAD_REWARDS.values():
        assert_refused(policy, policy.learn, decision, bad)
        assert_refused(policy, policy.learn_many, [decision], [bad])
    batches: list[Any] = [[], [0.5, 0.5], [[0.5]], 0.5, None, [None]]
    for batch in batches:
        assert_refused(policy, policy.learn_many, [decision], batch)
    mixed: Any = [decision, decision.action]
    assert_refused(policy, policy.learn_many, mixed, [0.5, 0.5])


@check
def decisions_of_another_policy(make: Make) -> None:
    """A decision of another policy teaches what its vector does; if sets are centered, it is refused."""
    foreign = OFUL(noise=0.1).choose(GOOD)
    policy = make()
    if policy.centering.by_set:
        assert_refused(policy, policy.learn, foreign, 0.5)
        assert_refused(policy, policy.learn_many, [foreign], [0.5])
    else:
        policy.learn(foreign, 0.5)
        assert policy.diagnostics().rewards_learned == 1
    narrow = OFUL(noise=0.1, center="set").choose(np.ones((2, DIM - 1)))
    play(policy, decision_sets(count=1))
    assert_refused(policy, policy.learn, narrow, 0.5)
