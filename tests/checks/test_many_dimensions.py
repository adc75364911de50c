"""The same promises in many dimensions, where rows wait in blocks, eigenvectors are tracked and actions are pruned."""

import numpy as np
import pytest
from tests.checks.cases import CASES
from tests.checks.play import assert_same, decision_sets, look, reward

from eigenbandits.policy.files import from_bytes, to_bytes
from eigenbandits.testing.one_way import assert_views_change_nothing

DIM = 300
NAMES = {
    *("OFUL", "LinTS", "SOFUL", "Policy", "PSLB", "PSLB-rank", "PSLB-exact", "PSLB-sampled", "PSLB-mean", "PSLB-set"),
    *("PSLB-general", "PSLB-projected", "PSLB-streaming-both"),
    *("PSLB-streaming", "PSLB-float32", "PSLB-float32-cut", "ProjectedThompson", "PSLB-auto-set"),
}
LARGE = [case for case in CASES if case.name in NAMES]


@pytest.fixture(params=LARGE, ids=lambda case: case.name)
def case(request):
    return request.param


def test_every_name_is_a_case():
    assert {case.name for case in LARGE} == NAMES


def test_files_copies_and_looks_change_nothing(case):
    """One policy is looked at and restarted all the time, with rewards outstanding; the other is left in peace."""
    steady, disturbed = case.make(dim=DIM, seed=3), case.make(dim=DIM, seed=3)
    waiting = []
    for count, actions in enumerate(decision_sets(dim=DIM, arms=12, count=45)):
        one, two = steady.choose(actions), disturbed.choose(actions)
        assert_same([one], [two])
        waiting.append((one, two))
        if count % 4 == 3:
            before = to_bytes(disturbed)
            found = disturbed.diagnostics()
            assert to_bytes(disturbed) == before
            disturbed = from_bytes(before)
            for key, value in disturbed.diagnostics().as_dict().items():
                np.testing.assert_array_equal(value, found.as_dict()[key], err_msg=key)
        if len(waiting) > 3:
            one, two = waiting.pop(count % 3)
            steady.learn(one, reward(one))
            disturbed.learn(two, reward(two))
    assert to_bytes(steady) == to_bytes(disturbed)


def test_views_change_nothing(case):
    assert_views_change_nothing(case.make(dim=DIM, seed=3), DIM)


@pytest.mark.parametrize("batch", [2, 7, 150])
def test_order_and_batches_do_not_matter(case, batch):
    policy = case.make(dim=DIM, seed=3, size=300)
    decisions = [policy.choose(actions) for actions in decision_sets(dim=DIM, arms=5, count=150)]
    rewards = [reward(decision) for decision in decisions]
    batched, shuffled = (from_bytes(to_bytes(policy)) for _ in range(2))
    for decision, value in zip(decisions, rewards, strict=True):
        policy.learn(decision, value)
    for start in range(0, 150, batch):
        batched.learn_many(decisions[start : start + batch], rewards[start : start + batch])
    for place in np.random.default_rng(0).permutation(150):
        shuffled.learn(decisions[place], rewards[place])
    probe = next(decision_sets(dim=DIM, seed=9))
    expected = look(policy, probe)
    for other in (batched, shuffled):
        for one, two in zip(expected, look(other, probe), strict=True):
            np.testing.assert_allclose(one, two, rtol=1e-7, atol=1e-8)


def test_bad_input_changes_nothing(case):
    policy = case.make(dim=DIM, seed=3)
    for actions in decision_sets(dim=DIM, count=3):
        decision = policy.choose(actions)
        policy.learn(decision, reward(decision))
    before = to_bytes(policy)
    bad = np.ones((3, DIM))
    bad[1, 200] = np.nan
    for refused in (
        lambda: policy.choose(bad),
        lambda: policy.observe(bad[:, :-1]),
        lambda: policy.learn(bad[1], 0.5),
        lambda: policy.learn(decision, np.nan),
        lambda: policy.learn_many([decision, decision], [0.5]),
        lambda: policy.choose_many([actions, bad]),
    ):
        with pytest.raises(ValueError, match=r"\.$"):
            refused()
    assert to_bytes(policy) == before
