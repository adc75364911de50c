"""C_m ∩ C_d: the walk, the exact optimum and the sampled one against brute force over the same two sets."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.checks.play import look
from tests.solver import Pair, solver_support

import eigenbandits as eb
from eigenbandits.belief import Ambient, Both, Projected
from eigenbandits.belief.ellipsoids import Ellipsoid
from eigenbandits.rules import ExactOptimism, Optimism, Rule, SampledOptimism
from eigenbandits.subspace import Known

DIM, NOISE, BOUND, RIDGE, DELTA = 6, 0.3, 1.3, 0.7, 0.05


def from_shape(center: np.ndarray, shape: np.ndarray) -> Ellipsoid:
    """Return the set (φ − center)ᵀ shape (φ − center) ≤ 1."""
    values, vectors = np.linalg.eigh(shape)
    return Ellipsoid(center, vectors, 1.0 / np.sqrt(values))


class World:
    """A subspace that is off by a known error, some rewards, and a policy that has learned from them."""

    def __init__(self, seed: int, rule: Rule, rank: int = 3, error: float = 0.1, count: int = 40) -> None:
        rng = np.random.default_rng(seed)
        self.V = np.linalg.qr(rng.standard_normal((DIM, rank)))[0]
        self.error = error
        known = (NOISE, BOUND, RIDGE, DELTA)
        belief = Both(Projected(*known), Ambient(*known))
        self.policy = eb.Policy(Known(self.V, projection_error=error), belief, rule, seed=seed)
        # More weight on some directions, so that neither set contains the other.
        self.actions = rng.standard_normal((count, DIM)) * rng.uniform(0.2, 2.0, DIM)
        theta = self.V @ rng.standard_normal(rank)
        self.rewards = self.actions @ theta / np.linalg.norm(theta) + NOISE * rng.standard_normal(count)
        self.policy.learn_many(self.actions, self.rewards)
        self.rng = rng

    def probe(self, arms: int) -> np.ndarray:
        return self.rng.standard_normal((arms, DIM))

    def sets(self) -> tuple[Pair, float, float]:
        """Return both sets as ellipsoids of the coordinates, from dense matrices, and β and Ω."""
        gram, moment = self.actions.T @ self.actions, self.actions.T @ self.rewards
        B = self.V.T @ gram @ self.V + RIDGE * np.eye(self.V.shape[1])
        Z = gram + RIDGE * np.eye(DIM)
        phi, theta = np.linalg.solve(B, self.V.T @ moment), np.linalg.solve(Z, moment)
        values, vectors = np.linalg.eigh(B)
        half = vectors / np.sqrt(values) @ vectors.T
        leak = gram @ (np.eye(DIM) - self.V @ self.V.T)
        coupling = float(np.linalg.norm(half @ self.V.T @ leak, 2))
        ratio_b = float(np.linalg.slogdet(B)[1]) - len(B) * math.log(RIDGE)
        ratio_z = float(np.linalg.slogdet(Z)[1]) - DIM * math.log(RIDGE)
        beta = NOISE * math.sqrt(ratio_b - 2 * math.log(DELTA)) + BOUND * (self.error * coupling + math.sqrt(RIDGE))
        omega = NOISE * math.sqrt(ratio_z - 2 * math.log(DELTA)) + BOUND * math.sqrt(RIDGE)
        shadow = np.linalg.inv(self.V.T @ np.linalg.inv(Z) @ self.V)
        first = from_shape(phi, B / beta**2)
        second = from_shape(self.V.T @ theta, 0.5 * (shadow + shadow.T) / omega**2)
        return Pair(first, second), beta, omega

    def slack(self, actions: np.ndarray) -> np.ndarray:
        outside = actions - actions @ self.V @ self.V.T
        return self.error * BOUND * np.linalg.norm(outside, axis=1)

    def exact(self, actions: np.ndarray) -> np.ndarray:
        """Return the exact optimum of each action by a convex solver, and no more than the ambient bound."""
        pair, _, omega = self.sets()
        Z = self.actions.T @ self.actions + RIDGE * np.eye(DIM)
        theta = np.linalg.solve(Z, self.actions.T @ self.rewards)
        widths = np.sqrt(np.einsum("ij,ji->i", actions, np.linalg.solve(Z, actions.T)))
        inside = np.array([solver_support(pair, z) for z in actions @ self.V]) + self.slack(actions)
        return np.minimum(inside, actions @ theta + omega * widths)


@settings(max_examples=40)
@given(st.integers(0, 10**6), st.sampled_from([1, 2, 7, 300]), st.sampled_from([0.0, 0.1, 0.5]))
def test_the_walk_finds_the_largest_of_all_lower_bounds(seed, arms, error):
    world = World(seed, Optimism(), error=error)
    actions = world.probe(arms)
    decision = world.policy.choose(actions)
    _, uppers = look(world.policy, actions)
    assert decision.index == int(uppers.argmax())
    assert decision.upper == pytest.approx(uppers.max(), rel=1e-12)


def test_both_sets_bind_now_and_then():
    """The examples here are worth something only if neither set decides everything."""
    world = World(0, Optimism())
    for _ in range(60):
        world.policy.choose(world.probe(10))
    share = world.policy.diagnostics().details["share_bound_by_projected"]
    assert 0.05 < share < 0.95


@pytest.mark.parametrize("rank", [1, 2, 4, 6])
@pytest.mark.parametrize("error", [0.0, 0.2])
def test_exact_optimism_agrees_with_a_convex_solver(rank, error):
    for seed in range(4):
        world = World(seed, ExactOptimism(), rank=rank, error=error)
        actions = world.probe(8)
        expected = world.exact(actions)
        _, closed = look(world.policy, actions)
        decision = world.policy.choose(actions)
        assert decision.index == int(expected.argmax())
        assert decision.upper == pytest.approx(expected.max(), rel=1e-6)
        assert (expected <= closed + 1e-7).all()
        # The model is in the sets and promises the value, but for the slack.
        promise = float(decision.action @ decision.model)
        pair, _, _ = world.sets()
        if promise < decision.upper - 1e-9:
            assert promise + world.slack(actions)[decision.index] == pytest.approx(decision.upper, rel=1e-6)
            inside = world.V.T @ decision.model
            for ellipsoid in (pair.first, pair.second):
                step = (inside - ellipsoid.center) @ ellipsoid.vectors / ellipsoid.lengths
                assert step @ step <= 1.0 + 1e-6
        else:
            # The ambient set alone binds, or there is no slack.
            assert promise == pytest.approx(decision.upper, rel=1e-6)


def test_the_exact_optimum_is_now_and_then_strictly_below_the_closed_form():
    gains = []
    for seed in range(20):
        world = World(seed, ExactOptimism())
        actions = world.probe(1)
        _, closed = look(world.policy, actions)
        gains.append(closed[0] - world.policy.choose(actions).upper)
    assert min(gains) >= -1e-9
    assert np.count_nonzero(np.array(gains) > 1e-3) >= 4


def test_where_the_exact_look_finds_no_common_point_the_ambient_set_decides():
    """The certificate between two frames: the sets may come apart after the frame was checked."""
    world = World(1, ExactOptimism(), rank=1, error=0.0)
    world.policy.choose(world.probe(3))
    v = world.V[:, 0]
    w = np.linalg.svd(world.V.T)[2][1]
    world.policy.learn_many(np.array([v] * 300 + [v + w] * 300), [0.0] * 300 + [10.0] * 300)
    actions = world.probe(4)
    decision = world.policy.choose(actions)
    belief = world.policy.belief
    assert isinstance(belief, Both)
    alone = belief.ambient.view(actions)
    assert decision.upper == pytest.approx(alone.uppers().max(), rel=1e-12)
    assert decision.index == int(alone.uppers().argmax())
    assert decision.action @ decision.model == pytest.approx(decision.upper, rel=1e-9)
    assert world.policy.diagnostics().details["rounds_contradicted"] == 1


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_the_sampled_rule_approaches_the_exact_one_from_below(rank):
    """The promise of n models never passes the exact optimum, grows with n, and comes within 2 % of the width."""
    gaps: dict[int, list[float]] = {10: [], 100: [], 20_000: []}
    for seed in range(6):
        world = World(seed, SampledOptimism(1), rank=rank, error=0.0)
        actions = world.probe(5)
        pair, _, _ = world.sets()
        supports = np.array([solver_support(pair, z) for z in actions @ world.V])
        width = max(float(supports[i] + solver_support(pair, -z)) for i, z in enumerate(actions @ world.V))
        for samples, gap in gaps.items():
            world.policy.rule = SampledOptimism(samples)
            decision = world.policy.choose(actions)
            assert decision.upper <= supports.max() + 1e-7
            assert decision.upper == pytest.approx(decision.action @ decision.model, rel=1e-9)
            gap.append((supports.max() - decision.upper) / width)
    few, more, many = (np.mean(gap) for gap in gaps.values())
    assert few >= more >= many
    assert many < 0.02


@pytest.mark.parametrize("rank", [2, 3])
def test_projected_alone_is_approached_as_well(rank):
    rng = np.random.default_rng(3)
    V = np.linalg.qr(rng.standard_normal((DIM, rank)))[0]
    actions, rewards = rng.standard_normal((30, DIM)), rng.standard_normal(30)
    probe = rng.standard_normal((4, DIM))
    uppers = []
    for rule in (Optimism(), SampledOptimism(30_000), SampledOptimism(20)):
        policy = eb.Policy(Known(V, projection_error=0.2), Projected(NOISE), rule, seed=0)
        policy.learn_many(actions, rewards)
        uppers.append(policy.choose(probe).upper)
    closed, many, few = uppers
    assert few < many <= closed
    assert many == pytest.approx(closed, rel=0.02)


def test_a_belief_of_two_sets_needs_a_subspace():
    policy = eb.Policy(eb.subspace.Whole(), Projected(NOISE), Optimism())
    with pytest.raises(ValueError, match="needs a subspace with directions"):
        policy.choose(np.ones((2, 3)))
