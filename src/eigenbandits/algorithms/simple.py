"""Reference policies: greedy ones, a random one, and one that knows θ*."""

from dataclasses import dataclass
from typing import Any, Protocol

from eigenbandits import inputs
from eigenbandits.algorithms.base import Algorithm, Floored, Parts
from eigenbandits.algorithms.linear import RidgeAlgorithm
from eigenbandits.belief.fixed import FixedModel
from eigenbandits.inputs import Array
from eigenbandits.rules import BestEstimate, Floor, InverseGap, Uniform
from eigenbandits.rules.floor import floored
from eigenbandits.subspace import Whole


@dataclass(kw_only=True, repr=False, eq=False)
class Greedy(RidgeAlgorithm):
    """The highest ridge estimate, with no exploration: O(Kd) to choose, O(d²) to learn.

    Parameters
    ----------
    ridge, center, seed
        As for `PSLB`.
    memory
        As for `EigenUCB`.
    """

    def parts(self) -> Parts:
        """Return the whole space, the estimate and the rule that follows it."""
        return Whole(), self.regression(), BestEstimate()


@dataclass(kw_only=True, repr=False, eq=False)
class EpsilonGreedy(RidgeAlgorithm):
    """The highest ridge estimate, or with probability ε an action drawn uniformly.

    Parameters
    ----------
    epsilon
        ε.
    ridge, center, seed
        As for `PSLB`.
    memory
        As for `EigenUCB`.

    References
    ----------
    Sutton, Barto. Reinforcement Learning, chapter 2.
    """

    epsilon: float = 0.1

    def parts(self) -> Parts:
        """Return the whole space, the estimate, and the rule that follows it with probability 1 − ε."""
        return Whole(), self.regression(), Floor(BestEstimate(), self.epsilon)


@dataclass(kw_only=True, repr=False, eq=False)
class SquareCB(Floored, RidgeAlgorithm):
    """Inverse gap weighting on the ridge estimate: O(Kd) to choose, O(d²) to learn.

    Parameters
    ----------
    gamma, exponent
        How fast choices concentrate on the best estimate; see `rules.InverseGap`.
    ridge, center, seed
        As for `PSLB`.
    memory, floor
        As for `EigenUCB`.

    References
    ----------
    Foster, Rakhlin. Beyond UCB: Optimal and Efficient Contextual Bandits with Regression Oracles. ICML 2020.
    """

    gamma: float = 10.0
    exponent: float = 0.5

    def parts(self) -> Parts:
        """Return the whole space, the estimate and inverse gap weighting."""
        return Whole(), self.regression(), floored(InverseGap(self.gamma, self.exponent), self.floor)


@dataclass(kw_only=True, repr=False, eq=False)
class Random(Algorithm):
    """A uniformly random action; nothing is learned.

    Parameters
    ----------
    seed
        Seed of the choices.
    """

    def parts(self) -> Parts:
        """Return the whole space, no estimate and a uniform choice."""
        return Whole(), FixedModel(), Uniform()


class HasTheta(Protocol):
    """Anything that knows θ*, such as an environment's instance."""

    @property
    def theta(self) -> Array:
        """The true parameter."""


@dataclass(kw_only=True, repr=False, eq=False)
class Oracle(Algorithm):
    """The action that is best under the true θ*; its regret is zero.

    Parameters
    ----------
    theta
        θ*; None waits for `reveal`, which `eigenbandits.run` calls.
    seed
        Unused; accepted because all policies take it.
    """

    theta: Any = None

    def parts(self) -> Parts:
        """Return the whole space, the truth and the rule that follows it."""
        theta = None if self.theta is None else inputs.as_action(self.theta, None, what="theta")
        return Whole(), FixedModel(theta), BestEstimate()

    def reveal(self, instance: HasTheta) -> None:
        """Read the truth from an instance."""
        self.theta = instance.theta
        self.belief = self.parts()[1]
        if self.dim is not None:
            self.belief.start(self.dim)
