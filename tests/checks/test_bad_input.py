"""Bad input gets one clear sentence and leaves the policy as it was, to the last bit."""

import numpy as np
import pytest
from tests.checks.play import decision_sets, play

import eigenbandits as eb
from eigenbandits.files import to_bytes

DIM = 6
GOOD = np.arange(24.0).reshape(4, DIM)


def spoilt(value):
    actions = GOOD.copy()
    actions[2, 3] = value
    return actions


BAD_SETS = {
    "empty list": [],
    "no rows": np.zeros((0, DIM)),
    "no columns": np.zeros((3, 0)),
    "one axis": np.ones(DIM),
    "three axes": np.ones((2, 3, DIM)),
    "a number": 3.0,
    "None": None,
    "NaN": spoilt(np.nan),
    "infinity": spoilt(np.inf),
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
BAD_REWARDS = {
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


def assert_refused(policy, action):
    """Check that an action raises one sentence and changes nothing."""
    before = to_bytes(policy)
    with pytest.raises(ValueError, match=r"^[a-z].*\.$") as caught:
        action()
    assert "\n" not in str(caught.value)
    assert to_bytes(policy) == before


@pytest.fixture(params=[0, 3], ids=["fresh", "in use"])
def policy(case, request):
    made = case.make(dim=DIM, seed=3)
    play(made, decision_sets(dim=DIM, count=request.param))
    return made


@pytest.mark.filterwarnings("error")
def test_bad_decision_sets(policy):
    for bad in BAD_SETS.values():
        assert_refused(policy, lambda bad=bad: policy.choose(bad))
        assert_refused(policy, lambda bad=bad: policy.observe(bad))
        if bad is not BAD_SETS["one axis"]:
            assert_refused(policy, lambda bad=bad: policy.learn(bad, 0.5))
        assert_refused(policy, lambda bad=bad: policy.learn_many(bad, [0.5]))


def test_vectors_of_another_length(case):
    policy = case.make(dim=DIM, seed=3)
    play(policy, decision_sets(dim=DIM, count=3))
    wrong = np.ones((2, DIM + 1))
    for action in (
        lambda: policy.choose(wrong),
        lambda: policy.observe(wrong),
        lambda: policy.learn(wrong[0], 0.5),
        lambda: policy.learn_many(wrong, [0.5, 0.5]),
    ):
        assert_refused(policy, action)


@pytest.mark.filterwarnings("error")
def test_bad_rewards(case):
    policy = case.make(dim=DIM, seed=3)
    play(policy, decision_sets(dim=DIM, count=3))
    decision = policy.choose(GOOD)
    for bad in BAD_REWARDS.values():
        assert_refused(policy, lambda bad=bad: policy.learn(decision, bad))
        assert_refused(policy, lambda bad=bad: policy.learn_many([decision], [bad]))
    for bad_batch in ([], [0.5, 0.5], [[0.5]], 0.5, None, [None]):
        assert_refused(policy, lambda bad=bad_batch: policy.learn_many([decision], bad))
    assert_refused(policy, lambda: policy.learn_many([decision, decision.action], [0.5, 0.5]))


def test_decisions_of_another_policy(case):
    """A decision that carries no centre cannot teach a policy that centres by set, even as the first thing it sees."""
    foreign = eb.OFUL(noise=0.1).choose(GOOD)
    policy = case.make(dim=DIM, seed=3)
    if case.by_set:
        assert_refused(policy, lambda: policy.learn(foreign, 0.5))
        assert_refused(policy, lambda: policy.learn_many([foreign], [0.5]))
    else:
        policy.learn(foreign, 0.5)
        assert policy.diagnostics().rewards_learned == 1
    narrow = eb.OFUL(noise=0.1, center="set").choose(np.ones((2, DIM - 1)))
    play(policy, decision_sets(dim=DIM, count=1))
    assert_refused(policy, lambda: policy.learn(narrow, 0.5))


def test_a_first_set_that_does_not_fit_the_policy():
    """What only the first vectors can show, a rank above d or a model of another length, leaves no trace either."""
    thin = np.ones((3, 2))
    for policy in (
        eb.PSLB(noise=0.1, rank=3),
        eb.CBRAP(noise=0.1, rank=3),
        eb.Oracle(theta=np.ones(3)),
        eb.ProjectedThompson(noise=0.1, rank=3),
        eb.Policy(eb.subspace.Known(np.eye(3)[:, :2]), eb.belief.Projected(0.1), eb.rules.Optimism()),
    ):
        assert_refused(policy, lambda policy=policy: policy.choose(thin))
        assert_refused(policy, lambda policy=policy: policy.learn(thin[0], 0.5))
        play(policy, decision_sets(dim=3, count=2))
