"""The paper's structural quantities against numbers worked out by hand, and Φ against real subspaces."""

import dataclasses
import itertools
import math
from typing import Any

import numpy as np
import pytest

from eigenbandits import theory
from eigenbandits.theory import Structure

# By hand throughout, with d = 8, m = 2, K = 5, δ = 0.05:
#   g_x = 4, g_ψ = 1, Γ = 2 + 4 √4 = 10, α = 8,
#   log(2d/δ) = log 320 = 6 log 2 + log 5 = 5.768320995793772,
#   log(m/δ)  = log 40  = 3 log 2 + log 5 = 3.688879454113936.
HARD = Structure(lambda_plus=4.0, lambda_minus=1.0, sigma2=1.0, d_x=3.0, d_psi=8.0)
SIZES: dict[str, Any] = {"dim": 8, "rank": 2, "delta": 0.05}


def random_structures(count, *, same_dimensions=False):
    rng = np.random.default_rng(7)
    for _ in range(count):
        low = 10.0 ** rng.uniform(-8, 8)
        high = low * 10.0 ** rng.uniform(0, 3)
        d_x, d_psi = 10.0 ** rng.uniform(0, 3, size=2)
        if same_dimensions:
            d_x = max(d_x, d_psi)
        yield Structure(high, low, low * 10.0 ** rng.uniform(-4, 2), d_x, d_psi)


def test_quantities_by_hand():
    assert theory.g_x(HARD) == 4.0
    assert theory.g_psi(HARD) == 1.0
    assert theory.difficulty(HARD) == 10.0
    assert theory.alpha(HARD) == 8.0
    assert theory.alpha(dataclasses.replace(HARD, d_x=9.0)) == 9.0


def test_warm_up_by_hand():
    # 4 * 8 (10 √5.768320995793772 + √(8 * 3.688879454113936))² = 32 (24.017329151664163 + 5.432406062962478)²
    #                                                         = 32 * 29.449735214626641² = 32 * 867.2869042116
    assert theory.n_delta(HARD, **SIZES) == pytest.approx(27753.180934771854, rel=1e-13)
    assert theory.t_w(HARD, arms=5, **SIZES) == pytest.approx(5550.6361869543709, rel=1e-13)
    # (√(24/5 log 40) + 10 √(8/5 log 320))² = (4.2079236423379755 + 30.379785373287343)²
    assert theory.t_min(HARD, arms=5, **SIZES) == pytest.approx(1196.3096149495689, rel=1e-13)
    # 2 * 10 √(8/5 log 320) = 2 * 30.379785373287343
    assert theory.phi_delta(HARD, arms=5, dim=8, delta=0.05) == pytest.approx(60.759570746574685, rel=1e-13)


def test_projection_error_by_hand():
    # n = 100,000: the numerator is 10 √(8 * 5.768320995793772 / n) = 0.2148175224844337, the root beside it
    # √(24 * 3.688879454113936 / n) = 0.029754513422123789: 0.2148175 / (1 - 0.0297545 - 0.2148175).
    assert theory.projection_error(HARD, 100_000, **SIZES) == pytest.approx(0.28436533024327107, rel=1e-13)
    # K may differ from round to round, so n need not be whole, nor a multiple of anything.
    assert theory.projection_error(HARD, 100_000.5, **SIZES) < 0.28436533024327107


def test_projection_error_is_one_until_warm_up_is_over():
    # n_δ = 27753.18 (above).
    for seen in (0, 1, 1000, 27753, 27753.18):
        assert theory.projection_error(HARD, seen, **SIZES) == 1.0
    assert theory.projection_error(HARD, 27754, **SIZES) < 1.0


def test_projection_error_leaves_one_exactly_at_warm_up_when_the_dimensions_agree():
    for structure in random_structures(50, same_dimensions=True):
        vectors = theory.n_delta(structure, **SIZES)
        assert theory.projection_error(structure, math.nextafter(vectors, 0.0), **SIZES) == 1.0
        assert theory.projection_error(structure, vectors, **SIZES) < 1.0


def test_the_formula_of_phi_itself_passes_one_before_warm_up():
    # b/(√n - a - b) = 1 at √n = a + 2b: (√(24 log 40) + 20 √(8 log 320))² = 21103.88 < 27753.18 vectors, so
    # n_δ is enough for a bound below 1 but not the least that is.
    a, b = math.sqrt(24 * 3.688879454113936), 10 * math.sqrt(8 * 5.768320995793772)
    assert (a + 2 * b) ** 2 == pytest.approx(21103.876635866990, rel=1e-13)
    assert (a + 2 * b) ** 2 < theory.n_delta(HARD, **SIZES)


