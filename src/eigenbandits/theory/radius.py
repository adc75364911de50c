"""Every confidence radius, one function each: how far from its estimate θ* can still be.

All are scalars in, scalar out, and know nothing of matrices: a belief passes the log-determinant and the
coupling that it already holds. Theorem and lemma numbers are those of the paper [1]_, with its labels. Besides the
words that all of `theory` shares:

====================  ====================================================================================
``log_det_ratio``     ``log det(B) - m log λ`` in the subspace, ``log det(Z) - d log λ`` in the ambient space
``projection_error``  ε, a bound on ``‖P̂ - P‖₂``
====================  ====================================================================================

References
----------
.. [1] Lale, Azizzadenesheli, Anandkumar, Hassibi. Stochastic Linear Bandits with Hidden Low Rank
   Structure, 2019.
.. [2] Abbasi-Yadkori, Pal, Szepesvari. Improved Algorithms for Linear Stochastic Bandits, 2011.
"""

import math


# Written so that NaN fails them too. The radii that run in every round make the same comparisons themselves first, and
# ask these only for the sentence.
def require_probability(delta: float) -> None:
    """Refuse a δ that is no probability."""
    if not 0.0 < delta < 1.0:
        raise ValueError(f"delta is {delta!r}; expected a number between 0 and 1, such as 0.01.")


def require_sizes(**sizes: float) -> None:
    """Refuse numbers that are negative, infinite or NaN."""
    for name, value in sizes.items():
        if not 0.0 <= value < math.inf:
            raise ValueError(f"{name} is {value!r}; expected a finite number of at least 0.")


def _require_positive(**values: float) -> None:
    for name, value in values.items():
        if not 0.0 < value < math.inf:
            raise ValueError(f"{name} is {value!r}; expected a finite number above 0.")


def _log_growth(rounds: float, action_bound: float, ridge: float, size: float) -> float:
    """``log(1 + t L² / (size λ))``; log1p keeps it right when the ratio is far below 1e-16."""
    return math.log1p(rounds * action_bound * action_bound / (size * ridge))


def gamma(*, action_bound: float, ridge: float) -> float:
    """Return ``γ = L² / (λ log(1 + L²/λ))``, defined above Theorem 3 (main), used by Lemma 12 (SelfNormProj).

    The least factor with ``u <= γ log(1 + u)`` for all ``0 <= u <= L²/λ``; its limit at ``L²/λ = 0`` is 1.

    Examples
    --------
    >>> round(gamma(action_bound=1.0, ridge=1.0), 6)  # 1 / log 2
    1.442695
    >>> gamma(action_bound=0.0, ridge=1.0)
    1.0
    """
    require_sizes(action_bound=action_bound)
    _require_positive(ridge=ridge)
    ratio = action_bound * action_bound / ridge
    return ratio / math.log1p(ratio) if ratio > 0.0 else 1.0


def noise_radius(*, noise: float, log_det_ratio: float, delta: float) -> float:
    """Return the self-normalized noise term ``R √(2 log(det(B)^½ λ^{-m/2} / δ))``, Theorem 9 (martin).

    A `log_det_ratio` below 0 can only be rounding, and counts as 0.

    Examples
    --------
    >>> noise_radius(noise=0.5, log_det_ratio=3.0, delta=math.exp(-0.5))  # 0.5 √(3 + 1)
    1.0
    """
    if not (0.0 < delta < 1.0 and 0.0 <= noise < math.inf and math.isfinite(log_det_ratio)):
        require_probability(delta)
        require_sizes(noise=noise)
        raise ValueError(f"log_det_ratio is {log_det_ratio!r}; expected a finite number.")
    return noise * math.sqrt(max(log_det_ratio, 0.0) - 2.0 * math.log(delta))


