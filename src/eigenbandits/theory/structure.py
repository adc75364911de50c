"""How hard the hidden subspace is to find: the paper's structural quantities and its bounds on ‖P̂ - P‖₂."""

import math
from dataclasses import dataclass, fields

from eigenbandits.inputs import number, probability, whole


@dataclass(frozen=True)
class Structure:
    """What the paper's analysis assumes to be known of the actions ``x̂ = x + ψ`` (Section 2, Assumption 1).

    Parameters
    ----------
    lambda_plus, lambda_minus
        λ₊ and λ₋, the largest and the m-th eigenvalue of the covariance of x.
    sigma2
        σ², the variance of the perturbation ψ along every direction.
    d_x, d_psi
        Effective dimensions: ``‖x‖² <= d_x λ₊`` and ``‖ψ‖² <= d_psi σ²``.

    Notes
    -----
    ``E‖ψ‖² = d σ²`` for an isotropic ψ, so Assumption 1 cannot hold with ``d_psi < d``: in the paper's own
    model ``α >= d`` whenever σ² > 0, though its text treats an α linear in d as one case among others. Not
    checked here, where d is not known.

    Examples
    --------
    >>> Structure(lambda_plus=4, lambda_minus=1, sigma2=0.25, d_x=2, d_psi=8)
    Structure(lambda_plus=4.0, lambda_minus=1.0, sigma2=0.25, d_x=2.0, d_psi=8.0)
    """

    lambda_plus: float
    lambda_minus: float
    sigma2: float
    d_x: float
    d_psi: float

    def __post_init__(self) -> None:
        """Check every field and hold it as a plain float."""
        for field in fields(self):
            above = None if field.name in ("sigma2", "d_psi") else 0.0
            value = number(getattr(self, field.name), field.name, above=above, least=0.0)
            object.__setattr__(self, field.name, value)
        if self.lambda_plus < self.lambda_minus:
            raise ValueError(
                f"lambda_plus is {self.lambda_plus:g}; expected at least lambda_minus, {self.lambda_minus:g}."
            )


def g_x(structure: Structure) -> float:
    """Return ``g_x = λ₊ / λ₋``, the spread within the subspace, eq. (quantities).

    Examples
    --------
    >>> g_x(Structure(4, 1, 0.25, 2, 8))
    4.0
    """
    return structure.lambda_plus / structure.lambda_minus


def g_psi(structure: Structure) -> float:
    """Return ``g_ψ = σ² / λ₋``, perturbation against signal, eq. (quantities).

    Examples
    --------
    >>> g_psi(Structure(4, 1, 0.25, 2, 8))
    0.25
    """
    return structure.sigma2 / structure.lambda_minus


def difficulty(structure: Structure) -> float:
    """Return the paper's Γ, ``2 g_ψ + 4 √(g_x g_ψ)``: how hard the subspace is to recover, eq. (quantities).

    Examples
    --------
    >>> difficulty(Structure(4, 1, 0.25, 2, 8))  # 0.5 + 4 * √1
    4.5
    """
    spread, noise = g_x(structure), g_psi(structure)
    return 2.0 * noise + 4.0 * math.sqrt(spread * noise)


def alpha(structure: Structure) -> float:
    """Return ``α = max(d_x, d_psi)``, eq. (quantities).

    Examples
    --------
    >>> alpha(Structure(4, 1, 0.25, 2, 8))
    8.0
    """
    return max(structure.d_x, structure.d_psi)


def _perturbation(structure: Structure, dim: int, delta: float) -> float:
    """Return ``Γ √(α log(2d/δ))``: over √n, the size of ``Ŝ - S`` relative to λ₋ (eq. denum1, denum2)."""
    log_term = math.log(2.0 * whole(dim, "dim") / probability(delta, "delta"))
    return difficulty(structure) * math.sqrt(alpha(structure) * log_term)


def _sampling(structure: Structure, rank: int, delta: float, dimension: float) -> float:
    """Return ``√(2 dimension g_x log(m/δ))``: over √n, the loss in the m-th sample eigenvalue (eq. num1)."""
    log_term = math.log(whole(rank, "rank") / probability(delta, "delta"))
    return math.sqrt(2.0 * dimension * g_x(structure) * log_term)


def _check_rank(dim: int, rank: int) -> None:
    if whole(rank, "rank") > whole(dim, "dim"):
        raise ValueError(f"rank is {rank}; expected at most dim, {dim}.")


def n_delta(structure: Structure, *, dim: int, rank: int, delta: float) -> float:
    """Return ``n_δ = 4α (Γ √log(2d/δ) + √(2 g_x log(m/δ)))²``, the vectors of warm-up, eq. (quantities).

    Notes
    -----
    α stands before both terms; the appendix has d_x before the second (`t_min`). The matrix Bernstein steps
    also ask ``n >= (16/9) α log(2d/δ)`` (eq. denum1, denum2), which ``n >= n_δ`` does not imply when Γ is
    small and d large.

    Examples
    --------
    >>> round(n_delta(Structure(1, 1, 0.01, 2, 6), dim=6, rank=2, delta=0.05), 2)
    328.46
    """
    _check_rank(dim, rank)
    parts = _perturbation(structure, dim, delta) + _sampling(structure, rank, delta, alpha(structure))
    return 4.0 * parts**2


