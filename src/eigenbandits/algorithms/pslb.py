"""PSLB, the algorithm of the paper, and Thompson sampling in its subspace."""

from __future__ import annotations

from typing import Any

from eigenbandits import inputs
from eigenbandits.belief import Ambient, Belief, Both, Graded, Projected
from eigenbandits.policy import Policy
from eigenbandits.rules import ExactOptimism, Optimism, Rule, SampledOptimism, Thompson
from eigenbandits.subspace import PCA, Streaming, Subspace
from eigenbandits.theory import Structure


class PSLB(Policy):
    """Projected stochastic linear bandit: optimism that leans on the subspace of all the actions seen.

    In each round: PCA over every action offered so far, rewarded or not; a confidence set for θ* around the span of
    the top eigenvectors; then the action whose best plausible value is highest (Lale et al. 2019, Algorithm 1).

    Two ways to treat what lies outside the span. "cut", the paper's: a set C_m of models inside the span, with a
    radius that allows for the span's error, intersected with OFUL's set C_d. "shrunk": one set in the whole space
    whose ridge is weak inside the span and strong outside, so that nothing is cut away for good; with it nothing has
    to be known or set but the noise.

    Cost of a round: O(Kdm) to look, O(Kd²) to add the actions to the second moment (O(d²) for each of some 32 of them
    where d and K are large and many have been added), O(d²) for one reward, and a share
    of a tracked eigendecomposition that falls as 1/t.

    Parameters
    ----------
    noise
        R: rewards are R-sub-Gaussian around their mean. ½ is safe for rewards in [0, 1]. For "shrunk" also
        "estimated", from the rewards themselves; see `belief.Graded`.
    rank
        m, or "auto": the directions that stand out of the spectrum.
    outside
        "shrunk", "cut", or a number: shrunk along the spectrum by that power (see `belief.Graded`). None takes
        "shrunk" where the rank is "auto" and "cut" where it is given.
    theta_bound
        S ≥ ‖θ*‖₂. None: for "shrunk" one over the root mean square size of the first actions, so that the scale of
        the actions does not matter; for "cut" 1.
    delta
        δ, the probability of failure granted to each bound.
    projection_error
        The bound ε on ‖P̂ − P‖₂: "estimated" from the spectrum, "theorem" from `structure`, or a number.
    structure
        λ₊, λ₋, σ², d_x and d_ψ, for "theorem".
    center
        "none", "mean", "set" or "differences"; see `subspace.Subspace`. None takes "mean" for "shrunk", with an
        intercept that is free only once the rewards show a large offset, and "none" for "cut".
    rule
        "optimism" in closed form, "exact" over the intersection, "sampled" as in the paper's experiments, or
        "thompson".
    samples
        Models drawn in each round, for "sampled".
    anytime
        Spend δ, so that the sets hold for all rounds at once; see `belief.Projected` and `belief.Graded`.
    refresh
        "lazy" or "every-round"; see `subspace.PCA`.
    ridge
        λ, for "cut"; None is 1. For "shrunk" the ridges follow from the noise; see `belief.Graded`.
    intersect
        For "cut": False uses C_m alone, as the paper's appendix does.
    radius
        For "cut", β: "sharp", "general" or "worst-case"; see `belief.Projected`.
    ambient_radius
        For "cut", Ω: "logdet" or "paper"; see `belief.Ambient`.
    action_bound
        For "cut", L ≥ ‖x‖₂ for radii that need it; None takes the largest norm seen.
    memory
        "full" holds (d, d) matrices; "streaming" holds O(dm) numbers, for d in the tens of thousands: the span comes
        from `subspace.Streaming`, what lies outside is cut, and there is no ambient set to fall back on.
    dtype
        "float32" reads decision sets in single precision; see `Policy`.
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
        noise: float | str,
        rank: int | str = "auto",
        outside: str | float | None = None,
        theta_bound: float | None = None,
        delta: float = 0.01,
        projection_error: str | float = "estimated",
        structure: Structure | None = None,
        center: str | None = None,
        rule: str = "optimism",
        samples: int = 1000,
        anytime: bool = False,
        refresh: str = "lazy",
        ridge: float | None = None,
        intersect: bool = True,
        radius: str | float = "sharp",
        ambient_radius: str | float = "logdet",
        action_bound: float | None = None,
        memory: str = "full",
        dtype: str = "float64",
        seed: int | None = None,
    ) -> None:
        self.noise = noise
        self.rank = rank
        if isinstance(outside, str):
            inputs.one_of(outside, "outside", ("shrunk", "cut"))
        self.outside = outside
        self.theta_bound = theta_bound
        self.delta = delta
        self.projection_error = projection_error
        self.structure = structure
        self.center = center
        self.rule_name = rule
        self.samples = samples
        self.anytime = anytime
        self.refresh = refresh
        self.ridge = ridge
        self.intersect = intersect
        self.radius = radius
        self.ambient_radius = ambient_radius
        self.action_bound = action_bound
        self.seed = seed
        self.memory = inputs.one_of(memory, "memory", ("full", "streaming"))
        subspace: Subspace
        if memory == "streaming":
            subspace, belief = Streaming(rank, projection_error, center or "none"), self._slim()
        else:
            shrunk = rank == "auto" if outside is None else outside != "cut"
            around = center if center is not None else ("mean" if shrunk else "none")
            subspace = PCA(rank, projection_error, structure, delta, around, refresh, anytime=anytime)
            belief = self._shrunk() if shrunk else self._cut()
        width = inputs.UNKNOWN_NOISE if isinstance(noise, str) else noise
        self._compose(subspace, belief, _rule(rule, width, samples), seed, dtype)

    def _slim(self) -> Belief:
        if self.outside not in (None, "cut"):
            raise ValueError("shrinking what lies outside needs a (d, d) matrix; with memory='streaming' it is cut.")
        return Projected(
            self._known_noise(),
            self.theta_bound,
            self.ridge,
            self.delta,
            self.radius,
            self.action_bound,
            self.anytime,
            slim=True,
        )

    def _shrunk(self) -> Belief:
        meant_for_cut = {
            "ridge": self.ridge is not None,
            "intersect": not self.intersect,
            "radius": self.radius != "sharp",
            "ambient_radius": self.ambient_radius != "logdet",
            "action_bound": self.action_bound is not None,
        }
        for name, given in meant_for_cut.items():
            if given:
                raise ValueError(
                    f"{name} is an option of outside='cut', but what lies outside the subspace is shrunk here; "
                    "give a rank or say outside='cut'."
                )
        power = self.outside if isinstance(self.outside, int | float) else None
        return Graded(self.noise, self.theta_bound, self.delta, anytime=self.anytime, power=power)

    def _known_noise(self) -> float:
        if isinstance(self.noise, str):
            raise ValueError(
                f"noise is {self.noise!r}; where what lies outside is cut it must be a number, such as 0.5."
            )
        return self.noise

    def _cut(self) -> Belief:
        theta_bound = 1.0 if self.theta_bound is None else self.theta_bound
        ridge = 1.0 if self.ridge is None else self.ridge
        known = (self._known_noise(), theta_bound, ridge, self.delta)
        projected = Projected(*known, self.radius, self.action_bound, self.anytime)
        if not self.intersect:
            return projected
        rank = None if self.rank == "auto" else int(self.rank)
        return Both(projected, Ambient(*known, self.ambient_radius, self.action_bound, rank))

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
