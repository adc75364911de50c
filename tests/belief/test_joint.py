"""The joint maximum of Algorithm 1, line 9: against closed forms, a convex solver, chance and an independent search."""

import math
from dataclasses import dataclass

import cvxpy as cp
import numpy as np
import pytest
from scipy import optimize

from eigenbandits.belief.joint import JointProblem
from eigenbandits.belief.plausible import outside_direction, plausible_basis


@dataclass
class Case:
    """A span, an action, an ellipsoid for V̂ᵀθ and S; everything in plain matrices."""

    V: np.ndarray
    x: np.ndarray
    center: np.ndarray
    B: np.ndarray
    beta: float
    S: float
    error: float

    @property
    def problem(self):
        d, m = self.V.shape
        whitening = np.linalg.inv(np.linalg.cholesky(self.B))
        return JointProblem(self.center, whitening, self.beta, self.S, self.error, m, d - m)

    def solve(self):
        z = self.V.T @ self.x
        return self.problem.solve(z, float(np.linalg.norm(self.x - self.V @ z)))

    def best_model(self, y):
        """Return max yᵀθ over θ with ‖V̂ᵀθ − φ̂‖_B ≤ β and ‖θ‖ ≤ S by a convex solver, and the θ."""
        theta = cp.Variable(len(self.x))
        root = np.linalg.cholesky(self.B).T
        inside = [cp.norm(root @ (self.V.T @ theta - self.center)) <= self.beta, cp.norm(theta) <= self.S]
        problem = cp.Problem(cp.Maximize(y @ theta), inside)
        problem.solve(solver=cp.CLARABEL)
        return float(problem.value), theta.value


def make(seed, m=None, more=None, error=None, beta=None, length=None):
    rng = np.random.default_rng(seed)
    m = int(rng.integers(1, 4)) if m is None else m
    d = m + (int(rng.integers(1, 4)) if more is None else more)
    A = rng.standard_normal((m, m))
    S = float(rng.uniform(0.5, 2.0))
    center = rng.standard_normal(m)
    center *= (rng.uniform(0.0, 0.95) if length is None else length) * S / np.linalg.norm(center)
    return Case(
        V=np.linalg.qr(rng.standard_normal((d, m)))[0],
        x=rng.standard_normal(d) * rng.uniform(0.2, 3.0),
        center=center,
        B=A @ A.T + 0.5 * np.eye(m),
        beta=float(rng.uniform(0.05, 1.2)) if beta is None else beta,
        S=S,
        error=float(rng.choice([0.02, 0.1, 0.3, 0.6, 0.9])) if error is None else error,
    )


def outside_of(V):
    return np.linalg.svd(V, full_matrices=True)[0][:, V.shape[1] :]


def turned(V, graph, error):
    """Return the projection onto the graph of a (d − m, m) matrix over span(V), made no wider than ε allows."""
    widest = error / math.sqrt(1 - error**2)
    largest = np.linalg.norm(graph, 2)
    if largest > widest:
        graph = graph * (widest / largest)
    basis = np.linalg.qr(V + outside_of(V) @ graph)[0]
    return basis @ basis.T


@pytest.mark.parametrize("seed", range(40))
def test_the_optimum_is_attained_by_a_projection_and_a_model_of_both_sets(seed):
    case = make(seed, error=1.0 if seed % 8 == 7 else None)
    found = case.solve()
    basis = plausible_basis(case.V, case.x, found)
    d, m = case.V.shape
    assert basis.shape == (d, m)
    np.testing.assert_allclose(basis.T @ basis, np.eye(m), atol=1e-12)
    P = basis @ basis.T
    assert np.linalg.norm(P - case.V @ case.V.T, 2) <= case.error + 1e-5
    b = outside_direction(case.V, case.x, found)
    length = float(np.linalg.norm(b))
    theta = case.V @ found.parameter + (found.rest * b / length if length > 1e-12 else 0.0)
    assert np.linalg.norm(theta) <= case.S * (1 + 1e-7)
    deviation = case.V.T @ theta - case.center
    assert math.sqrt(deviation @ case.B @ deviation) <= case.beta * (1 + 1e-7)
    assert float((P @ case.x) @ theta) == pytest.approx(found.value, abs=1e-5 * np.linalg.norm(case.x) * case.S)


@pytest.mark.parametrize("seed", range(12))
def test_no_projection_by_chance_exceeds_it(seed):
    case = make(seed)
    best = case.solve().value
    rng = np.random.default_rng(1000 + seed)
    d, m = case.V.shape
    size = np.linalg.norm(case.x) * case.S
    for _ in range(25):
        graph = rng.standard_normal((d - m, m)) * 10.0 ** rng.uniform(-2, 2)
        value, _ = case.best_model(turned(case.V, graph, case.error) @ case.x)
        assert value <= best + 1e-6 * size


@pytest.mark.parametrize("seed", range(4))
def test_an_independent_search_reaches_it_and_goes_no_further(seed):
    """The search goes over graphs and models in all d dimensions, not over the few numbers that the library uses."""
    case = make(seed, m=1 + seed % 2, more=2)
    best = case.solve().value
    rng = np.random.default_rng(seed)
    d, m = case.V.shape
    size = float(np.linalg.norm(case.x)) * case.S
    reached = -math.inf
    for start in range(8):
        graph = np.zeros((d - m, m)) if start == 0 else rng.standard_normal((d - m, m))
        P, last = turned(case.V, graph, case.error), -math.inf
        for _ in range(60):
            value, theta = case.best_model(P @ case.x)
            if value < last + 1e-8 * size:
                break
            last = value

            def promise(flat, theta=theta):
                return -float(case.x @ turned(case.V, flat.reshape(d - m, m), case.error) @ theta)

            step = optimize.minimize(promise, graph.ravel(), method="Powell", options={"xtol": 1e-6, "ftol": 1e-10})
            graph = step.x.reshape(d - m, m)
            P = turned(case.V, graph, case.error)
        reached = max(reached, last)
    assert reached <= best + 1e-6 * size
    assert reached >= best - 2e-3 * size


