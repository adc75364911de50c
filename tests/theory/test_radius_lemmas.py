"""The lemmas behind the radii, and the order of the radii, checked on random matrices."""

import math

import numpy as np
import pytest

from eigenbandits.theory import radius

L = 1.5
DIM, RANK = 12, 3
CASES = [(seed, rounds, ridge) for seed in range(4) for rounds in (1, 20, 300) for ridge in (1e-4, 1.0, 50.0)]


def basis(rng, dim, rank):
    return np.linalg.qr(rng.standard_normal((dim, rank)))[0]


def tilted(rng, V, angle):
    """Return an orthonormal basis that leaves span(V) by about `angle`."""
    return np.linalg.qr(V + angle * basis(rng, *V.shape))[0]


class World:
    """Chosen actions of norm at most L, a true and an estimated subspace, and what a belief makes of them."""

    def __init__(self, seed, rounds, ridge):
        rng = np.random.default_rng(seed)
        self.rounds, self.ridge = rounds, ridge
        self.V = basis(rng, DIM, RANK)
        self.V_hat = tilted(rng, self.V, 0.3)
        signal = rng.standard_normal((rounds, RANK)) @ self.V.T
        X = signal + 0.2 * rng.standard_normal((rounds, DIM))
        norms = np.linalg.norm(X, axis=1, keepdims=True)
        # Half of the actions lie exactly on the bound, where the lemmas are tightest.
        lengths = np.where(rng.random((rounds, 1)) < 0.5, 1.0, rng.random((rounds, 1)))
        self.X = X / norms * L * lengths
        self.gram = self.X.T @ self.X
        self.B = self.V_hat.T @ self.gram @ self.V_hat + ridge * np.eye(RANK)
        self.Z = self.gram + ridge * np.eye(DIM)
        values, vectors = np.linalg.eigh(self.B)
        self.half = vectors / np.sqrt(values) @ vectors.T
        self.leak = np.eye(DIM) - self.V_hat @ self.V_hat.T
        self.error = np.linalg.norm(self.V @ self.V.T - self.V_hat @ self.V_hat.T, 2)
        self.general = np.linalg.norm(self.half @ self.V_hat.T @ self.gram, 2)
        self.sharp = np.linalg.norm(self.half @ self.V_hat.T @ self.gram @ self.leak, 2)
        self.theta = self.V @ rng.standard_normal(RANK)
        self.theta *= 2.0 / np.linalg.norm(self.theta)

    def known(self, noise):
        return {"noise": noise, "delta": 0.05, "theta_bound": 2.0, "ridge": self.ridge}


@pytest.fixture(params=CASES, ids=lambda case: f"seed{case[0]}-t{case[1]}-ridge{case[2]:g}")
def world(request):
    return World(*request.param)


def log_det_ratio(matrix, ridge):
    return np.linalg.slogdet(matrix)[1] - len(matrix) * math.log(ridge)


def slack(value):
    return value * (1 + 1e-12) + 1e-12


def test_lemma_11_det_at(world):
    # det(B) <= (λ + tL²/m)^m.
    bound = RANK * math.log(world.ridge + world.rounds * L**2 / RANK)
    assert np.linalg.slogdet(world.B)[1] <= bound + 1e-10


def test_lemma_12_self_norm_proj(world):
    # The sum over i of ‖V̂ᵀX_i‖² in the inverse of B before X_i <= γ m log(1 + tL²/(mλ)).
    before, total = world.ridge * np.eye(RANK), 0.0
    for x in world.X @ world.V_hat:
        total += x @ np.linalg.solve(before, x)
        before += np.outer(x, x)
    growth = RANK * math.log1p(world.rounds * L**2 / (RANK * world.ridge))
    assert total <= slack(radius.gamma(action_bound=L, ridge=world.ridge) * growth)


def test_lemma_13_sec_term(world):
    # ‖B^{-1/2} V̂ᵀ Σ‖ <= L √(γ m t log(1 + tL²/(mλ))).
    growth = math.log1p(world.rounds * L**2 / (RANK * world.ridge))
    factor = radius.gamma(action_bound=L, ridge=world.ridge)
    assert world.general <= slack(L * math.sqrt(factor * RANK * world.rounds * growth))


def test_sharp_is_below_general_is_below_worst_case(world):
    known = {**world.known(noise=0.7), "projection_error": 0.4}
    ratio = log_det_ratio(world.B, world.ridge)
    sharp = radius.beta(**known, log_det_ratio=ratio, coupling=world.sharp)
    general = radius.beta(**known, log_det_ratio=ratio, coupling=world.general)
    worst = radius.beta_worst_case(**known, rounds=world.rounds, action_bound=L, rank=RANK)
    assert sharp <= slack(general)
    assert general <= slack(worst)


def test_the_sharp_coupling_bounds_the_term_it_stands_for(world):
    # ‖B^{-1/2} V̂ᵀ Σ (P - P̂) θ*‖ <= ε S ‖B^{-1/2} V̂ᵀ Σ (I - P̂)‖ for θ* in span(V).
    difference = world.V @ world.V.T - world.V_hat @ world.V_hat.T
    term = np.linalg.norm(world.half @ world.V_hat.T @ world.gram @ difference @ world.theta)
    assert term <= slack(world.error * 2.0 * world.sharp)


def test_without_noise_theta_is_in_the_set_for_certain(world):
    # Theorem 8 with R = 0 leaves nothing to chance: ‖φ̂ - V̂ᵀθ*‖_B <= β.
    rewards = world.X @ world.theta
    estimate = np.linalg.solve(world.B, world.V_hat.T @ world.X.T @ rewards)
    miss = estimate - world.V_hat.T @ world.theta
    known = {**world.known(noise=0.0), "projection_error": world.error}
    ratio = log_det_ratio(world.B, world.ridge)
    assert math.sqrt(miss @ world.B @ miss) <= slack(radius.beta(**known, log_det_ratio=ratio, coupling=world.sharp))


def test_omega_logdet_is_below_oful_is_below_paper(world):
    known = world.known(noise=0.7)
    tight = radius.omega_logdet(**known, log_det_ratio=log_det_ratio(world.Z, world.ridge))
    oful = radius.omega_paper(**known, rounds=world.rounds, action_bound=L, dim=DIM)
    paper = radius.omega_paper(**known, rounds=world.rounds, action_bound=L, dim=DIM, rank=RANK)
    assert tight <= slack(oful)
    assert oful < paper


def test_the_sharp_coupling_grows_more_slowly_than_the_general_one():
    # For isotropic perturbations V̂ᵀΣ grows as t but V̂ᵀΣ(I - P̂) as √t, and B^{-1/2} takes √t from each. The
    # subspace is exact here, so that nothing but sampling leaks.
    rng = np.random.default_rng(0)
    V = basis(rng, DIM, RANK)
    couplings = []
    for rounds in (1_000, 100_000):
        X = rng.standard_normal((rounds, RANK)) @ V.T + 0.2 * rng.standard_normal((rounds, DIM))
        gram = X.T @ X
        values, vectors = np.linalg.eigh(V.T @ gram @ V + np.eye(RANK))
        cross = vectors / np.sqrt(values) @ vectors.T @ V.T @ gram
        couplings.append((np.linalg.norm(cross, 2), np.linalg.norm(cross - cross @ V @ V.T, 2)))
    (general_early, sharp_early), (general_late, sharp_late) = couplings
    assert general_late / general_early == pytest.approx(10.0, rel=0.1)
    assert sharp_late / sharp_early < 2.0
