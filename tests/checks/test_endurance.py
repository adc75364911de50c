"""Long runs: memory stays bounded, and rounding does not add up."""

import gc
import tracemalloc

import numpy as np
import pytest

import eigenbandits as eb
from eigenbandits.belief.spectral import repeats
from eigenbandits.policy.files import to_bytes


def endless_sets(dim, arms, seed=5):
    rng = np.random.default_rng(seed)
    plane = rng.standard_normal((2, dim)) / np.sqrt(dim)
    # A pool of sets, gone through again and again: making new ones would take longer than the policy does.
    pool = rng.standard_normal((97, arms, 2)) @ plane + 0.1 * rng.standard_normal((97, arms, dim))
    place = 0
    while True:
        yield pool[place % len(pool)]
        place += 1


def advance(policy, sets, rounds):
    for _ in range(rounds):
        decision = policy.choose(next(sets))
        policy.learn(decision, float(decision.action[0]))


# Variants that keep something of their own go the whole way, like every policy in its plain form.
LONG = {"sampled", "streaming", "float32"}


@pytest.mark.slow
def test_memory_is_bounded(case, monkeypatch):
    """4,000 rounds, or 2,000: the file stays as large as it was, and what Python holds does not grow."""
    monkeypatch.setattr(repeats, "ROOM", 256)  # the latest actions are remembered, so many of them; fill that room
    rounds = 4_000 if not case.variant or case.variant in LONG else 2_000
    policy = case.make(dim=4, seed=3)
    sets = endless_sets(dim=4, arms=3)
    advance(policy, sets, 700)
    size = len(to_bytes(policy))
    advance(policy, sets, rounds - 1_700)
    tracemalloc.start()
    try:
        # Long enough for what is made again now and then to be made while it is traced.
        advance(policy, sets, 400)
        gc.collect()
        before, _ = tracemalloc.get_traced_memory()
        advance(policy, sets, 600)
        gc.collect()
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    # One number kept per round would be 600 · 32 bytes.
    assert after - before < 18_000
    # Counters in the header gain a digit now and then.
    assert abs(len(to_bytes(policy)) - size) < 400
    assert policy.diagnostics().rounds == rounds


@pytest.mark.slow
@pytest.mark.parametrize("spread", [1.0, 1e-3], ids=["even", "uneven"])
def test_a_hundred_thousand_updates_do_not_drift(spread):
    """At d = 64 Z⁻¹ and θ̂ stay within 1e-6 of a fresh factorisation of the same sums.

    Z⁻¹ is read off the public face: of a set with the one action e_i, the optimistic model is
    θ̂ + Ω Z⁻¹e_i/‖e_i‖_{Z⁻¹} and the optimistic value is θ̂_i + Ω‖e_i‖_{Z⁻¹}.
    """
    dim, updates, block = 64, 100_000, 10_000
    rng = np.random.default_rng(6)
    scales = np.geomspace(1.0, spread, dim)
    policy = eb.LinUCB(multiplier=1.0, ridge=1.0)
    gram, moment = np.eye(dim), np.zeros(dim)
    for _ in range(updates // block):
        actions = rng.standard_normal((block, dim)) * scales
        rewards = rng.standard_normal(block)
        for action, reward in zip(actions, rewards, strict=True):
            policy.learn(action, reward)
        gram += actions.T @ actions
        moment += actions.T @ rewards
    fresh = np.linalg.inv(np.linalg.cholesky(gram))
    expected = fresh.T @ fresh
    theta = np.linalg.solve(gram, moment)
    found = np.empty((dim, dim))
    for i in range(dim):
        decision = policy.choose(np.eye(dim)[i : i + 1])
        assert decision.estimate == pytest.approx(theta[i], rel=1e-6, abs=1e-6 * np.abs(theta).max())
        width = decision.upper - decision.estimate
        found[:, i] = (decision.model - theta) * width
    assert np.abs(found - expected).max() <= 1e-6 * np.abs(expected).max()
    # Relative to the matrix in every direction, not only to its largest entry.
    assert np.abs(np.linalg.eigvals(found @ gram) - 1.0).max() <= 1e-6
