"""One martingale for every ridge: what mixed predictions prove about θ*, for all rounds at once (docs/certified.md).

Rewards are r = xᵀθ* + η with η R-sub-Gaussian given the past. A *member* predicts each reward by a mean μ and a width v
that it fixes before it sees the reward. The mixture of the members' scores bounds ‖r − Xθ*‖², and on that one event
every ridge W gives an ellipsoid around its own estimate.
"""

import math
from collections.abc import Sequence

from eigenbandits.theory.radius import require_probability, require_sizes


def prediction_score(*, surprise: float, gain: float, noise: float) -> float:
    """Return ``(r - μ)² / (1 + v) + R² log(1 + v)``: what one reward adds to a member's score Q.

    Up to a constant it is −2R² times the log-density of r under N(μ, R²(1 + v)).

    Parameters
    ----------
    surprise
        ``r - μ``, what the member did not predict.
    gain
        ``v >= 0``; for a ridge ``xᵀZ⁻¹x``.
    noise
        R.

    Examples
    --------
    >>> prediction_score(surprise=2.0, gain=3.0, noise=0.0)
    1.0
    """
    if not 0.0 <= gain < math.inf:
        raise ValueError(f"gain is {gain!r}; expected a finite number of at least 0.")
    return surprise * surprise / (1.0 + gain) + noise * noise * math.log1p(gain)


def mixture_level(*, scores: Sequence[float], noise: float, delta: float) -> float:
    """Return ``ρ = -2R² log mean_k exp(-Q_k / 2R²) + 2R² log(1/δ)``: ``‖r - Xθ*‖² <= ρ`` for all rounds at once.

    Parameters
    ----------
    scores
        The scores Q_k of the N members; N of them cost at most ``2R² log N`` above the best one.
    noise, delta
        R and δ.

    Examples
    --------
    >>> mixture_level(scores=[1.0], noise=1.0, delta=math.exp(-1.0))  # Q + 2 log(1/δ)
    3.0
    >>> round(mixture_level(scores=[1.0, 500.0], noise=1.0, delta=math.exp(-1.0)), 6)  # one member: + 2 log 2
    4.386294
    """
    require_probability(delta)
    require_sizes(noise=noise)
    best = min(scores)
    twice = 2.0 * noise * noise
    if twice == 0.0:
        return best
    # Relative to the best, so that no exponential under- or overflows.
    total = sum(math.exp((best - score) / twice) for score in scores)
    return best - twice * (math.log(total / len(scores)) + math.log(delta))


def penalty_bound(*, theta_bound: float, inside: float, outside: float, projection_error: float) -> float:
    """Return ``S² (λ_in + (λ_out - λ_in) ε²)``, which bounds ``θ*ᵀWθ*`` for ``W = λ_in P̂ + λ_out (I - P̂)``.

    For θ* in the true subspace ``‖(I - P̂)θ*‖ = ‖(P - P̂)θ*‖ <= ε S`` and ``‖P̂θ*‖² = ‖θ*‖² - ‖(I - P̂)θ*‖²``. With
    ε = 1 nothing is assumed but ``‖θ*‖ <= S``, so a larger ε counts as 1.

    Parameters
    ----------
    theta_bound
        S.
    inside, outside
        λ_in and λ_out, the latter no smaller; equal for a ridge λI, which gives λS².
    projection_error
        ``ε >= ‖P̂ - P‖₂``.

    Examples
    --------
    >>> penalty_bound(theta_bound=2.0, inside=1.0, outside=5.0, projection_error=0.5)
    8.0
    """
    if not 0.0 < inside <= outside < math.inf:
        raise ValueError(f"the ridges are {inside!r} and {outside!r}; expected 0 < inside <= outside.")
    if not projection_error >= 0.0:
        raise ValueError(f"projection_error is {projection_error!r}; expected a number of at least 0.")
    leak = min(projection_error, 1.0) ** 2
    return theta_bound * theta_bound * (inside + (outside - inside) * leak)


def squared_radius(*, level: float, residual: float, penalty: float) -> float:
    """Return ``ρ - (‖r‖² - bᵀZ⁻¹b) + s²``, which bounds ``‖θ* - θ̂‖²_Z`` for any one ridge W with Z = Σ + W.

    Below 0 no θ fits: the assumption behind this ridge's s² is refuted (or the event of probability δ has happened).

    Parameters
    ----------
    level
        ρ, from `mixture_level`.
    residual
        ``‖r‖² - bᵀZ⁻¹b``, the least of ``‖r - Xθ‖² + θᵀWθ``.
    penalty
        ``s² >= θ*ᵀWθ*``, from `penalty_bound`.

    Examples
    --------
    >>> squared_radius(level=5.0, residual=4.0, penalty=1.0)
    2.0
    """
    return level - residual + penalty


def omega_mixture(*, noise: float, log_det_ratio: float, delta: float, theta_bound: float, ridge: float) -> float:
    """Return ``√(R² log(det Z / λ^d) + 2R² log(1/δ) + λS²)``: OFUL's radius by the mixture's argument.

    The case of one member whose ridge λI never changes: its score is ``‖r‖² - bᵀZ⁻¹b + R² log(det Z / λ^d)``, so that
    all else cancels. Since ``√(a² + b²) <= a + b`` it is never wider than `omega_logdet`, by up to √2. A
    `log_det_ratio` below 0 can only be rounding, and counts as 0.

    Examples
    --------
    >>> known = {"noise": 0.5, "delta": math.exp(-0.5), "theta_bound": 2.0, "ridge": 4.0}
    >>> round(omega_mixture(**known, log_det_ratio=3.0), 6)  # √(0.25 (3 + 1) + 4 · 4), where the sum is 5
    4.123106
    """
    require_probability(delta)
    require_sizes(noise=noise)
    if not (0.0 <= theta_bound < math.inf and 0.0 < ridge < math.inf and math.isfinite(log_det_ratio)):
        raise ValueError(
            f"theta_bound is {theta_bound!r}, ridge {ridge!r} and log_det_ratio {log_det_ratio!r}; expected finite "
            "numbers, theta_bound of at least 0 and ridge above 0."
        )
    noise_square = noise * noise * (max(log_det_ratio, 0.0) - 2.0 * math.log(delta))
    return math.sqrt(noise_square + ridge * theta_bound * theta_bound)
