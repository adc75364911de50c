"""What the paper proves about the regret: Theorem 1 with its explicit terms, and OFUL's bound to compare."""

import math
from dataclasses import dataclass

from eigenbandits.inputs import number, probability, whole
from eigenbandits.theory.radius import beta_worst_case, omega_paper
from eigenbandits.theory.structure import Structure, alpha, difficulty, phi_delta, t_w


def upsilon(structure: Structure, *, arms: int, rank: int) -> float:
    """Return ``Υ = α Γ² √m / (K (λ₋ + σ²))``, the rate of Theorem 1 with constant 1, eq. (upsilon_def).

    Notes
    -----
    An order, not a bound: it leaves out L, S, R and λ, and so is not free of units. Since ``α >= d`` for an
    isotropic perturbation (see `Structure`), ``Υ = O(m)`` requires K of the order of d, or a small Γ.

    Examples
    --------
    >>> upsilon(Structure(4, 1, 0.25, 2, 8), arms=9, rank=4)  # 8 * 4.5² * 2 / (9 * 1.25)
    28.8
    """
    scale = structure.lambda_minus + structure.sigma2
    size = alpha(structure) * difficulty(structure) ** 2 * math.sqrt(whole(rank, "rank"))
    return size / (whole(arms, "arms") * scale)


def t_r(structure: Structure, *, arms: int, dim: int, rank: int, delta: float, action_bound: float) -> float:
    """Return t_r, the round from which ``λ_m(P̂ Σ̂ P̂) >= (t - 1)(λ₋ + σ²)/2``, Lemma 15 (proj_mth).

    ``t_r = 1 + ((8 L² Γ √((α/K) log(2d/δ)) + √(8 L (λ₋ + σ²) log(m/δ))) / (λ₋ + σ²))²``.

    Notes
    -----
    Computed as written, with two flaws. The second L should be L²: the proof takes ``λ_max(Vᵀ X̂ X̂ᵀ V) <= L``
    where only ``<= L²`` follows, so the printed value is too small when L > 1. And it treats the chosen
    actions as independent draws of second moment ``Σ_x + σ² I``, which actions that a policy selects are not.

    Examples
    --------
    >>> structure = Structure(1, 1, 0.0, 2, 6)  # no perturbation: 1 + 8 log(2/δ)
    >>> round(t_r(structure, arms=10, dim=6, rank=2, delta=0.05, action_bound=1.0), 4)
    30.511
    """
    bound = number(action_bound, "action_bound", least=0.0)
    scale = structure.lambda_minus + structure.sigma2
    log_term = math.log(whole(rank, "rank") / probability(delta, "delta"))
    # 8 Γ √((α/K) log(2d/δ)) is 4 φ_δ.
    projection = 4.0 * bound**2 * phi_delta(structure, arms=arms, dim=dim, delta=delta)
    return 1.0 + ((projection + math.sqrt(8.0 * bound * scale * log_term)) / scale) ** 2


@dataclass(frozen=True)
class RegretBound:
    """The three terms of Theorem 1 (RegretAnalysis), eq. (basiclemmainsert).

    Parameters
    ----------
    warm_up
        The rounds before the subspace is known at all, ``2 L S t_w``.
    projection
        What the error of the subspace costs after that.
    estimation
        What it costs to learn θ* within the subspace.

    Examples
    --------
    >>> RegretBound(warm_up=3.0, projection=2.0, estimation=1.0).total
    6.0
    """

    warm_up: float
    projection: float
    estimation: float

    @property
    def total(self) -> float:
        """The bound itself: the sum of the three."""
        return self.warm_up + self.projection + self.estimation


