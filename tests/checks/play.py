"""Playing a policy on small worlds, and telling whether two of them did the same."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from tests.checks.cases import truth

import eigenbandits as eb
from eigenbandits.belief import View
from eigenbandits.rules import Choice, Rule


def decision_sets(
    dim: int = 6, count: int = 20, arms: int = 5, seed: int = 1, scale: float = 1.0
) -> Iterator[np.ndarray]:
    """Yield decision sets (arms, dim) around a plane, with a common mean, of norms around `scale`."""
    rng = np.random.default_rng(seed)
    plane = rng.standard_normal((min(2, dim), dim)) / np.sqrt(dim)
    for _ in range(count):
        signal = rng.standard_normal((arms, len(plane))) @ plane
        yield scale * (signal + 0.1 * rng.standard_normal((arms, dim)) + 0.2)


def reward(decision: eb.Decision, scale: float = 1.0) -> float:
    """Return the reward of a decision: its value under `truth`, and a noise that depends on the action alone."""
    value = float(decision.action @ truth(len(decision.action))) / scale
    return value + 0.1 * float(np.sin(1e3 * value))


def play(policy: eb.Policy, sets: Iterator[np.ndarray] | Sequence[np.ndarray]) -> list[eb.Decision]:
    """Play a policy, rewards following at once."""
    decisions = []
    for actions in sets:
        decisions.append(policy.choose(actions))
        policy.learn(decisions[-1], reward(decisions[-1]))
    return decisions


def assert_same(first: Sequence[eb.Decision], second: Sequence[eb.Decision]) -> None:
    """Compare decisions bit for bit."""
    assert [d.index for d in first] == [d.index for d in second]
    for one, other in zip(first, second, strict=True):
        assert (one.round, one.estimate, one.upper, one.propensity) == (
            other.round,
            other.estimate,
            other.upper,
            other.propensity,
        )
        np.testing.assert_array_equal(one.action, other.action)
        np.testing.assert_array_equal(one.model, other.model)


class Spy(Rule):
    """Note what the belief says of every action, and let the rule decide."""

    def __init__(self, rule: Rule, bounded: bool = True) -> None:
        self.inner = rule
        self.bounded = bounded
        self.estimates: np.ndarray = np.zeros(0)
        self.uppers: np.ndarray = np.zeros(0)

    def choose(self, view: View, size: int, rng: np.random.Generator) -> Choice:
        self.estimates = view.estimates().copy()
        self.uppers = view.uppers().copy() if self.bounded else self.estimates
        return self.inner.choose(view, size, rng)


def look(policy: eb.Policy, actions: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the estimates and the optimistic values that a policy gives to every action of its next choice."""
    rule = policy.rule
    spy = Spy(rule, "uppers" in policy.belief.offers)
    policy.rule = spy
    policy.choose(actions)
    policy.rule = rule
    return spy.estimates, spy.uppers
