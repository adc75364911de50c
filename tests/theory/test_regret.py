"""Theorem 1 and OFUL's bound against numbers worked out by hand."""

import dataclasses
import itertools
import math
from typing import Any

import pytest

from eigenbandits import theory
from eigenbandits.theory import RegretBound, Structure

EASY = Structure(lambda_plus=1.0, lambda_minus=1.0, sigma2=0.01, d_x=2.0, d_psi=6.0)
HARD = Structure(lambda_plus=4.0, lambda_minus=1.0, sigma2=1.0, d_x=3.0, d_psi=8.0)
CLEAN = Structure(lambda_plus=1.0, lambda_minus=1.0, sigma2=0.0, d_x=1.0, d_psi=0.0)
SIZES: dict[str, Any] = {"arms": 10, "dim": 6, "rank": 2}
KNOWN: dict[str, Any] = {"noise": 0.5, "theta_bound": 1.0, "action_bound": 1.5, "ridge": 1.0, "delta": 0.05}


def test_upsilon_by_hand():
    # α = 8, Γ = 10, m = 2, K = 5, λ₋ + σ² = 2: 8 * 100 √2 / 10 = 80 √2.
    assert theory.upsilon(HARD, arms=5, rank=2) == pytest.approx(113.13708498984760, rel=1e-14)


def test_t_r_by_hand():
    # HARD, d = 8, m = 2, K = 5, δ = 0.05, L = 3: Γ √((α/K) log 320) = 10 √(1.6 log 320) = 30.379785373287343,
    # 8 * 9 * 30.379785373287343 = 2187.3445468766887, √(8 * 3 * 2 log 40) = 13.306622929859737,
    # and ((2187.3445468766887 + 13.306622929859737) / 2)² + 1.
    value = theory.t_r(HARD, arms=5, dim=8, rank=2, delta=0.05, action_bound=3.0)
    assert value == pytest.approx(1210717.3927927325, rel=1e-13)


def test_t_r_keeps_the_paper_s_l_where_l_squared_is_due():
    # No perturbation: 1 + 8 L log(m/δ) / λ₋, linear in L. L = 4 and m/δ = 40: 1 + 32 * 3.688879454113936.
    value = theory.t_r(CLEAN, arms=5, dim=8, rank=2, delta=0.05, action_bound=4.0)
    assert value == pytest.approx(119.04414253164596, rel=1e-14)


def test_regret_bound_by_hand():
    # t = 10,000; Γ = 0.02 + 0.4 = 0.42, α = 6, log(2d/δ) = log 240 = 5.480638923341991,
    # log(m/δ) = log 40 = 3.688879454113936.
    # t_w = 2.4 (0.42 √log 240 + √(2 log 40))²                       = 32.84632397334759
    # φ_δ = 0.84 √(0.6 log 240)                                      = 1.5232476143378874
    # t_r = 1 + ((4 * 2.25 φ_δ + √(8 * 1.5 * 1.01 log 40)) / 1.01)²   = 408.78899054068772
    # tL²/(mλ) = 11250, log 11251 = 9.328212292571072, γ = 2.25 / log 3.25 = 1.9089555527135888
    # β = 0.5 √(2 log 20 + 2 log 11251) + 1.5 φ_δ √(2 γ log 11251) + 1
    #   = 2.4823320251454138 + 13.635588373706411 + 1                = 17.117920398851825
    bound = theory.regret_bound(EASY, rounds=10_000, **SIZES, **KNOWN)
    # 2LS t_w = 3 t_w
    assert bound.warm_up == pytest.approx(98.538971920042769, rel=1e-13)
    # 3 φ_δ (200 - 2 √33.84632397334759 + 1)
    assert bound.projection == pytest.approx(865.34698304832665, rel=1e-13)
    # 300 β √(t_r + 8.389396003954294 / 1.01), the bracket being 2 + 2 log 10,000 - 2 log(t_r + 1)
    assert bound.estimation == pytest.approx(104879.33315265993, rel=1e-13)
    assert bound.total == pytest.approx(98.538971920042769 + 865.34698304832665 + 104879.33315265993, rel=1e-13)


def test_regret_bound_by_hand_with_a_ridge():
    # HARD, d = 8, m = 2, K = 5, δ = 0.05, R = 0.5, S = 2, L = 3, λ = 4, t = 1,000,000:
    # t_w = 6.4 (10 √log 320 + √(8 log 40))² = 5550.6361869543709, φ_δ = 20 √(1.6 log 320) = 60.759570746574685,
    # t_r = 1210717.3927927325 (above), log(1 + 9,000,000/8) = log 1,125,001, γ = 2.25 / log 3.25,
    # β = 0.5 √(2 log 20 + 2 log 1,125,001) + 6 φ_δ √(2 γ log 1,125,001) + 4
    #   = 2.9093836766627346 + 2658.9230050301540 + 4
    known: dict[str, Any] = {"noise": 0.5, "theta_bound": 2.0, "action_bound": 3.0, "ridge": 4.0, "delta": 0.05}
    bound = theory.regret_bound(HARD, rounds=1_000_000, arms=5, dim=8, rank=2, **known)
    # 12 t_w, then 12 φ_δ (2000 - 2 √5551.6361869543709 + 1)
    assert bound.warm_up == pytest.approx(66607.634243452450, rel=1e-13)
    assert bound.projection == pytest.approx(1350307.1348169191, rel=1e-13)
    # 6000 β √(t_r/4 + 1.6175722070347399/2), the bracket being 2 + 2 log 1,000,000 - 2 log(t_r + 1)
    assert bound.estimation == pytest.approx(8799866138.2117556, rel=1e-13)
    # 4 √(8,000,000 log 281,251) (2 * 2 + 0.5 √(2 log 20 + 8 log 281,251))
    assert theory.oful_regret_bound(rounds=1_000_000, dim=8, **known) == pytest.approx(366957.20964147249, rel=1e-13)


