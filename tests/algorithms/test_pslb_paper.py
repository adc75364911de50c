"""The options of the paper, each against its own equation."""

import math
from itertools import islice
from typing import Any

import numpy as np
import pytest

import eigenbandits as eb
from eigenbandits.belief.joint import JointProblem
from eigenbandits.subspace.error import subspace_distance

STRUCTURE = eb.Structure(lambda_plus=1.0, lambda_minus=1.0, sigma2=1e-5, d_x=2.0, d_psi=6.0)


def test_the_radius_of_the_main_text_as_written():
    R, S, L, ridge, delta, m, d, K = 0.5, 1.5, 2.0, 0.7, 0.05, 2, 6, 8
    policy = eb.PSLB(
        noise=R,
        theta_bound=S,
        action_bound=L,
        ridge=ridge,
        delta=delta,
        rank=m,
        projection_error="theorem-main",
        structure=STRUCTURE,
        radius="worst-case",
        refresh="every-round",
        seed=0,
    )
    rng = np.random.default_rng(3)
    # Γ = 2e-5 + 4 √1e-5, α = 6.
    phi = 2 * (2e-5 + 4 * math.sqrt(1e-5)) * math.sqrt(6 / K * math.log(2 * d / delta))
    gamma = L**2 / (ridge * math.log(1 + L**2 / ridge))
    seen = []
    for t in range(1, 31):
        actions = rng.standard_normal((K, d)) * [1.0, 1.0, 0.003, 0.003, 0.003, 0.003]
        decision = policy.choose(actions)
        found = policy.diagnostics()
        growth = math.log(1 + t * L**2 / (m * ridge))
        ellips2 = (
            R * math.sqrt(2 * math.log(1 / delta) + m * growth)
            + L * S * phi * math.sqrt(gamma * m * growth)
            + S * math.sqrt(ridge)
        )
        assert found.projection_error is not None
        if found.projection_error < 1.0:
            assert found.projection_error == pytest.approx(phi / math.sqrt(t), rel=1e-12)
            assert found.details["radius_projected"] == pytest.approx(ellips2, rel=1e-12)
            seen.append(t)
        policy.learn(decision, float(rng.standard_normal()))
    # t_w = 4 * 6 (Γ √log 240 + √(2 log 40))² / 8 = 3 (0.029659 + 2.716203)² = 22.62.
    assert seen == list(range(23, 31))


def near_a_plane(seed=0, dim=6, rank=2, arms=7):
    return eb.environments.LowRank(dim=dim, rank=rank, arms=arms, perturbation=0.3, noise=0.2).instance(seed)


def play(policy, instance, rounds):
    """Return the decisions of some rounds and the sets that they were made from; all rewards are learned."""
    decisions, sets = [], []
    for offered in islice(instance.rounds(), rounds):
        decision = policy.choose(offered.actions)
        decisions.append(decision)
        sets.append(offered.actions)
        policy.learn(decision, offered.reward(decision.index))
    return decisions, sets


JOINT: dict[str, Any] = {"noise": 0.2, "rank": 2, "theta_bound": 1.0, "rule": "joint", "refresh": "every-round"}


