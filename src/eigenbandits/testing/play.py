"""Small problems to run a policy on, and comparisons of policies that should have done the same."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eigenbandits.belief import View
from eigenbandits.inputs import Array
from eigenbandits.policy import Decision, Policy
from eigenbandits.policy.files import from_bytes, to_bytes
from eigenbandits.rules import Choice, Rule


def truth(dim: int) -> Array:
    """Return θ*: of norm 1 and nowhere zero."""
    theta = np.cos(np.arange(dim))
    return np.asarray(theta / np.linalg.norm(theta))


def decision_sets(
    dim: int = 6, count: int = 20, arms: int = 5, seed: int = 1, scale: float = 1.0
) -> Iterator[NDArray[np.float64]]:
    """Yield decision sets (arms, dim) around a plane, with a common mean, of norms around `scale`."""
    rng = np.random.default_rng(seed)
    plane = rng.standard_normal((min(2, dim), dim)) / np.sqrt(dim)
    for _ in range(count):
        signal = rng.standard_normal((arms, len(plane))) @ plane
        yield scale * (signal + 0.1 * rng.standard_normal((arms, dim)) + 0.2)


def reward(decision: Decision, scale: float = 1.0) -> float:
    """Return the reward of a decision: its value under `truth`, and a noise that depends on the action alone."""
    value = float(decision.action @ truth(len(decision.action))) / scale
    return value + 0.1 * float(np.sin(1e3 * value))


def play(policy: Policy, sets: Iterable[Array]) -> list[Decision]:
    """Play a policy; each reward is learned at once."""
    decisions = []
    for actions in sets:
        decisions.append(policy.choose(actions))
        policy.learn(decisions[-1], reward(decisions[-1]))
    return decisions


def copy_of(policy: Policy) -> Policy:
    """Return a policy that continues as this one does, saved to a file and loaded."""
    return from_bytes(to_bytes(policy))


def as_read(policy: Policy, actions: Array) -> Array:
    """Return actions as the policy reads them, in its precision."""
    return actions.astype(policy.dtype)


def assert_same(first: Sequence[Decision], second: Sequence[Decision]) -> None:
    """Compare decisions bit for bit."""
    assert [d.index for d in first] == [d.index for d in second], "the choices differ"
    for one, other in zip(first, second, strict=True):
        found = (one.round, one.estimate, one.upper, one.propensity)
        assert found == (other.round, other.estimate, other.upper, other.propensity), "the values differ"
        np.testing.assert_array_equal(one.action, other.action)
        np.testing.assert_array_equal(one.model, other.model)


def assert_close(one: Decision, two: Decision) -> None:
    """Compare decisions up to rounding."""
    assert (one.index, one.round) == (two.index, two.round)
    np.testing.assert_allclose([one.upper, one.estimate], [two.upper, two.estimate], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(one.model, two.model, rtol=1e-8, atol=1e-10)


class Spy(Rule):
    """Records what the belief says about every action, and lets the rule choose."""

    def __init__(self, rule: Rule, bounded: bool = True) -> None:
        self.inner = rule
        self.bounded = bounded
        self.estimates: Array = np.zeros(0)
        self.uppers: Array = np.zeros(0)

    def choose(self, view: View, size: int, rng: np.random.Generator) -> Choice:
        """Record, and let the rule choose."""
        self.estimates = view.estimates().copy()
        self.uppers = view.uppers().copy() if self.bounded else self.estimates
        return self.inner.choose(view, size, rng)


def look(policy: Policy, actions: Array) -> tuple[Array, Array]:
    """Return the estimates and the optimistic values that a policy gives to every action of its next choice."""
    rule = policy.rule
    spy = Spy(rule, "uppers" in policy.belief.offers)
    policy.rule = spy
    policy.choose(actions)
    policy.rule = rule
    return spy.estimates, spy.uppers


def assert_agree(first: Policy, second: Policy) -> None:
    """Compare what two policies say about the same actions, up to rounding."""
    probe = next(decision_sets(seed=9))
    for one, other in zip(look(copy_of(first), probe), look(copy_of(second), probe), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-8, atol=1e-9)


def assert_refused(policy: Policy, call: Callable[..., object], *arguments: Any, **options: Any) -> None:
    """Check that a call raises a `ValueError` of one sentence and changes nothing, to the last bit."""
    before = to_bytes(policy)
    assert_one_sentence(call, *arguments, **options)
    assert to_bytes(policy) == before, "what was refused has changed the policy"


def assert_one_sentence(call: Callable[..., object], *arguments: Any, **options: Any) -> str:
    """Check that a call raises a `ValueError` of one sentence, and return the sentence."""
    try:
        call(*arguments, **options)
    except ValueError as error:
        message = str(error)
    else:
        raise AssertionError("bad input was accepted; expected a ValueError")
    assert message[:1].islower() and message.endswith(".") and "\n" not in message, (
        f"the message is {message!r}; expected one sentence that names the argument and ends with a period"
    )
    return message