def test_oful_regret_bound_by_hand():
    # tL²/(λd) = 22500 / 6 = 3750, log 3751 = 8.229777750081887:
    # 4 √(60,000 log 3751) (1 + 0.5 √(2 log 20 + 6 log 3751)).
    value = theory.oful_regret_bound(rounds=10_000, dim=6, **KNOWN)
    assert value == pytest.approx(13268.528826005640, rel=1e-13)
    assert theory.oful_regret_bound(rounds=0, dim=6, **KNOWN) == 0.0


def test_best_of_both_takes_the_smaller_bound():
    # EASY at d = 6: 105,843 for the subspace against 13,269 for OFUL.
    assert theory.best_of_both(EASY, rounds=10_000, **SIZES, **KNOWN) == pytest.approx(13268.528826005640, rel=1e-13)
    # A line without perturbation in a thousand dimensions: now the subspace wins.
    sizes: dict[str, Any] = {"arms": 10, "dim": 1000, "rank": 1}
    projected = theory.regret_bound(CLEAN, rounds=10_000, **sizes, **KNOWN).total
    assert projected < theory.oful_regret_bound(rounds=10_000, dim=1000, **KNOWN) / 100
    assert theory.best_of_both(CLEAN, rounds=10_000, **sizes, **KNOWN) == projected


def test_before_warm_up_the_sums_are_empty():
    # t = 1 < t_w = 32.8 and t_r = 408.8, so no projection term, and t_r/λ alone under the root:
    # β = 0.5 √(2 log 20 + 2 log 2.125) + 1.5 φ_δ √(2 γ log 2.125) + 1 with log 2.125 = 0.7537718023763802.
    bound = theory.regret_bound(EASY, rounds=1, **SIZES, **KNOWN)
    log_growth, phi, factor = 0.7537718023763802, 1.5232476143378874, 1.9089555527135888
    radius = 0.5 * math.sqrt(2 * 2.995732273553991 + 2 * log_growth)
    radius += 1.5 * phi * math.sqrt(2 * factor * log_growth) + 1.0
    assert bound.projection == 0.0
    assert bound.warm_up == pytest.approx(98.538971920042769, rel=1e-13)
    assert bound.estimation == pytest.approx(3.0 * radius * math.sqrt(408.78899054068772), rel=1e-12)


@pytest.mark.parametrize(("start", "end"), [(1, 2), (3, 50), (33, 10_000)])
def test_lemma_16_bounds_the_sums_that_the_brackets_stand_for(start, end):
    roots = sum(1 / math.sqrt(i) for i in range(start + 1, end + 1))
    assert roots <= 2 * math.sqrt(end) - 2 * math.sqrt(start + 1) + 1
    harmonic = sum(1 / i for i in range(start + 1, end + 1))
    assert harmonic <= 1 + math.log(end) - math.log(start + 1)


def test_regret_grows_with_t_and_no_faster_than_root_t_log_t():
    totals = [theory.regret_bound(EASY, rounds=10.0**power, **SIZES, **KNOWN).total for power in range(13)]
    assert all(late > early for early, late in itertools.pairwise(totals))
    rates = [total / (10.0 ** (power / 2) * power) for power, total in enumerate(totals) if power >= 4]
    assert all(late < early for early, late in itertools.pairwise(rates))


def test_more_arms_never_hurt():
    bounds = [theory.regret_bound(HARD, rounds=1_000_000, **{**SIZES, "arms": arms}, **KNOWN) for arms in (1, 10, 1000)]
    assert bounds[0].total > bounds[1].total > bounds[2].total


def test_regret_bound_is_frozen_and_sums_its_terms():
    bound = RegretBound(warm_up=1.0, projection=2.0, estimation=4.0)
    assert bound.total == 7.0
    with pytest.raises(dataclasses.FrozenInstanceError):
        bound.warm_up = 0.0  # type: ignore[misc]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rounds": 0}, "^rounds is 0; expected a number of at least 1.$"),
        ({"arms": 0}, "^arms is 0; expected"),
        ({"rank": 7}, "^rank is 7; expected at most dim, 6.$"),
        ({"noise": -0.5}, "^noise is -0.5; expected"),
        ({"theta_bound": math.inf}, "^theta_bound is inf; expected"),
        ({"action_bound": -1.0}, "^action_bound is -1; expected"),
        ({"ridge": 0.0}, "^ridge is 0.0; expected"),
        ({"delta": 0.0}, "^delta is 0; expected"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(changes, message):
    with pytest.raises(ValueError, match=message):
        theory.best_of_both(EASY, **{"rounds": 100, **SIZES, **KNOWN, **changes})
