"""PSLB, the paper's algorithm, and Thompson sampling in its subspace."""

from dataclasses import InitVar, dataclass

from eigenbandits import inputs
from eigenbandits.algorithms.base import Confident, Floored, Optimistic, Parts
from eigenbandits.belief import Ambient, Both, Projected
from eigenbandits.rules import ExactOptimism, JointOptimism, Rule, SampledOptimism, Thompson
from eigenbandits.rules.floor import floored
from eigenbandits.subspace import PCA, Streaming, Subspace
from eigenbandits.theory import Structure


@dataclass(kw_only=True, repr=False, eq=False)
class _PrincipalSubspace(Confident):
    """The fields of the subspace, which PSLB and ProjectedThompson share."""

    rank: int | str = "auto"
    projection_error: str | float = "estimated"
    structure: Structure | None = None
    refresh: str = "lazy"

    def pca(self, anytime: bool = False) -> PCA:
        """Return the subspace of the top eigenvectors."""
        return PCA(self.rank, self.projection_error, self.structure, self.delta, refresh=self.refresh, anytime=anytime)


@dataclass(kw_only=True, repr=False, eq=False)
class PSLB(Optimistic, _PrincipalSubspace):
    """Projected stochastic linear bandit: optimism in the subspace that all actions seen reveal.

    In each round: PCA over every action offered so far, rewarded or not; a set C_m of models inside the span of the
    top eigenvectors, with a radius that allows for the span's error, intersected with OFUL's set C_d; then the action
    with the highest optimistic value (Lale et al. 2019, Algorithm 1). The paper's letter for each argument is given
    next to it.

    Cost of a round: O(Kdm) to choose, O(Kd²) to add the actions to the second moment (O(d²) for each of about 32 of
    them if d and K are large and many have been added), O(d²) to learn a reward, and a share of a tracked
    eigendecomposition that falls as 1/t.

    Parameters
    ----------
    noise
        R: rewards are R-sub-Gaussian around their mean. ½ is safe for rewards in [0, 1].
    rank
        m, or "auto": the number of directions that stand out in the spectrum.
    theta_bound
        S ≥ ‖θ*‖₂.
    action_bound
        L ≥ ‖x‖₂, for radii that need it; None uses the largest norm seen.
    ridge
        λ.
    delta
        δ, the failure probability of each bound.
    projection_error
        The bound ε on ‖P̂ − P‖₂: "estimated" from the spectrum; from `structure`, "theorem", Φ_t of the appendix, or
        "theorem-main", φ_δ/√t of the main text, which with ``radius="worst-case"`` gives eq. (ellips2) as written; or
        a number.
    structure
        λ₊, λ₋, σ², d_x and d_ψ, for the two theorems.
    center
        "none", "mean", "set" or "differences"; see `policy.centering.Centering`.
    intersect
        False uses only C_m, as the paper's appendix does.
    radius
        β: "sharp", "general" or "worst-case", or a number; see `belief.Projected`.
    ambient_radius
        Ω: "logdet" or "paper", or a number; see `belief.Ambient`.
    rule
        "optimism" in closed form, "exact" over the intersection, "sampled" as in the paper's experiments, or "joint"
        over projections and models together, as in line 9 of Algorithm 1: `Decision.projection` gives P̃. Of the
        intersection, "joint" uses C_m exactly; of C_d it uses only the action's optimistic value, if that is lower.
        "randomized" leaves some choices to chance, with known probabilities, as for `EigenUCB`.
    samples
        Models drawn in each round, for "sampled".
    floor
        As for `EigenUCB`.
    anytime
        Spend δ over the rounds, so that the sets hold in all rounds simultaneously; see `belief.Projected`.
    subspace
        "pca", or "streaming": a block power method that never forms the second moment. With `intersect=False` and a
        "sharp" radius it needs O(dm) memory in all, for d in the tens of thousands.
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

    action_bound: float | None = None
    intersect: bool = True
    radius: str | float = "sharp"
    ambient_radius: str | float = "logdet"
    samples: int = 1000
    anytime: bool = False
    subspace: InitVar[str] = "pca"
    dtype: str = "float64"

    def forms(self) -> dict[str, Rule]:
        """Return the available forms of optimism, by name."""
        exact, sampled, joint = ExactOptimism(), SampledOptimism(self.samples), JointOptimism()
        return super().forms() | {"exact": exact, "sampled": sampled, "joint": joint}

    def parts(self) -> Parts:
        """Return the estimated subspace, the set in it or the intersection of both sets, and a form of optimism."""
        streaming = inputs.one_of(self.words["subspace"], "subspace", ("pca", "streaming")) == "streaming"
        subspace: Subspace = Streaming(self.rank, self.projection_error) if streaming else self.pca(self.anytime)
        known = (self.noise, self.theta_bound, self.ridge, self.delta)
        # Only these radii can be computed without Σ in memory.
        slim = streaming and not self.intersect and self.radius not in ("general", "worst-case")
        projected = Projected(*known, self.radius, self.action_bound, self.anytime, slim)
        if not self.intersect:
            return subspace, projected, self.optimism()
        rank = None if self.rank == "auto" else int(self.rank)
        ambient = Ambient(*known, self.ambient_radius, self.action_bound, rank)
        return subspace, Both(projected, ambient), self.optimism()


@dataclass(kw_only=True, repr=False, eq=False)
class ProjectedThompson(Floored, _PrincipalSubspace):
    """Thompson sampling in the estimated subspace: the paper's future work.

    The posterior N(φ̂, scale² B⁻¹) of the projected model decides; there is no optimization over sets, and a
    round costs O(Kdm). What the subspace misses is not explored: unlike PSLB, there is no ambient set to fall back on.

    Parameters
    ----------
    noise, rank, theta_bound, ridge, delta, projection_error, structure, center, refresh, seed
        As for `PSLB`.
    scale
        Width of the posterior; None uses the noise R.
    samples, floor
        As for `EigenTS`.

    References
    ----------
    Lale et al. 2019, section 7; Agrawal and Goyal. Thompson Sampling for Contextual Bandits with Linear Payoffs.
    ICML 2013.
    """

    scale: float | None = None
    samples: int = 100

    def parts(self) -> Parts:
        """Return the estimated subspace, the posterior in it and Thompson sampling."""
        belief = Projected(self.noise, self.theta_bound, self.ridge, self.delta)
        return self.pca(), belief, floored(Thompson(self.scale, self.samples), self.floor)