def test_warm_up_is_four_times_t_min_only_when_the_dimensions_agree():
    for structure in random_structures(50, same_dimensions=True):
        four = 4.0 * theory.t_min(structure, arms=5, **SIZES)
        assert theory.t_w(structure, arms=5, **SIZES) == pytest.approx(four, rel=1e-12)
    # HARD has d_x = 3 < α = 8: 4 * 1196.31 = 4785.24 < 5550.64.
    assert theory.t_w(HARD, arms=5, **SIZES) > 4.0 * theory.t_min(HARD, arms=5, **SIZES) + 700.0


def test_warm_up_can_end_before_the_bernstein_step_allows():
    # Γ = 0, g_x = 1, m = 1, δ = 0.3: n_δ = 8 α log(1/0.3) = 8 * 1.2040 α = 9.63 α, but the proof asks
    # (16/9) α log(2 * 1000 / 0.3) = 1.7778 * 8.8049 α = 15.65 α.
    structure = Structure(1.0, 1.0, 0.0, 1.0, 1000.0)
    vectors = theory.n_delta(structure, dim=1000, rank=1, delta=0.3)
    assert vectors == pytest.approx(1000.0 * 8 * 1.2039728043259360, rel=1e-13)
    assert vectors < 16 / 9 * 1000.0 * 8.8048752638680184


def test_projection_error_goes_to_zero_as_one_over_root_n():
    for structure in random_structures(20):
        errors = [theory.projection_error(structure, 10.0**power, **SIZES) for power in range(0, 31, 2)]
        assert all(late <= early for early, late in itertools.pairwise(errors))
        assert errors[-1] < 1e-3
        far, farther = (theory.projection_error(structure, n, **SIZES) for n in (1e30, 1e32))
        assert far / farther == pytest.approx(10.0, rel=1e-3)


def test_projection_error_is_below_the_form_of_the_main_text():
    # Lemma 2 follows from Lemma 7 by putting 1/2 for the denominator.
    for structure in random_structures(20):
        start = theory.t_w(structure, arms=5, **SIZES)
        phi = theory.phi_delta(structure, arms=5, dim=8, delta=0.05)
        for rounds in (start * 1.0001, start * 10, start * 1e4):
            general = theory.projection_error(structure, 5 * rounds, **SIZES)
            assert general <= phi / math.sqrt(rounds)
            assert phi / math.sqrt(rounds) < 1.0


def test_the_main_text_by_hand():
    # n = 100,000: twice the numerator of Φ above, 2 * 0.2148175224844337; in the paper's own words φ_δ/√t with K = 5
    # and t = 20,000: 60.759570746574685 / 141.4213562373095.
    assert theory.projection_error_main(HARD, 100_000, **SIZES) == pytest.approx(0.4296350449688674, rel=1e-13)
    in_rounds = theory.phi_delta(HARD, arms=5, dim=8, delta=0.05) / math.sqrt(20_000)
    assert in_rounds == pytest.approx(0.4296350449688674, rel=1e-13)
    # Nothing is said of t < t_w.
    assert theory.projection_error_main(HARD, 27753, **SIZES) == 1.0
    # From n_δ = 27753.18 on it is below 1: 2 * 67.93126539425 / √27754 = 0.815522.
    assert theory.projection_error_main(HARD, 27754, **SIZES) == pytest.approx(0.815522, rel=1e-5)


def test_the_main_text_is_phi_with_a_half_for_the_denominator():
    for structure in random_structures(50):
        vectors = theory.n_delta(structure, **SIZES) * 1.0001
        for n in (vectors, 10 * vectors, 1e4 * vectors):
            general, main = (f(structure, n, **SIZES) for f in (theory.projection_error, theory.projection_error_main))
            root = math.sqrt(2 * structure.d_x * theory.g_x(structure) * math.log(40) / n)
            denominator = 1.0 - root - main / 2
            assert 0.5 <= denominator <= 1.0
            assert general == pytest.approx(main / 2 / denominator, rel=1e-9)


