"""What a policy makes of rewards: late, out of order, in batches; and what it owes to a decision once made."""

import dataclasses

import numpy as np
import pytest
from tests.checks.play import decision_sets, look, play, reward

from eigenbandits.files import from_bytes, to_bytes

PROBE = next(decision_sets(seed=9))


def with_open_decisions(case, count=30, **options):
    """Return a policy that has learned a little and the decisions whose rewards are still to come."""
    policy = case.make(seed=3, **options)
    play(policy, decision_sets(count=4))
    return policy, [policy.choose(actions) for actions in decision_sets(count=count, seed=2)]


def assert_agree(first, second):
    """Compare what two policies say of the same actions, up to rounding."""
    for one, other in zip(look(first, PROBE), look(second, PROBE), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-8, atol=1e-9)


def whole_sketch(case):
    """Let a sketch hold everything: only then does what it forgets not depend on the order."""
    return {"size": 8} if case.sketched else {}


def test_the_order_of_learning_does_not_matter(case):
    policy, decisions = with_open_decisions(case, **whole_sketch(case))
    if case.forgets:
        # The latest reward weighs most: two orders are two beliefs.
        decisions = decisions[:1]
    other = from_bytes(to_bytes(policy))
    for decision in decisions:
        policy.learn(decision, reward(decision))
    for place in np.random.default_rng(0).permutation(len(decisions)):
        other.learn(decisions[place], reward(decisions[place]))
    assert_agree(policy, other)


@pytest.mark.parametrize("count", [1, 2, 30])
def test_many_is_the_same_as_one_by_one(case, count):
    policy, decisions = with_open_decisions(case, count, **whole_sketch(case))
    batch = from_bytes(to_bytes(policy))
    for decision in decisions:
        policy.learn(decision, reward(decision))
    batch.learn_many(decisions, [reward(decision) for decision in decisions])
    assert_agree(policy, batch)


def test_vectors_teach_the_same_as_decisions(case):
    policy, decisions = with_open_decisions(case)
    # A forecast is what a decision knows beyond its vector; without it they are the same.
    decisions = [dataclasses.replace(decision, forecast=None) for decision in decisions]
    if case.by_set:
        with pytest.raises(ValueError, match="hand in the Decision"):
            policy.learn(decisions[0].action, 0.5)
        with pytest.raises(ValueError, match="hand in the Decision"):
            policy.learn_many(np.array([decisions[0].action]), [0.5])
        return
    by_vector, by_matrix = from_bytes(to_bytes(policy)), from_bytes(to_bytes(policy))
    rewards = [reward(decision) for decision in decisions]
    for decision, value in zip(decisions, rewards, strict=True):
        policy.learn(decision, value)
        by_vector.learn(decision.action.tolist(), value)
    assert to_bytes(by_vector) == to_bytes(policy)
    by_matrix.learn_many(np.array([decision.action for decision in decisions]), rewards)
    policy.learn_many(decisions, rewards)
    by_vector.learn_many(np.array([decision.action for decision in decisions]), rewards)
    assert to_bytes(by_vector) == to_bytes(policy)


def test_learning_comes_before_any_choice(case):
    if case.by_set:
        pytest.skip("a vector without its decision set has no meaning here")
    policy = case.make(seed=3)
    rows = next(decision_sets(arms=12))
    policy.learn_many(rows, rows @ np.ones(6))
    assert policy.diagnostics().rewards_learned == 12
    assert np.isfinite(policy.choose(PROBE).upper)


def test_a_reward_counts_once_per_learning(case):
    policy, decisions = with_open_decisions(case, 3)
    before = policy.diagnostics().rewards_learned
    policy.learn(decisions[0], 0.5)
    policy.learn_many(decisions, [0.5, 0.5, 0.5])
    assert policy.diagnostics().rewards_learned == before + 4


def test_observing_is_not_learning(case):
    policy = case.make(seed=3)
    policy.observe(next(decision_sets(arms=200)))
    found = policy.diagnostics()
    assert (found.rounds, found.rewards_learned, found.vectors_seen) == (0, 0, 200)
    decisions = play(policy, decision_sets())
    assert [decision.round for decision in decisions] == list(range(1, 21))
    assert policy.diagnostics().vectors_seen == 200 + 20 * 5


def test_a_decision_keeps_its_model(case):
    """What the policy learns later, and what the caller does with the array, must not reach a decision once made."""
    policy = case.make(seed=3)
    kept = []
    for actions in decision_sets(count=25):
        offered = actions.copy()
        decision = policy.choose(offered)
        same = from_bytes(to_bytes(policy))
        kept.append((decision, decision.model.copy(), decision.action.copy()))
        late = policy.choose(offered)
        offered[:] = np.pi
        kept.append((late, None, case.read(actions)[late.index].copy()))
        policy.learn(decision, reward(decision))
        assert same.round == decision.round
    for decision, model, action in kept:
        np.testing.assert_array_equal(decision.action, action)
        if model is not None:
            np.testing.assert_array_equal(decision.model, model)


def test_a_model_asked_for_late_is_the_one_asked_for_at_once(case):
    asking, patient = case.make(seed=3), case.make(seed=3)
    models, decisions = [], []
    for actions in decision_sets(count=25):
        decision = asking.choose(actions)
        models.append(decision.model.copy())
        decisions.append(patient.choose(actions.copy()))
        asking.learn(decision, reward(decision))
        patient.learn(decisions[-1], reward(decision))
    for decision, model in zip(decisions, models, strict=True):
        np.testing.assert_array_equal(decision.model, model)


def test_a_model_is_the_callers_to_keep(case):
    policy = case.make(seed=3)
    play(policy, decision_sets(count=3))
    decision = policy.choose(PROBE)
    before = to_bytes(policy)
    model = decision.model
    kept = model.copy()
    model[:] = np.nan
    np.testing.assert_array_equal(decision.model, kept)
    assert to_bytes(policy) == before


def test_the_model_explains_the_choice(case):
    """The optimistic value is what the model promises, up to what the subspace may miss and what was taken off."""
    policy = case.make(seed=3)
    play(policy, decision_sets(count=30))
    for actions in decision_sets(count=5, seed=2):
        decision = policy.choose(actions)
        if case.left_to_chance:
            continue
        promised = actions @ decision.model
        if case.center == "none":
            # The slack for the subspace is at most ε S ‖x‖ with ε ≤ 1 and S = 1.
            slack = decision.upper - promised[decision.index]
            rounding = 1e-5 if case.single else 1e-9
            assert -rounding <= slack <= np.linalg.norm(decision.action) + rounding
        if case.follows_a_draw and "prior" not in case.options:
            assert promised[decision.index] == pytest.approx(promised.max(), abs=1e-12)