def one_dimension(case):
    """Return the maximum for m = 1 in closed form.

    P′ = ggᵀ with g = cos η v̂ + sin η w, |η| ≤ Θ, and w = ±q/‖q‖ at the optimum, so that with x at the angle ξ and θ at
    ζ from v̂ the value is ‖x‖ S cos(η − ξ) cos(η − ζ). The maximum over η in [−Θ, Θ] and ζ in ±[ζ₀, ζ₁] lies at
    η = ±Θ with ζ at an end or next to η, or inside with 2η = ξ + ζ and ζ at an end or ζ = ξ.
    """
    v = case.V[:, 0] * (1.0 if case.V[:, 0] @ case.x >= 0.0 else -1.0)
    center = case.center[0] * float(np.sign(v @ case.V[:, 0]))
    p = float(v @ case.x)
    xi = math.atan2(float(np.linalg.norm(case.x - p * v)), p)
    half = case.beta / math.sqrt(case.B[0, 0])
    ends = [math.acos(np.clip((center + side * half) / case.S, -1.0, 1.0)) for side in (1.0, -1.0)]
    widest = math.asin(case.error)

    def allowed(zeta):
        return ends[0] - 1e-12 <= abs(zeta) <= ends[1] + 1e-12

    pairs = []
    for zeta in [sign * zeta for sign in (1, -1) for zeta in (*ends, xi, widest, math.pi - widest)]:
        if allowed(zeta):
            inner = [(xi + zeta) / 2 + turn for turn in (-math.pi, 0.0, math.pi)]
            pairs += [(eta, zeta) for eta in (widest, -widest, *inner) if abs(eta) <= widest + 1e-12]
    return float(np.linalg.norm(case.x)) * case.S * max(math.cos(e - xi) * math.cos(e - z) for e, z in pairs)


@pytest.mark.parametrize("seed", range(60))
def test_one_dimension_has_a_closed_form(seed):
    case = make(seed, m=1, more=1 + seed % 3)
    assert case.solve().value == pytest.approx(one_dimension(case), abs=1e-6 * case.S * np.linalg.norm(case.x))


@pytest.mark.parametrize("seed", range(10))
def test_a_known_subspace_leaves_a_convex_problem(seed):
    case = make(seed, error=0.0)
    value, _ = case.best_model(case.V @ (case.V.T @ case.x))
    assert case.solve().value == pytest.approx(value, abs=1e-5)
    # Nothing outside: there is one projection only, whatever ε.
    square = make(seed, m=3, more=0, error=0.5)
    value, _ = square.best_model(square.x)
    assert square.solve().value == pytest.approx(value, abs=1e-5)


@pytest.mark.parametrize("seed", range(30))
def test_it_lies_between_the_estimate_and_what_the_proof_puts_for_it(seed):
    case = make(seed)
    z = case.V.T @ case.x
    outside = float(np.linalg.norm(case.x - case.V @ z))
    found = case.solve().value
    assert z @ case.center - 1e-9 <= found
    by_hand = z @ case.center + case.beta * math.sqrt(z @ np.linalg.solve(case.B, z))
    by_hand += case.error * case.S * np.linalg.norm(case.x)
    assert case.problem.bounds(z[None], np.array([outside]))[0] == pytest.approx(by_hand)
    assert found <= by_hand + 1e-9
    wider = Case(case.V, case.x, case.center, case.B, case.beta, case.S, min(1.0, 1.3 * case.error))
    assert wider.solve().value >= found - 1e-7


def test_an_intercept_is_no_direction_that_a_projection_turns():
    # B = I, β = 0: φ = (0.3, 0.4) is known, and S = 0.5 leaves nothing outside; x = (1, 2) with an intercept of 1.
    joint = JointProblem(np.array([0.3, 0.4]), np.eye(2), 0.0, 0.5, 0.6, 1, 3)
    # g = (cos η, sin η): (cos η + 2 sin η) 0.3 cos η + 0.4, greatest where tan 2η = 2, tan η = 0.618 < tan Θ = 0.75.
    eta = 0.5 * math.atan(2.0)
    by_hand = (math.cos(eta) + 2 * math.sin(eta)) * 0.3 * math.cos(eta) + 0.4
    assert joint.solve(np.array([1.0, 1.0]), 2.0).value == pytest.approx(by_hand, abs=1e-3)


def test_where_no_model_is_short_enough_the_shortest_takes_the_place_of_s():
    case = make(3, m=2, more=2, length=5.0, beta=0.1)
    phi = cp.Variable(2)
    root = np.linalg.cholesky(case.B).T
    problem = cp.Problem(cp.Minimize(cp.norm(phi)), [cp.norm(root @ (phi - case.center)) <= case.beta])
    problem.solve(solver=cp.CLARABEL)
    assert problem.value > case.S
    widened = Case(case.V, case.x, case.center, case.B, case.beta, float(problem.value) * (1 + 1e-6), case.error)
    assert case.solve().value == pytest.approx(widened.solve().value, rel=1e-3)


def test_no_action_earns_nothing():
    assert make(0, m=2).problem.solve(np.zeros(2), 0.0).value == 0.0
