"""Two yardsticks that need to look at the problem first: PSLB told the truth, and OFUL with a ridge that fits."""

from __future__ import annotations

import math
from itertools import islice

import numpy as np

from eigenbandits.algorithms import PSLB, EigenUCB
from eigenbandits.belief import Ambient
from eigenbandits.environments import Instance
from eigenbandits.inputs import Array
from eigenbandits.policy import Policy
from eigenbandits.rules import Optimism
from eigenbandits.subspace import PCA, Whole
from eigenbandits.subspace.error import subspace_distance

# Decision sets from which the size and the mean of the actions are taken.
_LOOK = 50
# A common mean with more than this share of the energy is taken off.
_LARGE_MEAN = 0.1


class MeasuredPCA(PCA):
    """PCA whose bound on ‖P̂ − P‖₂ is the true one, measured against the true subspace at every refresh.

    Parameters
    ----------
    truth
        (d, m) orthonormal basis of the true subspace.
    """

    def __init__(self, truth: Array) -> None:
        super().__init__(rank=truth.shape[1])
        self.truth = truth

    def _error(self) -> float:
        assert self.directions is not None
        return min(1.0, subspace_distance(self.directions, self.truth))


class ToldPSLB(Policy):
    """The paper's PSLB, cut and intersected, told what it takes as input: the rank and the projection error.

    It is also told the norm of θ* and, where the actions have a large common mean, to take that off. Where an
    environment names no subspace (`Digits`), θ* itself spans it: m = 1.

    Parameters
    ----------
    noise, seed
        As for `PSLB`.
    """

    def __init__(self, *, noise: float, seed: int | None = None) -> None:
        self.noise = noise
        self.seed = seed
        self._compose(Whole(), Ambient(noise), Optimism(), seed=seed)

    def reveal(self, instance: Instance) -> None:
        """Be told the truth."""
        actions = _first_actions(instance)
        named = instance.basis.shape[1] > 0
        basis = instance.basis if named else (instance.theta / np.linalg.norm(instance.theta))[:, None]
        mean, energy = actions.mean(axis=0), float(np.square(actions).sum(axis=1).mean())
        # Without a named subspace θ* is known up to its length only: rewards are not the network's logits.
        bound = instance.theta_bound if named else energy**-0.5
        large = float(mean @ mean) > _LARGE_MEAN * energy
        told = PSLB(noise=self.noise, rank=basis.shape[1], theta_bound=bound, ridge=bound**-2, seed=self.seed)
        center = "mean" if large else "none"
        self._compose(MeasuredPCA(basis), told.belief, told.rule, center=center, seed=self.seed)


class ToldCertified(Policy):
    """`EigenUCB(certified=True)`, told what its proof rests on: the noise, and the norm of θ* as its bound S.

    Parameters
    ----------
    noise, seed
        As for `EigenUCB`.
    """

    def __init__(self, *, noise: float, seed: int | None = None) -> None:
        self.noise = noise
        self.seed = seed
        self._compose(Whole(), Ambient(noise), Optimism(), seed=seed)

    def reveal(self, instance: Instance) -> None:
        """Be told the bound."""
        bound = instance.theta_bound
        told = EigenUCB(certified=True, noise=self.noise, theta_bound=bound, center="none", seed=self.seed)
        self._compose(told.subspace, told.belief, told.rule, seed=self.seed)


class RidgeOFUL(Policy):
    """OFUL with its log-det radius and the ridge λ = R² d/S² in the place of 1, with S one over the actions' size.

    It is what a Gaussian prior asks for that gives each coordinate of θ* the variance S²/d, and lowers OFUL's regret
    several times where d is large.

    Parameters
    ----------
    noise, seed
        As for `OFUL`.
    """

    def __init__(self, *, noise: float, seed: int | None = None) -> None:
        self.noise = noise
        self.seed = seed
        self._compose(Whole(), Ambient(noise), Optimism(), seed=seed)

    def reveal(self, instance: Instance) -> None:
        """Look at the dimension and the size of the actions."""
        actions = _first_actions(instance)
        size = _size(actions)
        ridge = self.noise**2 * actions.shape[1] * size**2
        self._compose(Whole(), Ambient(self.noise, 1.0 / size, ridge), Optimism(), seed=self.seed)


def _first_actions(instance: Instance) -> Array:
    return np.concatenate([offered.actions for offered in islice(instance.rounds(), _LOOK)])


def _size(actions: Array) -> float:
    """Return the root mean square distance of actions from their mean."""
    return math.sqrt(float(np.square(actions - actions.mean(axis=0)).sum(axis=1).mean()))
