"""A list is what one choice after the other would give."""

import numpy as np
import pytest
from tests.checks.play import decision_sets, play, reward

import eigenbandits as eb
from eigenbandits.policy.files import from_bytes, to_bytes
from eigenbandits.testing.lists import SETS
from eigenbandits.testing.one_way import subspace_of


def test_a_list_is_one_choice_after_the_other(case):
    """Each among the rows that are left, with the same chance; the subspace sees the set once."""
    if case.kind in (eb.Budgeted, eb.Guarded):
        pytest.skip("a policy with a guard or a budget chooses no lists")
    policy = case.make(seed=3)
    play(policy, decision_sets(count=12))
    other = from_bytes(to_bytes(policy))
    if "uppers" in policy.rule.needs and policy.belief.view(np.zeros((1, policy.centering.lifted_dim))).independent:
        pytest.skip("a posterior's optimism is for the list as a whole: tests/policy/test_lists.py")
    for actions, allowed in zip(SETS, (None, [0, 2, 3, 5, 6], None, [1, 2, 4, 5]), strict=True):
        ranked = policy.choose_list(actions, 4, allowed=allowed)
        left = np.isin(np.arange(7), np.arange(7) if allowed is None else allowed)
        for position, decision in enumerate(ranked.decisions):
            twin = other.choose(actions, position == 0, allowed=left)
            assert decision.index == twin.index
            # A radius that is spent over rounds is a little wider in each.
            close = 1e-2 if case.variant == "anytime" else 1e-6 if case.single else 1e-9
            assert decision.upper == pytest.approx(twin.upper, rel=close)
            assert decision.estimate == pytest.approx(twin.estimate, rel=close)
            assert decision.propensity == twin.propensity
            left[decision.index] = False
        assert subspace_of(policy) == subspace_of(other)
        rewards = [reward(decision) for decision in ranked.decisions]
        policy.learn(ranked, rewards)
        other.learn_many(ranked.decisions, rewards)