def test_what_makes_the_subspace_harder_lengthens_warm_up():
    base = theory.n_delta(HARD, **SIZES)
    for name, value in {"lambda_plus": 5.0, "lambda_minus": 0.9, "sigma2": 1.1, "d_psi": 9.0}.items():
        assert theory.n_delta(dataclasses.replace(HARD, **{name: value}), **SIZES) > base, name
    for name, number in {"dim": 9, "rank": 3, "delta": 0.04}.items():
        assert theory.n_delta(HARD, **{**SIZES, name: number}) > base, name
    assert theory.t_w(HARD, arms=6, **SIZES) < theory.t_w(HARD, arms=5, **SIZES)


@pytest.mark.parametrize("unit", [1e-8, 1e8])
def test_the_unit_of_the_actions_does_not_matter(unit):
    scaled = Structure(4.0 * unit, unit, unit, 3.0, 8.0)
    assert theory.n_delta(scaled, **SIZES) == pytest.approx(27753.180934771854, rel=1e-12)


def test_no_perturbation_needs_sampling_only():
    clean = Structure(1.0, 1.0, 0.0, 2.0, 0.0)
    # n_δ = 8 α log 40 = 16 * 3.688879454113936 = 59.02; beyond it the subspace is exact.
    assert theory.difficulty(clean) == 0.0
    assert theory.projection_error(clean, 59, **SIZES) == 1.0
    assert theory.projection_error(clean, 60, **SIZES) == 0.0


@pytest.mark.parametrize("vectors", [400, 4_000])
def test_phi_bounds_the_true_error_in_an_easy_instance(vectors):
    # d = 6, m = 2, signs of size 1 in the subspace and of size 0.1 around it: every bound of Assumption 1 is
    # met with equality by d_x = 2 and d_psi = 6. n_δ = 328. The lemma allows a share 3δ of failures.
    structure, delta, trials = Structure(1.0, 1.0, 0.01, 2.0, 6.0), 0.05, 200
    bound = theory.projection_error(structure, vectors, dim=6, rank=2, delta=delta)
    rng = np.random.default_rng(11)
    errors = np.empty(trials)
    for trial in range(trials):
        V = np.linalg.qr(rng.standard_normal((6, 2)))[0]
        seen = rng.choice([-1.0, 1.0], (vectors, 2)) @ V.T + rng.choice([-0.1, 0.1], (vectors, 6))
        V_hat = np.linalg.eigh(seen.T @ seen)[1][:, -2:]
        errors[trial] = np.linalg.norm(V_hat @ V_hat.T - V @ V.T, 2)
    assert bound < 1.0
    assert np.mean(errors > bound) <= 3 * delta
    # Worst-case constants are paid for: the bound is wide, but not by more than two orders of magnitude.
    assert 1.0 < bound / np.median(errors) < 100.0


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"lambda_minus": 0.0}, "^lambda_minus is 0; expected a number above 0.$"),
        ({"lambda_plus": 0.5}, "^lambda_plus is 0.5; expected at least lambda_minus, 1.$"),
        ({"sigma2": -1.0}, "^sigma2 is -1; expected"),
        ({"d_x": 0.0}, "^d_x is 0; expected"),
        ({"d_psi": math.nan}, "^d_psi is nan; expected a finite number.$"),
        ({"lambda_plus": "4"}, "^lambda_plus is '4'; expected a number.$"),
    ],
)
def test_a_bad_structure_is_refused_in_one_sentence(changes, message):
    with pytest.raises(ValueError, match=message):
        dataclasses.replace(HARD, **changes)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rank": 9}, "^rank is 9; expected at most dim, 8.$"),
        ({"rank": 0}, "^rank is 0; expected"),
        ({"dim": 8.5}, "^dim is 8.5; expected"),
        ({"delta": 1.0}, "^delta is 1; expected"),
        ({"vectors_seen": -1}, "^vectors_seen is -1; expected"),
    ],
)
def test_bad_sizes_are_refused_in_one_sentence(changes, message):
    with pytest.raises(ValueError, match=message):
        theory.projection_error(HARD, **{"vectors_seen": 10, **SIZES, **changes})


def test_structure_is_frozen_and_holds_plain_floats():
    fields: list[Any] = [np.float32(4), 1, np.int64(1), 3, 8]
    structure = Structure(*fields)
    assert [type(value) for value in dataclasses.astuple(structure)] == [float] * 5
    assert structure == HARD
    with pytest.raises(dataclasses.FrozenInstanceError):
        structure.sigma2 = 2.0  # type: ignore[misc]


def test_every_radius_can_be_found_here():
    from eigenbandits.theory import radius

    for name in ("beta", "beta_worst_case", "gamma", "noise_radius", "omega_logdet", "omega_paper", "spend"):
        assert getattr(theory, name) is getattr(radius, name)
