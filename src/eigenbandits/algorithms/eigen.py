"""EigenUCB and EigenTS: the flagship algorithms, with a prior learned from the spectrum and the rewards."""

from dataclasses import dataclass

from eigenbandits.algorithms.base import Centered, Floored, Optimistic, Parts
from eigenbandits.belief import Belief, Screened, Spectral
from eigenbandits.belief.memories import HALF_LIVES, remembering
from eigenbandits.policy.scoring import Prior
from eigenbandits.rules import Thompson
from eigenbandits.rules.floor import floored
from eigenbandits.subspace import BoundedSpectrum, Spectrum


@dataclass(kw_only=True, repr=False, eq=False)
class _Eigen(Floored, Centered):
    """What EigenUCB and EigenTS share: the fields, the subspace and the belief."""

    noise: float | None = None
    width: float = 1.0
    center: str = "mean"
    memory: float | str | None = None
    prior: Prior | None = None
    dtype: str = "float64"

    def spectral(self) -> tuple[Spectrum, Belief]:
        """Return the subspace, whose half-life for "auto" is the longest one tried, and the belief."""
        half_life = HALF_LIVES[1] if isinstance(self.memory, str) else self.memory
        return Spectrum(memory=half_life), remembering(Spectral(self.noise, self.width), self.memory)


@dataclass(kw_only=True, repr=False, eq=False)
class EigenUCB(Optimistic, _Eigen):
    """Optimism under a prior that follows the spectrum of all actions offered; nothing needs to be tuned.

    Parameters
    ----------
    noise
        The standard deviation of the rewards around their mean, or None to learn it.
    width
        How optimistic to be. The unit is the amount by which the best of K equally uncertain actions would exceed its
        estimate, but at least one posterior standard deviation; see `belief.Spectral`.
    center
        "mean": an intercept, and directions around the mean of all actions; see `policy.centering.Centering`.
    memory
        Half-life in rewards, for a changing world: after that many further rewards, a reward has half its weight, and
        so does a decision set for the subspace. "auto" uses the half-life that predicts the rewards best
        (`belief.Memories`); None forgets nothing.
    prior
        A scorer to start from: a θ₀, a number for a θ₀ with that value in every entry, or a function that returns the
        scores (K,) of actions (K, d). To give scores along with the actions, pass them to `choose` instead
        (docs/howto/scores.md). A policy with a function cannot be saved to a file.
    certified
        Choose only among actions whose regret is bounded by a confidence set that is proven to hold for all rounds
        simultaneously. Requires `noise` and `theta_bound` (docs/certified.md).
    theta_bound, delta
        For `certified`: S ≥ ‖θ*‖ (including the intercept if actions are centered), and δ, the probability that the set
        may ever fail.
    rule
        "optimism", or "randomized": a choice among the actions that may still be the best, with known probabilities
        that favor the most promising; see `rules.RandomizedOptimism`.
    floor
        ε: with this probability, an action drawn uniformly, so that each has a propensity of at least ε/K; see
        `rules.Floor`.
    dtype
        "float32" reads decision sets in single precision; see `Policy`.
    seed
        Seed of the policy's own randomness.

    Examples
    --------
    >>> import numpy as np, eigenbandits as eb
    >>> policy = eb.EigenUCB(seed=0)
    >>> decision = policy.choose(np.eye(3))
    >>> policy.learn(decision, 1.0)
    >>> policy.diagnostics().rewards_learned
    1
    """

    certified: bool = False
    theta_bound: float | None = None
    delta: float = 0.01

    def parts(self) -> Parts:
        """Return the spectrum, the posterior, screened by a certified set or not, and a form of optimism."""
        if not self.certified:
            return *self.spectral(), self.optimism()
        if self.noise is None or self.theta_bound is None:
            raise ValueError(
                "certified=True requires noise and theta_bound: a guarantee cannot rest on estimates of them."
            )
        belief = Screened(self.noise, self.theta_bound, self.delta, self.width)
        return BoundedSpectrum(), belief, self.optimism()


@dataclass(kw_only=True, repr=False, eq=False)
class EigenTS(_Eigen):
    """The same belief with Thompson sampling, which provides propensities.

    Parameters
    ----------
    noise, center, memory, prior, floor, dtype, seed
        As for `EigenUCB`.
    width
        Factor on the posterior's standard deviation.
    samples
        Models drawn in each round: the choice is the favorite of one of them, and its propensity the share of models
        that favor it; with 1 there are no propensities. See `rules.Thompson`.
    """

    samples: int = 100

    def parts(self) -> Parts:
        """Return the spectrum, the posterior and Thompson sampling."""
        return *self.spectral(), floored(Thompson(self.width, self.samples), self.floor)
