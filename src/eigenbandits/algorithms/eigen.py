"""EigenUCB and EigenTS: the flagship, which learns its prior from the spectrum and the rewards."""

from __future__ import annotations

from eigenbandits.belief import Belief, MixtureSet, Spectral
from eigenbandits.policy import Policy
from eigenbandits.rules import Optimism, Thompson
from eigenbandits.subspace import PCA, Spectrum, Subspace


class EigenUCB(Policy):
    """Optimism under a prior that follows the spectrum of all actions offered; nothing has to be set.

    Parameters
    ----------
    noise
        The standard deviation of the rewards around their mean, or None: learned from them.
    width
        How many posterior standard deviations optimism adds to an estimate.
    center
        "mean": an intercept and directions around the mean of all actions; see `centering.Centering`.
    certified
        Choose by a confidence set that is proved to hold for all rounds at once, in the place of the posterior; needs
        `noise` and `theta_bound`, and costs regret (docs/certified.md).
    theta_bound, delta
        For `certified`: S ≥ ‖θ*‖ (intercept included where actions are centered), and δ, the probability that the set
        may fail, ever.
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

    def __init__(
        self,
        *,
        noise: float | None = None,
        width: float = 1.0,
        center: str = "mean",
        certified: bool = False,
        theta_bound: float | None = None,
        delta: float = 0.01,
        dtype: str = "float64",
        seed: int | None = None,
    ) -> None:
        self.noise = noise
        self.width = width
        self.center = center
        self.certified = certified
        self.theta_bound = theta_bound
        self.delta = delta
        self.seed = seed
        subspace: Subspace = Spectrum()
        belief: Belief = Spectral(noise, width)
        if certified:
            if noise is None or theta_bound is None:
                raise ValueError("certified=True needs noise and theta_bound: a proof cannot learn what it rests on.")
            subspace, belief = PCA(), MixtureSet(noise, theta_bound, delta)
        self._compose(subspace, belief, Optimism(), center=center, seed=seed, dtype=dtype)


class EigenTS(Policy):
    """The same belief by Thompson sampling, which gives propensities.

    Parameters
    ----------
    noise, center, dtype, seed
        As for `EigenUCB`.
    width
        Factor on the posterior's standard deviation.
    propensity_draws
        Models that estimate the probability of each choice; 0 leaves it out.
    """

    def __init__(
        self,
        *,
        noise: float | None = None,
        width: float = 1.0,
        center: str = "mean",
        propensity_draws: int = 100,
        dtype: str = "float64",
        seed: int | None = None,
    ) -> None:
        self.noise = noise
        self.width = width
        self.center = center
        self.propensity_draws = propensity_draws
        self.seed = seed
        rule = Thompson(width, propensity_draws)
        self._compose(Spectrum(), Spectral(noise, width), rule, center=center, seed=seed, dtype=dtype)
