"""PSLB, the algorithm of the paper, and Thompson sampling in its subspace."""

from __future__ import annotations

from eigenbandits import inputs
from eigenbandits.algorithms.words import EVERY_FORM, optimistic
from eigenbandits.belief import Ambient, Belief, Both, Projected
from eigenbandits.policy import Policy
from eigenbandits.rules import Thompson
from eigenbandits.rules.floor import floored
from eigenbandits.subspace import PCA, Streaming, Subspace
from eigenbandits.theory import Structure


class PSLB(Policy):
    """Projected stochastic linear bandit: optimism that leans on the subspace of all the actions seen.

    In each round: PCA over every action offered so far, rewarded or not; a set C_m of models inside the span of the
    top eigenvectors, with a radius that allows for the span's error, intersected with OFUL's set C_d; then the action
    whose best plausible value is highest (Lale et al. 2019, Algorithm 1). The letters of the paper are R, m, S, L, λ
    and δ, in the order of the arguments.

    Cost of a round: O(Kdm) to look, O(Kd²) to add the actions to the second moment (O(d²) for each of some 32 of them
    where d and K are large and many have been added), O(d²) for one reward, and a share
    of a tracked eigendecomposition that falls as 1/t.

    Parameters
    ----------
    noise
        R: rewards are R-sub-Gaussian around their mean. ½ is safe for rewards in [0, 1].
    rank
        m, or "auto": the directions that stand out of the spectrum.
    theta_bound
        S ≥ ‖θ*‖₂.
    action_bound
        L ≥ ‖x‖₂ for radii that need it; None takes the largest norm seen.
    ridge
        λ.
    delta
        δ, the probability of failure granted to each bound.
    projection_error
        The bound ε on ‖P̂ − P‖₂: "estimated" from the spectrum; from `structure` "theorem", Φ_t of the appendix, or
        "theorem-main", φ_δ/√t of the main text, which with ``radius="worst-case"`` gives eq. (ellips2) as written; or
        a number.
    structure
        λ₊, λ₋, σ², d_x and d_ψ, for the two theorems.
    center
        "none", "mean", "set" or "differences"; see `centering.Centering`.
    intersect
        False uses C_m alone, as the paper's appendix does.
    radius
        β: "sharp", "general" or "worst-case", or a number; see `belief.Projected`.
    ambient_radius
        Ω: "logdet" or "paper", or a number; see `belief.Ambient`.
    rule
        "optimism" in closed form, "exact" over the intersection, "sampled" as in the paper's experiments, or "joint"
        over projections and models together, as line 9 of Algorithm 1 has it: `Decision.projection` gives P̃. Of the
        intersection, "joint" takes C_m exactly; of C_d the value that it grants the action, where that is lower.
        "randomized" leaves some choices to chance, with known probabilities, as for `EigenUCB`.
    samples
        Models drawn in each round, for "sampled".
    floor
        As for `EigenUCB`.
    anytime
        Spend δ over the rounds, so that the sets hold for all of them at once; see `belief.Projected`.
    subspace
        "pca", or "streaming": a block power method that never writes the second moment down. With `intersect=False`
        and a "sharp" radius it needs O(dm) memory in all, for d in the tens of thousands.
    refresh
        "lazy" or "every-round", for "pca"; see `subspace.PCA`.
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
    >>> policy = eb.PSLB(noise=0.5, rank=2, seed=0)
    >>> decision = policy.choose(np.eye(3))
    >>> policy.learn(decision, 1.0)
    >>> policy.diagnostics().rewards_learned
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
        floor: float = 0.0,
        anytime: bool = False,
        subspace: str = "pca",
        refresh: str = "lazy",
        dtype: str = "float64",
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
        self.floor = floor
        self.anytime = anytime
        self.subspace_name = inputs.one_of(subspace, "subspace", ("pca", "streaming"))
        self.refresh = refresh
        self.seed = seed
        chosen = optimistic(rule, floor, EVERY_FORM, samples)
        self._compose(self._subspace(), self._belief(), chosen, center=center, seed=seed, dtype=dtype)

    def _subspace(self) -> Subspace:
        if self.subspace_name == "streaming":
            return Streaming(self.rank, self.projection_error)
        return PCA(
            self.rank, self.projection_error, self.structure, self.delta, refresh=self.refresh, anytime=self.anytime
        )

    def _belief(self) -> Belief:
        known = (self.noise, self.theta_bound, self.ridge, self.delta)
        # Only these radii can be had without Σ in memory.
        slim = self.subspace_name == "streaming" and not self.intersect and self.radius not in ("general", "worst-case")
        projected = Projected(*known, self.radius, self.action_bound, self.anytime, slim)
        if not self.intersect:
            return projected
        rank = None if self.rank == "auto" else int(self.rank)
        return Both(projected, Ambient(*known, self.ambient_radius, self.action_bound, rank))


class ProjectedThompson(Policy):
    """Thompson sampling in the estimated subspace: the paper's future work.

    The posterior N(φ̂, scale² B⁻¹) of the projected model decides; there is no optimization over sets at all, and a
    round costs O(Kdm). What the subspace misses is not explored: unlike PSLB it has no ambient set to fall back on.

    Parameters
    ----------
    noise, rank, theta_bound, ridge, delta, projection_error, structure, center, refresh, seed
        As for `PSLB`.
    scale
        Width of the posterior; None takes the noise R.
    samples, floor
        As for `EigenTS`.

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
        samples: int = 100,
        floor: float = 0.0,
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
        self.samples = samples
        self.floor = floor
        self.refresh = refresh
        self.seed = seed
        self._compose(
            PCA(rank, projection_error, structure, delta, refresh=refresh),
            Projected(noise, theta_bound, ridge, delta),
            floored(Thompson(scale, samples), floor),
            center=center,
            seed=seed,
        )