def beta(
    *,
    noise: float,
    log_det_ratio: float,
    delta: float,
    theta_bound: float,
    ridge: float,
    projection_error: float,
    coupling: float,
) -> float:
    """Return the radius of the projected set, ``noise_radius + ε S coupling + S √λ``, eq. (ellips1Supple).

    Parameters
    ----------
    noise, log_det_ratio, delta
        As in `noise_radius`, with ``B = V̂ᵀΣV̂ + λ I_m``.
    theta_bound, ridge, projection_error
        S, λ and ε.
    coupling
        ``‖B^{-1/2} V̂ᵀ Σ‖₂`` for ``radius="general"``, the paper's; ``‖B^{-1/2} V̂ᵀ Σ (I - P̂)‖₂`` for
        ``radius="sharp"``.

    Notes
    -----
    Why the sharp coupling suffices. The term to bound is ``‖B^{-1/2} V̂ᵀ Σ (P - P̂) θ*‖``, eq. (2normline).

    1. θ* lies in span(V), so ``P θ* = θ*`` and ``(P - P̂) θ* = (I - P̂) θ* = (I - P̂)(I - P̂) θ*``.
    2. ``‖(I - P̂) θ*‖ = ‖(P - P̂) θ*‖ <= ε S``, so one factor ``I - P̂`` costs ε S and the other stays with Σ.

    Only what leaks out of the estimated subspace couples, and the sharp radius never exceeds the general one.

    Examples
    --------
    >>> known = {"noise": 0.5, "delta": math.exp(-0.5), "theta_bound": 2.0, "ridge": 4.0}
    >>> beta(**known, log_det_ratio=3.0, projection_error=0.1, coupling=5.0)  # 1 + 0.1 * 2 * 5 + 2 * 2
    6.0
    """
    if not (
        0.0 <= theta_bound < math.inf
        and 0.0 <= projection_error < math.inf
        and 0.0 <= coupling < math.inf
        and 0.0 < ridge < math.inf
    ):
        require_sizes(theta_bound=theta_bound, projection_error=projection_error, coupling=coupling)
        _require_positive(ridge=ridge)
    noise_term = noise_radius(noise=noise, log_det_ratio=log_det_ratio, delta=delta)
    return noise_term + projection_error * theta_bound * coupling + theta_bound * math.sqrt(ridge)


def beta_worst_case(
    *,
    noise: float,
    rounds: float,
    delta: float,
    theta_bound: float,
    ridge: float,
    action_bound: float,
    rank: int,
    projection_error: float,
) -> float:
    """Return the radius of the projected set that needs no matrix, eq. (ellips2) before Lemma 2 is put in.

    ``R √(2 log(1/δ) + m log(1 + tL²/(mλ))) + ε S L √(γ m t log(1 + tL²/(mλ))) + S √λ``; with ``ε = φ_δ/√t``
    this is eq. (ellips2) itself.

    Parameters
    ----------
    noise, delta, theta_bound, ridge, action_bound, rank, projection_error
        R, δ, S, λ, L, m and ε.
    rounds
        t. The paper counts one more than the actions learned, which is safe; their number is enough.

    Notes
    -----
    Lemma 11 (detAt) and Lemma 13 (SecTerm) bound the log-determinant and the general coupling of `beta`, so
    this is never below it for the same ε.

    Examples
    --------
    >>> known = {"noise": 0.5, "delta": math.exp(-2), "theta_bound": 2.0, "ridge": 4.0, "action_bound": 1.0}
    >>> beta_worst_case(**known, rounds=0, rank=3, projection_error=1.0)  # nothing learned: 0.5 * √4 + 2 * 2
    5.0
    """
    require_sizes(rounds=rounds, theta_bound=theta_bound, projection_error=projection_error)
    _require_positive(rank=rank)
    factor = gamma(action_bound=action_bound, ridge=ridge)
    log_det_bound = rank * _log_growth(rounds, action_bound, ridge, rank)
    coupling = action_bound * math.sqrt(factor * rounds * log_det_bound)
    noise_term = noise_radius(noise=noise, log_det_ratio=log_det_bound, delta=delta)
    return noise_term + projection_error * theta_bound * coupling + theta_bound * math.sqrt(ridge)


def omega_logdet(*, noise: float, log_det_ratio: float, delta: float, theta_bound: float, ridge: float) -> float:
    """Return OFUL's tightest radius, ``R √(2 log(det(Z)^½ λ^{-d/2} / δ)) + S √λ``, Theorem 2 of [2]_.

    Here `log_det_ratio` is ``log det(Z) - d log λ`` with ``Z = Σ + λ I_d``.

    Examples
    --------
    >>> known = {"noise": 0.5, "delta": math.exp(-0.5), "theta_bound": 2.0, "ridge": 4.0}
    >>> omega_logdet(**known, log_det_ratio=3.0)  # 0.5 √(3 + 1) + 2 * 2
    5.0
    """
    if not (0.0 <= theta_bound < math.inf and 0.0 < ridge < math.inf):
        require_sizes(theta_bound=theta_bound)
        _require_positive(ridge=ridge)
    noise_term = noise_radius(noise=noise, log_det_ratio=log_det_ratio, delta=delta)
    return noise_term + theta_bound * math.sqrt(ridge)