@pytest.mark.parametrize("error", [0.05, 0.4])
@pytest.mark.parametrize("center", ["none", "differences"])
def test_line_9_chooses_the_action_of_the_highest_joint_maximum(error, center):
    policy = eb.PSLB(**JOINT, projection_error=error, intersect=False, center=center, seed=0)
    instance = near_a_plane()
    learned: list[tuple[np.ndarray, float]] = []
    seen: list[np.ndarray] = []
    for t, offered in enumerate(islice(instance.rounds(), 12)):
        around = offered.actions.mean(axis=0) if center == "differences" else 0.0
        vectors = offered.actions - around
        seen.append(vectors)
        decision = policy.choose(offered.actions)
        # P̂, B, φ̂ and β from their definitions.
        moment = sum(rows.T @ rows for rows in seen)
        V = np.linalg.eigh(moment)[1][:, -2:]
        gram = sum((np.outer(x, x) for x, _ in learned), np.zeros((6, 6)))
        B = V.T @ gram @ V + np.eye(2)
        phi = np.linalg.solve(B, V.T @ sum((r * x for x, r in learned), np.zeros(6)))
        inverse_root = np.linalg.inv(np.linalg.cholesky(B))
        coupling = np.linalg.norm(inverse_root @ V.T @ gram @ (np.eye(6) - V @ V.T), 2)
        beta = 0.2 * math.sqrt(math.log(np.linalg.det(B)) + 2 * math.log(1 / 0.01)) + error * coupling + 1.0
        problem = JointProblem(phi, inverse_root, beta, 1.0, error, 2, 4)
        rest = vectors - vectors @ V @ V.T
        values = [problem.solve(V.T @ x, float(np.linalg.norm(y))).value for x, y in zip(vectors, rest, strict=True)]
        assert decision.upper == pytest.approx(max(values), rel=1e-6)
        assert values[decision.index] == pytest.approx(max(values), rel=1e-6)
        # The triple itself: P̃ is in C_p, θ̃ is in C_m, and together they promise what was said.
        P, theta, x = decision.projection, decision.model, vectors[decision.index]
        assert P is not None
        np.testing.assert_allclose(P @ P, P, atol=1e-10)
        assert np.trace(P) == pytest.approx(2.0)
        assert np.linalg.norm(P - V @ V.T, 2) <= error + 1e-5
        deviation = V.T @ theta - phi
        assert deviation @ B @ deviation <= beta**2 * (1 + 1e-6)
        assert np.linalg.norm(theta) <= 1.0 + 1e-7
        assert (P @ x) @ theta == pytest.approx(decision.upper, abs=1e-5)
        learned.append((x, offered.reward(decision.index)))
        policy.learn(decision, learned[-1][1])
        assert t + 1 == policy.diagnostics().rounds


def test_with_the_intersection_the_ambient_set_may_promise_less():
    policy = eb.PSLB(**JOINT, projection_error=0.4, seed=0)
    alone = eb.PSLB(**JOINT, projection_error=0.4, intersect=False, seed=0)
    ambient = eb.OFUL(noise=0.2, theta_bound=1.0, seed=0)
    with_projection = 0
    for offered in islice(near_a_plane().rounds(), 60):
        decision = policy.choose(offered.actions)
        below, above = ambient.choose(offered.actions).upper, alone.choose(offered.actions).upper
        # The highest lower value lies below the highest of either.
        assert decision.upper <= min(below, above) + 1e-9
        if decision.projection is None:
            assert decision.action @ decision.model == pytest.approx(decision.upper)
        else:
            with_projection += 1
            assert decision.projection @ decision.action @ decision.model == pytest.approx(decision.upper, abs=1e-5)
        reward = offered.reward(decision.index)
        for one in (policy, alone, ambient):
            one.learn(decision.action, reward)
    assert 0 < with_projection < 60


def test_where_the_subspace_is_known_and_s_is_far_the_joint_maximum_is_the_closed_form():
    options: dict[str, Any] = {
        "noise": 0.2,
        "rank": 2,
        "theta_bound": 5.0,
        "projection_error": 0.0,
        "intersect": False,
        "seed": 0,
    }
    joint, plain = eb.PSLB(**options, rule="joint"), eb.PSLB(**options)
    rng = np.random.default_rng(5)
    taught = rng.standard_normal((400, 5)) * [1.0, 1.0, 0.1, 0.1, 0.1]
    for policy in (joint, plain):
        policy.observe(taught)
        policy.learn_many(taught, taught @ [0.6, -0.3, 0.0, 0.0, 0.0])
    for _ in range(10):
        actions = rng.standard_normal((6, 5))
        one, other = joint.choose(actions), plain.choose(actions)
        assert one.index == other.index
        assert one.upper == pytest.approx(other.upper, rel=1e-6)
        np.testing.assert_allclose(one.model, other.model, atol=1e-4)


