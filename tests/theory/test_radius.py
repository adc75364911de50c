"""The confidence radii against numbers worked out by hand, and against the matrices they speak of."""

import math
from typing import Any

import numpy as np
import pytest

from eigenbandits.theory import radius

# R, S, λ, δ of the worked examples, and L = 2.
KNOWN: dict[str, Any] = {"noise": 0.5, "theta_bound": 3.0, "ridge": 2.0, "delta": 0.1}
WITH_L: dict[str, Any] = {**KNOWN, "action_bound": 2.0}


# --- by hand: log 2 = 0.693147180559945, log 3 = 1.098612288668110, log 10 = 2.302585092994046 ---


def test_gamma_by_hand():
    # L²/λ = 4/2 = 2, so γ = 2 / log 3 = 2 / 1.098612288668110.
    assert radius.gamma(action_bound=2.0, ridge=2.0) == pytest.approx(1.8204784532536748, rel=1e-14)


@pytest.mark.parametrize("ratio", [1e-300, 1e-24, 1e-16, 1e-8, 1e-3])
def test_gamma_at_tiny_ratios_follows_its_series(ratio):
    # x / log(1 + x) = 1 + x/2 - x²/12 + O(x³).
    expected = 1.0 + ratio / 2.0 - ratio**2 / 12.0
    assert radius.gamma(action_bound=1.0, ridge=1.0 / ratio) == pytest.approx(expected, rel=1e-10)


def test_gamma_is_one_at_zero_and_grows_with_the_ratio():
    assert radius.gamma(action_bound=0.0, ridge=1.0) == 1.0
    values = [radius.gamma(action_bound=bound, ridge=1.0) for bound in np.logspace(-8, 8, 33)]
    assert all(np.diff(values) >= 0.0)
    assert math.isfinite(values[-1])


def test_noise_radius_by_hand():
    # 0.5 √(2 + 2 log 10) = 0.5 √6.605170185988091 = 0.5 * 2.5700525648297724.
    value = radius.noise_radius(noise=0.5, log_det_ratio=2.0, delta=0.1)
    assert value == pytest.approx(1.2850262824148862, rel=1e-14)


def test_noise_radius_is_the_determinant_form_of_theorem_9():
    # det(B) = 16 * 9, λ = 2, m = 2: R √(2 log(√144 / (2 * 0.1))) = 3 √(2 log 60), log 60 = 4.0943445622221.
    value = radius.noise_radius(noise=3.0, log_det_ratio=math.log(144) - 2 * math.log(2), delta=0.1)
    assert value == pytest.approx(3.0 * math.sqrt(2 * 4.0943445622221), rel=1e-13)


def test_beta_by_hand():
    # 1.2850262824148862 (above) + 0.25 * 3 * 7 + 3 √2 = 1.2850262824148862 + 5.25 + 4.242640687119285.
    value = radius.beta(**KNOWN, log_det_ratio=2.0, projection_error=0.25, coupling=7.0)
    assert value == pytest.approx(10.777666969534171, rel=1e-14)


def test_beta_worst_case_by_hand():
    # t = 3, m = 2: tL²/(mλ) = 12/4 = 3 and log 4 = 1.386294361119891.
    # 0.5 √(2 log 10 + 2 log 4)                    = 0.5 √7.377758908227872             = 1.3581015157406195
    # 0.25 * 3 * 2 √(γ * 2 * 3 * log 4), γ = 2/log 3  = 1.5 √15.14231418              = 5.8369689645276256
    # 3 √2                                                                              = 4.242640687119285
    value = radius.beta_worst_case(**WITH_L, rounds=3, rank=2, projection_error=0.25)
    assert value == pytest.approx(11.437711167387530, rel=1e-14)


def test_omegas_by_hand():
    # 0.5 √(2 + 2 log 10) + 3 √2.
    assert radius.omega_logdet(**KNOWN, log_det_ratio=2.0) == pytest.approx(5.5276669695341713, rel=1e-14)
    # d = 6, m = 2, t = 3: tL²/(mλ) = 3, so 0.5 √(2 log 10 + 6 log 4) + 3 √2.
    assert radius.omega_paper(**WITH_L, rounds=3, dim=6, rank=2) == pytest.approx(6.0400649798717946, rel=1e-14)
    # tL²/(dλ) = 1, so 0.5 √(2 log 10 + 6 log 2) + 3 √2.
    assert radius.omega_paper(**WITH_L, rounds=3, dim=6) == pytest.approx(5.7228478744200835, rel=1e-14)


def test_spend_by_hand_and_in_sum():
    # 6 * 0.05 / (π² * 49), π² = 9.869604401089358.
    assert radius.spend(0.05, 7) == pytest.approx(0.3 / (9.869604401089358 * 49.0), rel=1e-14)
    # The tail beyond N is between 6δ/(π²(N+1)) and 6δ/(π²N).
    total = math.fsum(radius.spend(0.05, t) for t in range(1, 10_001))
    assert 0.05 * (1 - 0.6079271018540267 / 10_000) <= total <= 0.05 * (1 - 0.6079271018540267 / 10_001)


# --- edges and units ---