def omega_paper(
    *,
    noise: float,
    rounds: float,
    delta: float,
    theta_bound: float,
    ridge: float,
    action_bound: float,
    dim: int,
    rank: int | None = None,
) -> float:
    """Return Ω as the paper writes it (Section 4.2): ``R √(2 log(1/δ) + d log(1 + tL²/(mλ))) + S √λ``.

    Without a `rank` it has d in the place of m, and is OFUL's own worst case, Theorem 2 of [2]_.

    Notes
    -----
    The m inside the logarithm is the paper's; the d-dimensional set needs only d there. Since ``m <= d`` the paper's
    radius is valid, only wider.

    Examples
    --------
    >>> known = {"noise": 1.0, "delta": 0.1, "theta_bound": 1.0, "ridge": 1.0, "action_bound": 1.0}
    >>> round(omega_paper(**known, rounds=6, dim=6, rank=2), 6)  # √(2 log 10 + 6 log 4) + 1
    4.594849
    >>> round(omega_paper(**known, rounds=6, dim=6), 6)  # √(2 log 10 + 6 log 2) + 1
    3.960414
    """
    inside = dim if rank is None else rank
    require_sizes(rounds=rounds, action_bound=action_bound)
    _require_positive(dim=dim, rank=inside, ridge=ridge)
    log_det_bound = dim * _log_growth(rounds, action_bound, ridge, inside)
    return omega_logdet(noise=noise, log_det_ratio=log_det_bound, delta=delta, theta_bound=theta_bound, ridge=ridge)


def soful_paper(
    *,
    noise: float,
    rounds: float,
    delta: float,
    theta_bound: float,
    ridge: float,
    action_bound: float,
    dim: int,
    rows: int,
    lost: float,
) -> float:
    """Return the worst case for a sketched Gram matrix (Kuzborskij et al. 2019, sketched confidence ellipsoid).

    ``R √(ℓ log(1 + tL²/(ℓλ)) + 2 log(1/δ) + d log(1 + ρ/λ)) √(1 + ρ/λ) + S √λ (1 + ρ/λ)``, with ℓ = `rows` the
    most rows that the sketch ever holds and ρ = `lost` the sum of what shrinking removed.

    Examples
    --------
    >>> known = {"noise": 1.0, "delta": 0.1, "theta_bound": 1.0, "ridge": 1.0, "action_bound": 1.0, "dim": 6}
    >>> round(soful_paper(**known, rounds=6, rows=2, lost=0.0), 6)  # √(2 log 4 + 2 log 10) + 1
    3.716203
    """
    require_sizes(rounds=rounds, action_bound=action_bound, lost=lost)
    _require_positive(dim=dim, rows=rows, ridge=ridge)
    log_det_bound = rows * _log_growth(rounds, action_bound, ridge, rows) + dim * math.log1p(lost / ridge)
    spread = 1.0 + lost / ridge
    known = noise_radius(noise=noise, log_det_ratio=log_det_bound, delta=delta)
    return known * math.sqrt(spread) + theta_bound * math.sqrt(ridge) * spread


def spend(delta: float, round: int) -> float:
    """Return the share ``6 δ / (π² t²)`` of δ that round t may spend under ``anytime=True``.

    Parameters
    ----------
    delta
        δ, the probability of failure over all rounds together.
    round
        t, counted from 1.

    Notes
    -----
    The paper passes from a fixed t to all t by a stopping time. That holds for one martingale, not where the
    matrix itself changes with t: neither the second moment behind Lemma 2 nor the projected noise of Theorem
    9, whose V̂ is a new one each round. A union bound needs none of that: the shares sum to δ, at the price of
    ``2 log t + ½`` on ``log(1/δ)``. That the decision sets do not depend on past noise is still assumed.

    Examples
    --------
    >>> round(spend(0.05, 1), 6), round(spend(0.05, 10), 8)
    (0.030396, 0.00030396)
    """
    require_probability(delta)
    if not 1 <= round < math.inf:
        raise ValueError(f"round is {round!r}; expected a number of at least 1.")
    return 6.0 * delta / (math.pi * round) ** 2
