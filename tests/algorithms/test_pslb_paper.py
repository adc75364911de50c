"""The options of the paper, each against its own equation."""

import math

import numpy as np
import pytest

import eigenbandits as eb

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
        if found["projection_error"] < 1.0:
            assert found["projection_error"] == pytest.approx(phi / math.sqrt(t), rel=1e-12)
            assert found["radius_projected"] == pytest.approx(ellips2, rel=1e-12)
            seen.append(t)
        policy.learn(decision, float(rng.standard_normal()))
    # t_w = 4 * 6 (Γ √log 240 + √(2 log 40))² / 8 = 3 (0.029659 + 2.716203)² = 22.62.
    assert seen == list(range(23, 31))
