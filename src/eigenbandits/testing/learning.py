"""How a policy learns from rewards, late, out of order and in batches; what stays fixed in a decision once made."""

import dataclasses
import gc
import tracemalloc

import numpy as np

from eigenbandits.inputs import Array
from eigenbandits.policy import Decision, Policy
from eigenbandits.policy.files import to_bytes
from eigenbandits.testing.check import Make, check
from eigenbandits.testing.play import as_read, assert_agree, assert_refused, copy_of, decision_sets, play, reward


def with_open_decisions(make: Make, count: int = 30) -> tuple[Policy, list[Decision]]:
    """Return a policy that has learned a little, and decisions whose rewards are still to come."""
    policy = make()
    play(policy, decision_sets(count=4))
    return policy, [policy.choose(actions) for actions in decision_sets(count=count, seed=2)]


@check
def order_does_not_matter(make: Make) -> None:
    """Rewards that come in another order lead to the same belief, up to rounding."""
    policy, decisions = with_open_decisions(make)
    other = copy_of(policy)
    for decision in decisions:
        policy.learn(decision, reward(decision))
    for place in np.random.default_rng(0).permutation(len(decisions)):
        other.learn(decisions[place], reward(decisions[place]))
    assert_agree(policy, other)


@check
def many_is_one_by_one(make: Make) -> None:
    """learn_many leads to the same belief as one call of learn after the other, up to rounding."""
    for count in (1, 2, 30):
        policy, decisions = with_open_decisions(make, count)
        batch = copy_of(policy)
        for decision in decisions:
            policy.learn(decision, reward(decision))
        batch.learn_many(decisions, [reward(decision) for decision in decisions])
        assert_agree(policy, batch)


@check
def vectors_teach_what_decisions_teach(make: Make) -> None:
    """A reward of a vector teaches the same as a decision's, if no row depends on its set; centered sets refuse it."""
    policy, decisions = with_open_decisions(make)
    # A forecast is what a decision knows beyond its vector; without it they are the same.
    decisions = [dataclasses.replace(decision, forecast=None) for decision in decisions]
    vectors = np.array([decision.action for decision in decisions])
    if policy.centering.by_set:
        assert_refused(policy, policy.learn, vectors[0], 0.5)
        assert_refused(policy, policy.learn_many, vectors[:1], [0.5])
        return
    if policy.rows_depend_on_sets:
        return
    by_vector, rewards = copy_of(policy), [reward(decision) for decision in decisions]
    for decision, value in zip(decisions, rewards, strict=True):
        policy.learn(decision, value)
        by_vector.learn(decision.action.tolist(), value)
    assert to_bytes(by_vector) == to_bytes(policy)
    policy.learn_many(decisions, rewards)
    by_vector.learn_many(vectors, rewards)
    assert to_bytes(by_vector) == to_bytes(policy)


@check
def learning_may_come_first(make: Make) -> None:
    """A policy can learn before it has chosen anything, unless sets are centered."""
    policy = make()
    if policy.centering.by_set:
        return
    rows = next(decision_sets(arms=12))
    policy.learn_many(rows, rows @ np.ones(6))
    assert policy.diagnostics().rewards_learned == 12
    assert np.isfinite(policy.choose(next(decision_sets(seed=9))).upper)


@check
def rewards_count_once(make: Make) -> None:
    """Each reward is counted once each time that it is learned."""
    policy, decisions = with_open_decisions(make, 3)
    before = policy.diagnostics().rewards_learned
    policy.learn(decisions[0], 0.5)
    policy.learn_many(decisions, [0.5, 0.5, 0.5])
    assert policy.diagnostics().rewards_learned == before + 4


@check
def observing_is_not_learning(make: Make) -> None:
    """Vectors without rewards are counted as seen, and as nothing else."""
    policy = make()
    policy.observe(next(decision_sets(arms=200)))
    found = policy.diagnostics()
    assert (found.rounds, found.rewards_learned, found.vectors_seen) == (0, 0, 200)
    decisions = play(policy, decision_sets())
    assert [decision.round for decision in decisions] == list(range(1, 21))
    assert policy.diagnostics().vectors_seen == 200 + 20 * 5


@check
def decisions_stay_as_they_are(make: Make) -> None:
    """Neither what the policy learns later nor what becomes of the caller's array changes a decision once made."""
    policy = make()
    kept: list[tuple[Decision, Array | None, Array]] = []
    for actions in decision_sets(count=25):
        offered = actions.copy()
        decision = policy.choose(offered)
        kept.append((decision, decision.model.copy(), decision.action.copy()))
        late = policy.choose(offered)
        offered[:] = np.pi
        kept.append((late, None, as_read(policy, actions)[late.index].copy()))
        policy.learn(decision, reward(decision))
    for decision, model, action in kept:
        np.testing.assert_array_equal(decision.action, action)
        if model is not None:
            np.testing.assert_array_equal(decision.model, model)


@check
def models_may_be_asked_for_late(make: Make) -> None:
    """A decision's model is the same whether it is read at once or after the belief has moved on."""
    asking, patient = make(), make()
    models, decisions = [], []
    for actions in decision_sets(count=25):
        decision = asking.choose(actions)
        models.append(decision.model.copy())
        decisions.append(patient.choose(actions.copy()))
        asking.learn(decision, reward(decision))
        patient.learn(decisions[-1], reward(decision))
    for decision, model in zip(decisions, models, strict=True):
        np.testing.assert_array_equal(decision.model, model)


@check
def models_belong_to_the_caller(make: Make) -> None:
    """What the caller does with a decision's model changes neither the decision nor the policy."""
    policy = make()
    play(policy, decision_sets(count=3))
    decision = policy.choose(next(decision_sets(seed=9)))
    before = to_bytes(policy)
    model = decision.model
    kept = model.copy()
    model[:] = np.nan
    np.testing.assert_array_equal(decision.model, kept)
    assert to_bytes(policy) == before


@check
def open_decisions_are_small(make: Make) -> None:
    """A decision that waits for its reward holds a few vectors, not the set, the samples or the matrices."""
    dim, arms, count = 64, 100, 30
    policy = make(dim=dim)
    sets = list(decision_sets(dim=dim, arms=arms, count=41 + count, seed=5))
    play(policy, sets[:40])
    tracemalloc.start()
    try:
        policy.choose(sets[40])
        gc.collect()
        before, _ = tracemalloc.get_traced_memory()
        waiting = [policy.choose(actions) for actions in sets[41:]]
        gc.collect()
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len({decision.round for decision in waiting}) == count
    # A decision set alone has 100 vectors; a new frame now and then comes on top.
    assert after - before < count * 30 * dim * 8, f"a decision takes {(after - before) // count} bytes"