def test_nothing_learnt_leaves_the_prior():
    # 0.5 √(2 log 10) + 3 √2 whatever the dimensions: 0.5 * 2.145966026289347 + 4.242640687119285.
    prior = pytest.approx(5.315623700263959, rel=1e-14)
    assert radius.beta_worst_case(**WITH_L, rounds=0, rank=2, projection_error=1.0) == prior
    assert radius.omega_paper(**WITH_L, rounds=0, dim=6, rank=2) == prior
    assert radius.omega_paper(**WITH_L, rounds=0, dim=6) == prior
    assert radius.omega_logdet(**KNOWN, log_det_ratio=0.0) == prior
    assert radius.beta(**KNOWN, log_det_ratio=0.0, projection_error=1.0, coupling=0.0) == prior


def test_a_log_determinant_below_zero_is_rounding_and_counts_as_zero():
    # δ close to 1 leaves nothing else under the root: without the floor it would be negative.
    value = radius.noise_radius(noise=1.0, log_det_ratio=-1e-9, delta=1.0 - 1e-12)
    assert value == pytest.approx(math.sqrt(2e-12), rel=1e-3)


def test_no_noise_leaves_no_noise_term():
    silent = {**WITH_L, "noise": 0.0}
    assert radius.noise_radius(noise=0.0, log_det_ratio=5.0, delta=0.1) == 0.0
    assert radius.omega_paper(**silent, rounds=10, dim=6) == pytest.approx(3 * math.sqrt(2), rel=1e-15)


@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
def test_radii_do_not_depend_on_the_unit_of_the_actions(scale):
    # x -> c x takes θ* to θ*/c and, with λ -> c² λ, B to c² B: every radius stays as it is.
    scaled = {**KNOWN, "theta_bound": 3.0 / scale, "ridge": 2.0 * scale**2}
    scaled_l = {**scaled, "action_bound": 2.0 * scale}
    worst = radius.beta_worst_case(**scaled_l, rounds=3, rank=2, projection_error=0.25)
    assert worst == pytest.approx(11.437711167387530, rel=1e-13)
    assert radius.omega_paper(**scaled_l, rounds=3, dim=6, rank=2) == pytest.approx(6.0400649798717946, rel=1e-13)
    assert radius.omega_paper(**scaled_l, rounds=3, dim=6) == pytest.approx(5.7228478744200835, rel=1e-13)
    general = radius.beta(**scaled, log_det_ratio=2.0, projection_error=0.25, coupling=7.0 * scale)
    assert general == pytest.approx(10.777666969534171, rel=1e-13)


@pytest.mark.parametrize("scale", [1e-8, 1e8])
def test_radii_scale_with_the_unit_of_the_reward(scale):
    scaled = {**WITH_L, "noise": 0.5 * scale, "theta_bound": 3.0 * scale}
    value = radius.beta_worst_case(**scaled, rounds=3, rank=2, projection_error=0.25)
    assert value == pytest.approx(11.437711167387530 * scale, rel=1e-13)


@pytest.mark.parametrize("ridge", [1e-8, 1e8])
@pytest.mark.parametrize("action_bound", [1e-8, 1e8])
@pytest.mark.parametrize("rounds", [0, 1, 10**8])
def test_radii_are_finite_at_every_scale(ridge, action_bound, rounds):
    known = {**KNOWN, "ridge": ridge, "action_bound": action_bound, "rounds": rounds, "delta": 1e-300}
    assert math.isfinite(radius.beta_worst_case(**known, rank=4, projection_error=1.0))
    assert math.isfinite(radius.omega_paper(**known, dim=4000, rank=1))


def test_radii_grow_with_what_should_widen_them():
    base = {**WITH_L, "rounds": 50, "rank": 3, "projection_error": 0.2}
    value = radius.beta_worst_case(**base)
    widened = {"noise": 0.6, "theta_bound": 4.0, "action_bound": 2.5, "rounds": 51, "rank": 4}
    for name, wider in {**widened, "projection_error": 0.3, "delta": 0.05}.items():
        assert radius.beta_worst_case(**{**base, name: wider}) > value, name


# --- bad input: one sentence that names it ---


@pytest.mark.parametrize(
    ("name", "bad"),
    [
        *[("delta", bad) for bad in (0.0, 1.0, -0.1, math.nan)],
        *[("noise", bad) for bad in (-1.0, math.nan, math.inf)],
        *[("theta_bound", bad) for bad in (-1.0, math.inf)],
        *[("ridge", bad) for bad in (0.0, -1.0, math.nan)],
        *[("action_bound", bad) for bad in (-1.0, math.nan)],
        *[("rounds", bad) for bad in (-1, math.inf)],
        ("rank", 0),
        ("projection_error", math.nan),
    ],
)
def test_bad_input_is_named(name, bad):
    good = {**WITH_L, "rounds": 3, "rank": 2, "projection_error": 0.25}
    with pytest.raises(ValueError, match=rf"^{name} is .*; expected .*\.$"):
        radius.beta_worst_case(**{**good, name: bad})


def test_bad_matrix_scalars_and_rounds_are_named():
    with pytest.raises(ValueError, match=r"^log_det_ratio is nan; expected"):
        radius.noise_radius(noise=1.0, log_det_ratio=math.nan, delta=0.1)
    with pytest.raises(ValueError, match=r"^coupling is -1\.0; expected"):
        radius.beta(**KNOWN, log_det_ratio=0.0, projection_error=0.1, coupling=-1.0)
    with pytest.raises(ValueError, match=r"^round is 0; expected"):
        radius.spend(0.1, 0)