def t_min(structure: Structure, *, arms: int, dim: int, rank: int, delta: float) -> float:
    """Return ``t_min = (√(2 d_x g_x log(m/δ)) + Γ √(α log(2d/δ)))² / K``, above Lemma 7 (errornormSupple).

    Beyond this round the denominator of Φ is positive.

    Examples
    --------
    >>> round(t_min(Structure(1, 1, 0.01, 2, 6), arms=10, dim=6, rank=2, delta=0.05), 4)
    3.9059
    """
    _check_rank(dim, rank)
    parts = _sampling(structure, rank, delta, structure.d_x) + _perturbation(structure, dim, delta)
    return parts**2 / whole(arms, "arms")


def t_w(structure: Structure, *, arms: int, dim: int, rank: int, delta: float) -> float:
    """Return the length of warm-up ``t_w = n_δ / K``, Section 3.1 and Lemma 2 (errornorm).

    Notes
    -----
    The proof of Lemma 7 says ``t_w = 4 t_min``; that holds only if ``d_x = α``, else ``t_w > 4 t_min``. It
    also says that a bound below 1 needs t_w rounds; they are enough, but the formula of Φ passes below 1
    earlier, once ``√n > √(2 d_x g_x log(m/δ)) + 2Γ √(α log(2d/δ))``.

    Examples
    --------
    >>> round(t_w(Structure(1, 1, 0.01, 2, 6), arms=10, dim=6, rank=2, delta=0.05), 4)
    32.8463
    """
    return n_delta(structure, dim=dim, rank=rank, delta=delta) / whole(arms, "arms")


def phi_delta(structure: Structure, *, arms: int, dim: int, delta: float) -> float:
    """Return ``φ_δ = 2Γ √((α/K) log(2d/δ))``; from t_w on ``‖P̂ - P‖ <= φ_δ/√t``, Lemma 2, eq. (projmain).

    Examples
    --------
    >>> round(phi_delta(Structure(1, 1, 0.01, 2, 6), arms=10, dim=6, delta=0.05), 4)
    1.5232
    """
    return 2.0 * _perturbation(structure, dim, delta) / math.sqrt(whole(arms, "arms"))


def projection_error(structure: Structure, vectors_seen: float, dim: int, rank: int, delta: float) -> float:
    """Return Φ, the bound on ``‖P̂ - P‖₂`` that holds with probability 1 - 3δ, Lemma 7, eq. (error_general).

    ``Φ = Γ √((α/n) log(2d/δ)) / (1 - √((2 d_x g_x/n) log(m/δ)) - Γ √((α/n) log(2d/δ)))``, and 1 before
    warm-up is over (n < n_δ), as the proof of the lemma requires.

    Parameters
    ----------
    structure
        What is known of the actions.
    vectors_seen
        n, every action vector seen, chosen or not: ``t K`` where all decision sets are of size K.
    dim, rank, delta
        d, m and δ.

    Notes
    -----
    The lemma supposes independent vectors, and its claim for all t at once rests on a stopping time that the
    changing second moment does not allow: see `spend`.

    Examples
    --------
    >>> structure = Structure(1, 1, 0.01, 2, 6)
    >>> projection_error(structure, 328, dim=6, rank=2, delta=0.05)  # n_δ is 328.46
    1.0
    >>> round(projection_error(structure, 10_000, dim=6, rank=2, delta=0.05), 4)
    0.0257
    """
    vectors_seen = number(vectors_seen, "vectors_seen", least=0.0)
    if vectors_seen < n_delta(structure, dim=dim, rank=rank, delta=delta):
        return 1.0
    # Multiplied through by √n. Beyond n_δ the denominator is at least √n / 2, since α >= d_x.
    above = _perturbation(structure, dim, delta)
    below = math.sqrt(vectors_seen) - _sampling(structure, rank, delta, structure.d_x) - above
    return min(above / below, 1.0)


def projection_error_main(structure: Structure, vectors_seen: float, dim: int, rank: int, delta: float) -> float:
    """Return ``φ_δ/√t``, the main text's bound on ``‖P̂ - P‖₂`` that holds with probability 1 - 3δ, eq. (projmain).

    ``φ_δ/√t = 2Γ √((α/n) log(2d/δ))`` with ``n = t K``, and 1 before warm-up is over (n < n_δ), as Lemma 2 says
    nothing of ``t < t_w``. Put into `beta_worst_case` it gives eq. (ellips2) as written.

    Parameters
    ----------
    structure, vectors_seen, dim, rank, delta
        As for `projection_error`. The paper writes t and K; only their product counts, which is what decision sets
        of different sizes have as well.

    Notes
    -----
    It is Φ with its denominator replaced by ½, which that exceeds from n_δ on (end of the proof of Lemma 7), so
    ``Φ <= φ_δ/√t <= 1`` there.

    Examples
    --------
    >>> structure = Structure(1, 1, 0.01, 2, 6)
    >>> projection_error_main(structure, 328, dim=6, rank=2, delta=0.05)  # n_δ is 328.46
    1.0
    >>> round(projection_error_main(structure, 10_000, dim=6, rank=2, delta=0.05), 4)  # φ_δ/√1000 for K = 10
    0.0482
    """
    vectors_seen = number(vectors_seen, "vectors_seen", least=0.0)
    if vectors_seen < n_delta(structure, dim=dim, rank=rank, delta=delta):
        return 1.0
    return 2.0 * _perturbation(structure, dim, delta) / math.sqrt(vectors_seen)
