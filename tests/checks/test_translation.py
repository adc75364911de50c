"""Every policy is carried over to another encoder, whole and repeatably, or refuses and stays as it was."""

import numpy as np
from tests.checks.play import assert_same, decision_sets, play

from eigenbandits.policy.files import from_bytes, to_bytes
from eigenbandits.testing.play import assert_refused

REFUSING = {"Sketched", "Screened", "FixedModel"}
TURN = np.linalg.qr(np.random.default_rng(4).standard_normal((6, 6)))[0][:, :5]


def is_refused(case, policy):
    """Whether it keeps no sums, was given what holds for one encoder only, or is a wrapper."""
    return (
        type(policy.belief).__name__ in REFUSING
        or getattr(policy.belief, "slim", False)
        or getattr(policy.subspace, "structure", None) is not None
        or type(policy.subspace).__name__ in ("Known",)
        or case.kind.__name__ in ("Budgeted", "Guarded")
    )


def test_it_goes_on_with_the_new_vectors(case):
    policy = case.make()
    pairs = np.concatenate(list(decision_sets(count=20, seed=3)))
    play(policy, decision_sets())
    if is_refused(case, policy):
        assert_refused(policy, lambda: policy.translate(pairs, pairs @ TURN))
        return
    done = policy.translate(pairs, pairs @ TURN)
    assert 0.0 <= done.loss <= 1.0
    assert policy.dim == 5
    twin = from_bytes(to_bytes(policy))
    new = [actions @ TURN for actions in decision_sets(count=10, seed=7)]
    assert_same(play(policy, new), play(twin, new))
    assert policy.round == 30