def test_other_rules_choose_no_projection():
    decisions, _ = play(eb.PSLB(noise=0.2, rank=2, seed=0), near_a_plane(), 3)
    assert decisions[-1].projection is None
    # Before the subspace is known at all the ambient set decides alone.
    warm, _ = play(eb.PSLB(**JOINT, projection_error=1.0, seed=0), near_a_plane(), 3)
    assert warm[-1].projection is None
    with pytest.raises(ValueError, match="JointOptimism needs joint, but Ambient offers only"):
        eb.Policy(eb.subspace.Whole(), eb.belief.Ambient(0.1), eb.rules.JointOptimism())


@pytest.mark.parametrize("intersect", [True, False])
def test_the_streaming_subspace_is_one_more_choice(intersect):
    instance = near_a_plane(dim=60, rank=2, arms=10)
    known: dict[str, Any] = {"noise": 0.2, "rank": 2, "intersect": intersect, "seed": 0}
    streamed, exact = eb.PSLB(**known, subspace="streaming"), eb.PSLB(**known)
    regrets = [eb.run(policy, instance, 400).regret[-1] for policy in (streamed, exact)]
    assert streamed.params()["subspace"] == "streaming"
    found, truth = streamed.subspace.current(), exact.subspace.current()
    assert found is not None
    assert truth is not None
    assert isinstance(streamed.subspace, eb.subspace.Streaming)
    # Both find the plane, by different ways; random choices lose 337.
    assert 1e-12 < subspace_distance(found.directions, truth.directions) < 0.1
    assert max(regrets) < 20.0
    held = [value for part in (streamed.subspace, streamed.belief) for value in numbers(part.state())]
    if intersect:
        assert max(held) >= 60 * 60  # C_d is a set in all dimensions
    else:
        assert max(held) <= 60 * (2 + 4)  # the block has four spare directions


def numbers(state):
    """Return how many numbers each array of a state holds."""
    for value in state.values():
        if isinstance(value, dict):
            yield from numbers(value)
        elif isinstance(value, np.ndarray):
            yield value.size


def test_streaming_refuses_what_it_cannot_do():
    with pytest.raises(ValueError, match="projection_error is 'theorem-main'; expected one of 'estimated'"):
        eb.PSLB(noise=0.2, subspace="streaming", projection_error="theorem-main", structure=STRUCTURE)
    with pytest.raises(ValueError, match="subspace is 'stream'; expected"):
        eb.PSLB(noise=0.2, subspace="stream")


RANDOM = np.random.default_rng(0).standard_normal((6, 4, 5))
DEGENERATE: dict[str, tuple[np.ndarray, dict[str, Any]]] = {
    "one dimension": (RANDOM[:, :, :1], {"rank": 1}),
    "nothing outside": (RANDOM[:, :, :2], {}),
    "one direction outside": (RANDOM[:, :, :3], {}),
    "all inside": (RANDOM * [1.0, 1.0, 0.0, 0.0, 0.0], {}),
    "zeros": (np.zeros((3, 4, 5)), {}),
    "all the same": (np.ones((3, 4, 5)), {}),
    "tiny": (1e-8 * RANDOM, {}),
    "huge": (1e30 * RANDOM, {}),
    "an intercept": (RANDOM + 1.0, {"center": "mean"}),
    "single precision": (RANDOM, {"dtype": "float32"}),
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", DEGENERATE)
@pytest.mark.parametrize("intersect", [True, False])
@pytest.mark.parametrize("error", ["estimated", 0.3, 0.0, 1.0])
def test_the_joint_maximum_of_degenerate_actions(name, intersect, error):
    sets, options = DEGENERATE[name]
    told: dict[str, Any] = {
        "noise": 0.2,
        "rank": 2,
        "rule": "joint",
        "intersect": intersect,
        "projection_error": error,
        "seed": 0,
    }
    policy = eb.PSLB(**(told | options))
    for t, actions in enumerate(sets):
        decision = policy.choose(actions)
        assert math.isfinite(decision.upper)
        assert np.isfinite(decision.model).all()
        if decision.projection is not None:
            P = decision.projection
            np.testing.assert_allclose(P, P @ P, atol=1e-9)
            assert np.trace(P) == pytest.approx(options.get("rank", 2))
        policy.learn(decision, math.sin(t))
