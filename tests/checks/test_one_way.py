"""The way of a decision has no way back: looking changes nothing, and what is not to be observed is not."""

import json

import numpy as np
import pytest
from tests.checks.play import decision_sets, play

from eigenbandits.files import encode, to_bytes


def subspace_of(policy):
    arrays: dict[str, np.ndarray] = {}
    text = json.dumps(encode(policy.subspace.state(), arrays), sort_keys=True)
    return text, [array.tobytes() for array in arrays.values()]


def test_a_view_is_a_pure_reading(case):
    policy = case.make(seed=3)
    play(policy, decision_sets(count=12))
    actions = case.read(next(decision_sets(seed=2)))
    lifted, _ = policy.lift(actions, policy.scoring.read(actions))
    policy.belief.follow(policy.subspace.frame())
    before = to_bytes(policy)
    view, rng = policy.belief.view(lifted), np.random.default_rng(0)
    asked = {
        "estimates": lambda: (view.estimates(), view.believer()()),
        "uppers": lambda: (view.best(), view.best_exact(), view.uppers(), view.optimist(0)(), view.optimist_exact(1)()),
        "lowers": lambda: view.lowers(),
        "posterior": lambda: view.posterior(5, rng).vector(2),
        "boundary": lambda: view.boundary(5, rng).vector(2),
        "joint": lambda: (view.best_joint(), view.optimist_joint(0)()),
    }
    assert set(policy.rule.needs) <= set(policy.belief.offers) <= set(asked)
    for name in policy.belief.offers:
        asked[name]()
    view.finding(0)
    assert to_bytes(policy) == before


def test_a_set_that_is_not_observed_leaves_the_subspace_alone(case):
    policy = case.make(seed=3)
    play(policy, decision_sets(count=5))
    before, rounds = subspace_of(policy), policy.round
    sets = list(decision_sets(count=3, seed=2))
    decision = policy.choose(sets[0], observe=False)
    policy.learn(decision, 0.5)
    policy.choose_many(sets, observe=False)
    assert policy.round == rounds + 4
    assert subspace_of(policy) == before
    seen = policy.subspace.seen
    policy.choose_many(sets, observe=[False, True, False])
    assert policy.subspace.seen == seen + len(sets[1])
    with pytest.raises(ValueError, match="observe has 1 entries; expected 3"):
        policy.choose_many(sets, observe=[True])


def test_a_subspace_that_has_seen_nothing_says_so(case):
    policy = case.make(seed=3)
    actions = next(decision_sets())
    if policy.subspace.ready:
        assert policy.choose(actions, observe=False).round == 1
        return
    before = to_bytes(policy)
    for refused in (lambda: policy.choose(actions, observe=False), lambda: policy.choose_many([actions], False)):
        with pytest.raises(ValueError, match="the subspace has seen no vectors yet"):
            refused()
    assert to_bytes(policy) == before