def regret_bound(
    structure: Structure,
    *,
    rounds: float,
    arms: int,
    dim: int,
    rank: int,
    noise: float,
    theta_bound: float,
    action_bound: float,
    ridge: float,
    delta: float,
) -> RegretBound:
    """Return the bound on PSLB's regret with its constants, Theorem 1, eq. (basiclemmainsert).

    ``2LS t_w + 2LS φ_δ (2√t - 2√(t_w + 1) + 1)
    + 2L√t β_t √(t_r/λ + (2 + 2 log t - 2 log(t_r + 1)) / (λ₋ + σ²))``, β_t of eq. (ellips2).

    Notes
    -----
    The two brackets bound sums over t_w..t and t_r..t. Where t comes long before t_w or t_r they would go
    below 0; the sum is then empty and counts as 0. What the paper does not mention: its step to eq. (inst_reg)
    needs ``β >= 1``, and eq. (secondeiglemmainsert) puts ``1/i`` where Lemma 15 gives ``1/(i - 1)``, which
    needs ``λ >= (λ₋ + σ²)/2``. See `t_r` for two more. The proof also uses β_t and Lemma 15 before t_w, where they do
    not hold (``ε = 1`` there, and ``√t > φ_δ`` near t_w); but such a round costs at most 2LS, which the first term has.

    Examples
    --------
    >>> known = {"noise": 0.5, "theta_bound": 1.0, "action_bound": 1.5, "ridge": 1.0, "delta": 0.05}
    >>> bound = regret_bound(Structure(1, 1, 0.01, 2, 6), rounds=10_000, arms=10, dim=6, rank=2, **known)
    >>> [round(term, 1) for term in (bound.warm_up, bound.projection, bound.estimation)]
    [98.5, 865.3, 104879.3]
    """
    t = number(rounds, "rounds", least=1.0)
    reach = number(action_bound, "action_bound", least=0.0) * number(theta_bound, "theta_bound", least=0.0)
    start = t_w(structure, arms=arms, dim=dim, rank=rank, delta=delta)
    found = t_r(structure, arms=arms, dim=dim, rank=rank, delta=delta, action_bound=action_bound)
    phi = phi_delta(structure, arms=arms, dim=dim, delta=delta)
    known = {"noise": noise, "theta_bound": theta_bound, "action_bound": action_bound, "ridge": ridge, "delta": delta}
    radius = beta_worst_case(**known, rounds=t, rank=rank, projection_error=phi / math.sqrt(t))
    roots = max(2.0 * math.sqrt(t) - 2.0 * math.sqrt(start + 1.0) + 1.0, 0.0)
    harmonic = max(2.0 + 2.0 * math.log(t) - 2.0 * math.log(found + 1.0), 0.0)
    widths = found / ridge + harmonic / (structure.lambda_minus + structure.sigma2)
    return RegretBound(
        warm_up=2.0 * reach * start,
        projection=2.0 * reach * phi * roots,
        estimation=2.0 * action_bound * math.sqrt(t) * radius * math.sqrt(widths),
    )


def oful_regret_bound(
    *,
    rounds: float,
    dim: int,
    noise: float,
    theta_bound: float,
    action_bound: float,
    ridge: float,
    delta: float,
) -> float:
    """Return OFUL's bound ``4 √(t d log(1 + tL²/(λd))) (√λ S + R √(2 log(1/δ) + d log(1 + tL²/(λd))))``.

    Theorem 3 of Abbasi-Yadkori, Pal and Szepesvari (2011).

    Notes
    -----
    Printed there with ``log(λ + tL/d)`` in the first root and L for L² in the second; this is what the proof
    gives for ``‖x‖ <= L``. It needs ``λ >= max(1, L²)`` and mean rewards in [-1, 1].

    Examples
    --------
    >>> known = {"noise": 1.0, "theta_bound": 1.0, "action_bound": 1.0, "ridge": 1.0, "delta": 0.1}
    >>> round(oful_regret_bound(rounds=6, dim=6, **known), 4)  # 24 √log 2 (1 + √(2 log 10 + 6 log 2))
    79.1343
    """
    t = number(rounds, "rounds", least=0.0)
    known = {"noise": noise, "theta_bound": theta_bound, "action_bound": action_bound, "ridge": ridge, "delta": delta}
    radius = omega_paper(**known, rounds=t, dim=whole(dim, "dim"), rank=None)
    return 4.0 * math.sqrt(t * dim * math.log1p(t * action_bound**2 / (ridge * dim))) * radius


def best_of_both(
    structure: Structure,
    *,
    rounds: float,
    arms: int,
    dim: int,
    rank: int,
    noise: float,
    theta_bound: float,
    action_bound: float,
    ridge: float,
    delta: float,
) -> float:
    """Return the smaller of `regret_bound` and `oful_regret_bound`: PSLB acts on the intersection, Theorem 1.

    Examples
    --------
    >>> hard = Structure(lambda_plus=1, lambda_minus=0.01, sigma2=1, d_x=2, d_psi=6)
    >>> known = {"noise": 0.5, "theta_bound": 1.0, "action_bound": 1.0, "ridge": 1.0, "delta": 0.05}
    >>> best = best_of_both(hard, rounds=100, arms=10, dim=6, rank=2, **known)
    >>> best == oful_regret_bound(rounds=100, dim=6, **known)  # the subspace is too hard to find
    True
    """
    known = {"noise": noise, "theta_bound": theta_bound, "action_bound": action_bound, "ridge": ridge, "delta": delta}
    projected = regret_bound(structure, rounds=rounds, arms=arms, dim=dim, rank=rank, **known)
    return min(projected.total, oful_regret_bound(rounds=rounds, dim=dim, **known))
