"""Policies that see the problem first: PSLB and the certified set with true constants, OFUL with a fitted ridge."""

import math
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from eigenbandits.algorithms import PSLB, EigenUCB
from eigenbandits.algorithms.base import Algorithm, Parts
from eigenbandits.belief import Ambient, Projected
from eigenbandits.environments import Instance
from eigenbandits.inputs import Array
from eigenbandits.policy import Decision, ListDecision
from eigenbandits.rules import Optimism
from eigenbandits.subspace import PCA, Known, Whole
from eigenbandits.subspace.error import subspace_distance

# Decision sets from which the size and the mean of the actions are estimated.
_SETS = 50
# A common mean with more than this share of the energy is subtracted.
_LARGE_MEAN = 0.1


class TrueErrorPCA(PCA):
    """PCA whose bound on ‖P̂ − P‖₂ is the true one, measured against a basis (d, m) of the truth at each refresh."""

    def __init__(self, truth: Array) -> None:
        super().__init__(rank=truth.shape[1])
        self.truth = truth

    def _error(self) -> float:
        assert self.directions is not None
        return min(1.0, subspace_distance(self.directions, self.truth))


@dataclass(kw_only=True, repr=False, eq=False)
class _Informed(Algorithm):
    """Base of the policies here: `reveal` composes the policy again once the problem is known."""

    noise: float
    instance: Instance | None = field(init=False, default=None)

    def reveal(self, instance: Instance) -> None:
        """Compose the policy of the parts that follow from the instance."""
        self.instance = instance
        self.__post_init__()

    def parts(self) -> Parts:
        """Return the parts that follow from the instance; before it is known, those of OFUL."""
        return (Whole(), Ambient(self.noise), Optimism()) if self.instance is None else self.parts_for(self.instance)

    def parts_for(self, instance: Instance) -> Parts:
        """Return the parts that follow from an instance."""
        raise NotImplementedError


@dataclass(kw_only=True, repr=False, eq=False)
class InformedPSLB(_Informed):
    """The paper's PSLB with its inputs: the true rank, the true projection error and the norm of θ*.

    A large common mean of the actions is subtracted. Where an environment has no known subspace (`Digits`), θ* itself
    spans it: m = 1.
    """

    def parts_for(self, instance: Instance) -> Parts:
        """Read the truth from the instance."""
        actions = _first_actions(instance)
        known = instance.basis.shape[1] > 0
        basis = instance.basis if known else (instance.theta / np.linalg.norm(instance.theta))[:, None]
        mean, energy = actions.mean(axis=0), float(np.square(actions).sum(axis=1).mean())
        # Without a known subspace θ* is known up to its length only: rewards are not the network's logits.
        bound = instance.theta_bound if known else energy**-0.5
        large = float(mean @ mean) > _LARGE_MEAN * energy
        made = PSLB(noise=self.noise, rank=basis.shape[1], theta_bound=bound, ridge=bound**-2, seed=self.seed)
        self.center = "mean" if large else "none"
        return TrueErrorPCA(basis), made.belief, made.rule


@dataclass(kw_only=True, repr=False, eq=False)
class InformedCertified(_Informed):
    """`EigenUCB(certified=True)` with what its proof needs: the noise, and the norm of θ* and its intercept as S."""

    def parts_for(self, instance: Instance) -> Parts:
        """Read the bound from the instance."""
        # Actions are centered on the mean of the first set, if on anything.
        intercept = float(next(iter(instance.rounds())).actions.mean(axis=0) @ instance.theta)
        bound = math.hypot(instance.theta_bound, intercept)
        made = EigenUCB(certified=True, noise=self.noise, theta_bound=bound, seed=self.seed)
        self.center = "mean"
        return made.subspace, made.belief, made.rule


@dataclass(kw_only=True, repr=False, eq=False)
class InformedBayes(_Informed):
    """Gaussian regression on the true subspace with the true size of θ*, the true noise and the true mean reward.

    Only the m numbers of θ* are left to learn, in the only directions that matter: no linear policy can be given more.
    It is optimistic by one posterior standard deviation. The noise is read from the instance.
    """

    def parts_for(self, instance: Instance) -> Parts:
        """Read the truth from the instance."""
        offered = list(islice(instance.rounds(), _SETS))
        self.level = float(np.mean([round_.values.mean() for round_ in offered]))
        # Of a reward that is an amount with a small probability, the variance is the amount times the mean.
        pays = getattr(getattr(instance, "environment", None), "pays", 1.0)
        noise = math.sqrt(pays * self.level)
        rank = instance.basis.shape[1]
        ridge = noise**2 * rank / float(instance.theta @ instance.theta)
        belief = Projected(noise, ridge=ridge, radius=noise)
        return Known(instance.basis, projection_error=0.0), belief, Optimism()

    def learn(self, action: Decision | ListDecision | ArrayLike, reward: Any, *, score: float | None = None) -> None:
        """Take in a reward, less the mean reward."""
        super().learn(action, reward - self.level, score=score)


@dataclass(kw_only=True, repr=False, eq=False)
class RidgeOFUL(_Informed):
    """OFUL with its log-det radius and the ridge λ = R² d/S² instead of 1, where S is one over the actions' size.

    This is the ridge of a Gaussian prior that gives each coordinate of θ* the variance S²/d. It lowers OFUL's regret
    several times when d is large.
    """

    def parts_for(self, instance: Instance) -> Parts:
        """Read the dimension and the size of the actions from the instance."""
        actions = _first_actions(instance)
        size = math.sqrt(float(np.square(actions - actions.mean(axis=0)).sum(axis=1).mean()))
        ridge = self.noise**2 * actions.shape[1] * size**2
        return Whole(), Ambient(self.noise, 1.0 / size, ridge), Optimism()


def _first_actions(instance: Instance) -> Array:
    return np.concatenate([offered.actions for offered in islice(instance.rounds(), _SETS)])
