"""A decision goes one way: reading changes nothing, and what is not to be observed is not."""

import json
from collections.abc import Callable
from typing import Any

import numpy as np

from eigenbandits.files import encode
from eigenbandits.policy import Policy
from eigenbandits.policy.files import to_bytes
from eigenbandits.testing.check import Make, check
from eigenbandits.testing.play import as_read, assert_one_sentence, assert_refused, decision_sets, play


def subspace_of(policy: Policy) -> tuple[str, list[bytes]]:
    """Return the state of the subspace in a form that can be compared."""
    arrays: dict[str, Any] = {}
    text = json.dumps(encode(policy.subspace.state(), arrays), sort_keys=True)
    return text, [array.tobytes() for array in arrays.values()]


@check
def views_change_nothing(make: Make) -> None:
    """Nothing that a rule can ask of a view changes the policy, and the view answers all that its belief offers."""
    assert_views_change_nothing(make(), dim=6)


def assert_views_change_nothing(policy: Policy, dim: int, draws: int = 100) -> None:
    """Play a policy, ask a view for everything, and compare the policy before and after."""
    play(policy, decision_sets(dim=dim, count=12))
    actions = as_read(policy, next(decision_sets(dim=dim, seed=2)))
    lifted, _ = policy.lift(actions, policy.scoring.read(actions))
    policy.belief.follow(policy.subspace.frame())
    before = to_bytes(policy)
    view, rng = policy.belief.view(lifted), np.random.default_rng(0)
    asked: dict[str, Callable[[], object]] = {
        "estimates": lambda: (view.estimates(), view.believer()()),
        "uppers": lambda: (view.best(), view.best_exact(), view.uppers(), view.optimist(0)(), view.optimist_exact(1)()),
        "lowers": view.lowers,
        "posterior": lambda: view.posterior(draws, rng).vector(2),
        "boundary": lambda: view.boundary(draws, rng).vector(2),
        "joint": lambda: (view.best_joint(), view.optimist_joint(0)()),
    }
    assert set(policy.rule.needs) <= set(policy.belief.offers) <= set(asked)
    for name in policy.belief.offers:
        asked[name]()
        assert to_bytes(policy) == before, f"asking for {name} changes the policy"
    view.finding(0)
    assert to_bytes(policy) == before


@check
def unobserved_sets_leave_the_subspace_alone(make: Make) -> None:
    """With observe=False the subspace stays as it is."""
    policy = make()
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
    message = assert_one_sentence(policy.choose_many, sets, observe=[True])
    assert message.startswith("observe has 1 entries; expected 3")


@check
def subspaces_that_have_seen_nothing_say_so(make: Make) -> None:
    """With observe=False a first choice is made if the subspace needs no vectors, else refused."""
    policy, actions = make(), next(decision_sets())
    if policy.subspace.ready:
        assert policy.choose(actions, observe=False).round == 1
        return
    assert_refused(policy, policy.choose, actions, observe=False)
    assert_refused(policy, policy.choose_many, [actions], False)
