"""PSLB, the algorithm of the paper, and Thompson sampling in its subspace."""

from __future__ import annotations

from typing import Any

from eigenbandits import inputs
from eigenbandits.belief import Ambient, Belief, Both, Projected
from eigenbandits.policy import Policy
from eigenbandits.rules import ExactOptimism, Optimism, Rule, SampledOptimism, Thompson
from eigenbandits.subspace import PCA
from eigenbandits.theory import Structure


class PSLB(Policy):
    """Projected stochastic linear bandit: optimism over C_m ∩ C_d, C_m around the subspace of all actions seen.

    In each round: PCA over every action offered so far; the ellipsoid C_m of models in the span of its top `rank`
    eigenvectors, with a radius that allows for the error of that span; the ellipsoid C_d of OFUL; then the action
    whose best plausible value over both is highest (Lale et al. 2019, Algorithm 1). With the defaults the rank and
    the projection error are estimated from the spectrum.

    Cost of a round: O(Kd) to look, O(d²) for one reward, and a share of an eigendecomposition that falls as 1/t.

    Parameters
    ----------
    noise
        R: rewards are R-sub-Gaussian around their mean. ½ is safe for rewards in [0, 1].
    rank
        m, or "auto".
    theta_bound
        S ≥ ‖θ*‖₂.
    action_bound
        L ≥ ‖x‖₂, for radii that need it; None takes the largest norm seen.
    ridge
        λ.
    delta
        δ, the probability of failure granted to each bound.
    projection_error
        The bound ε on ‖P̂ − P‖₂: "estimated" from the spectrum, "theorem" from `structure`, or a number.
    structure
        λ₊, λ₋, σ², d_x and d_ψ, for "theorem".
    center
        "none", "mean" or "set"; see `subspace.Subspace`.
    intersect
        False uses C_m alone, as the paper's appendix does.
    radius
        β: "sharp", "general" or "worst-case"; see `belief.Projected`.
    ambient_radius
        Ω: "logdet" or "paper"; see `belief.Ambient`.
    rule
        "optimism" in closed form, "exact" over the intersection, "sampled" as in the paper's experiments, or
        "thompson".
    samples
        Models drawn in each round, for "sampled".
    anytime
        Spend δ over the rounds, so that the projected set holds for all rounds at once; see `belief.Projected`.
    refresh
        "lazy" or "every-round"; see `subspace.PCA`.
    seed
        Seed of the policy's own randomness.

    References
    ----------
    Lale, Azizzadenesheli, Anandkumar, Hassibi. Stochastic Linear Bandits with Hidden Low Rank Structure. 2019.

    Examples
    --------
    >>> import numpy as np, eigenbandits as eb
    >>> policy = eb.PSLB(noise=0.5, seed=0)
    >>> decision = policy.choose(np.eye(3))
    >>> policy.learn(decision, 1.0)
    >>> policy.diagnostics()["rewards_learned"]
    1
    """

    def __init__(
        self,
        *,
        noise: float,
        rank: int | str = "auto",
        theta_bound: float = 1.0,
        action_bound: float | None = None,
        ridge: float = 1.0,
        delta: float = 0.01,
        projection_error: str | float = "estimated",
        structure: Structure | None = None,
        center: str = "none",
        intersect: bool = True,
        radius: str | float = "sharp",
        ambient_radius: str | float = "logdet",
        rule: str = "optimism",
        samples: int = 1000,
        anytime: bool = False,
        refresh: str = "lazy",
        seed: int | None = None,
    ) -> None:
        self.noise = noise
        self.rank = rank
        self.theta_bound = theta_bound
        self.action_bound = action_bound
        self.ridge = ridge
        self.delta = delta
        self.projection_error = projection_error
        self.structure = structure
        self.center = center
        self.intersect = intersect
        self.radius = radius
        self.ambient_radius = ambient_radius
        self.rule_name = rule
        self.samples = samples
        self.anytime = anytime
        self.refresh = refresh
        self.seed = seed
        subspace = PCA(rank, projection_error, structure, delta, center, refresh, anytime=anytime)
        projected = Projected(noise, theta_bound, ridge, delta, radius, action_bound, anytime)
        belief: Belief = projected
        if intersect:
            known = None if rank == "auto" else int(rank)
            belief = Both(projected, Ambient(noise, theta_bound, ridge, delta, ambient_radius, action_bound, known))
        self._compose(subspace, belief, _rule(rule, noise, samples), seed)

    def params(self) -> dict[str, Any]:
        """Return the constructor's arguments; the rule by its word, since `self.rule` is the rule itself."""
        return super().params() | {"rule": self.rule_name}


class ProjectedThompson(Policy):
    """Thompson sampling in the estimated subspace: the paper's future work.

    The posterior N(φ̂, scale² B⁻¹) of the projected model decides; there is no optimisation over sets at all, and a
    round costs O(Kdm). What the subspace misses is not explored: unlike PSLB it has no ambient set to fall back on.

    Parameters
    ----------
    noise, rank, theta_bound, ridge, delta, projection_error, structure, center, refresh, seed
        As for `PSLB`.
    scale
        Width of the posterior; None takes the noise R.
    propensity_draws
        Models that estimate the probability of each choice.

    References
    ----------
    Lale et al. 2019, section 7; Agrawal and Goyal. Thompson Sampling for Contextual Bandits with Linear Payoffs.
    ICML 2013.
    """

    def __init__(
        self,
        *,
        noise: float,
        rank: int | str = "auto",
        theta_bound: float = 1.0,
        ridge: float = 1.0,
        delta: float = 0.01,
        projection_error: str | float = "estimated",
        structure: Structure | None = None,
        center: str = "none",
        scale: float | None = None,
        propensity_draws: int = 100,
        refresh: str = "lazy",
        seed: int | None = None,
    ) -> None:
        self.noise = noise
        self.rank = rank
        self.theta_bound = theta_bound
        self.ridge = ridge
        self.delta = delta
        self.projection_error = projection_error
        self.structure = structure
        self.center = center
        self.scale = scale
        self.propensity_draws = propensity_draws
        self.refresh = refresh
        self.seed = seed
        self._compose(
            PCA(rank, projection_error, structure, delta, center, refresh),
            Projected(noise, theta_bound, ridge, delta),
            Thompson(noise if scale is None else scale, propensity_draws),
            seed,
        )


def _rule(name: str, noise: float, samples: int) -> Rule:
    match inputs.one_of(name, "rule", ("optimism", "exact", "sampled", "thompson")):
        case "exact":
            return ExactOptimism()
        case "sampled":
            return SampledOptimism(samples)
        case "thompson":
            return Thompson(noise)
        case _:
            return Optimism()
