"""Policies to measure others by: greedy ones, chance, and the one that knows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from eigenbandits import inputs, merging
from eigenbandits.belief import Ambient, Belief, View
from eigenbandits.belief.base import Rows
from eigenbandits.belief.memories import remembering
from eigenbandits.merging import Replica
from eigenbandits.policy import Policy
from eigenbandits.rules import BestEstimate, Floor, InverseGap, Uniform
from eigenbandits.rules.floor import floored
from eigenbandits.subspace import Whole
from eigenbandits.subspace.base import Frame

Array = NDArray[np.float64]


class Greedy(Policy):
    """The highest ridge estimate, with no exploration at all: O(Kd) to choose, O(d²) to learn.

    Parameters
    ----------
    ridge, center, seed
        As for `PSLB`.
    memory
        As for `EigenUCB`.
    """

    def __init__(
        self,
        *,
        ridge: float = 1.0,
        memory: float | str | None = None,
        center: str = "none",
        seed: int | None = None,
    ) -> None:
        self.ridge = ridge
        self.memory = memory
        self.center = center
        self.seed = seed
        belief = remembering(Ambient(0.0, ridge=ridge), memory)
        self._compose(Whole(), belief, BestEstimate(), center=center, seed=seed)


class EpsilonGreedy(Policy):
    """The highest ridge estimate, but any action with probability ε.

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

    def __init__(
        self,
        *,
        epsilon: float = 0.1,
        ridge: float = 1.0,
        memory: float | str | None = None,
        center: str = "none",
        seed: int | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.ridge = ridge
        self.memory = memory
        self.center = center
        self.seed = seed
        belief = remembering(Ambient(0.0, ridge=ridge), memory)
        self._compose(Whole(), belief, Floor(BestEstimate(), epsilon), center=center, seed=seed)


class SquareCB(Policy):
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

    def __init__(
        self,
        *,
        gamma: float = 10.0,
        exponent: float = 0.5,
        ridge: float = 1.0,
        memory: float | str | None = None,
        center: str = "none",
        floor: float = 0.0,
        seed: int | None = None,
    ) -> None:
        self.gamma = gamma
        self.exponent = exponent
        self.ridge = ridge
        self.memory = memory
        self.center = center
        self.floor = floor
        self.seed = seed
        rule = floored(InverseGap(gamma, exponent), floor)
        self._compose(Whole(), remembering(Ambient(0.0, ridge=ridge), memory), rule, center=center, seed=seed)


class Random(Policy):
    """Any action, evenly; learns nothing.

    Parameters
    ----------
    seed
        Seed of the choices.
    """

    def __init__(self, *, seed: int | None = None) -> None:
        self.seed = seed
        self._compose(Whole(), FixedModel(), Uniform(), seed=seed)


class HasTheta(Protocol):
    """Anything that knows θ*: an environment's instance."""

    @property
    def theta(self) -> Array:
        """The true parameter."""


class Oracle(Policy):
    """The action that is best under the true θ*; its regret is zero.

    Parameters
    ----------
    theta
        θ*; None waits for `reveal`, which `eigenbandits.run` calls.
    seed
        Unused; there so that all policies are made alike.
    """

    def __init__(self, *, theta: Any = None, seed: int | None = None) -> None:
        self.theta = None if theta is None else inputs.as_action(theta, None, what="theta")
        self.seed = seed
        self._compose(Whole(), FixedModel(self.theta), BestEstimate(), seed=seed)

    def reveal(self, instance: HasTheta) -> None:
        """Be told the truth."""
        self.theta = inputs.as_action(instance.theta, None, what="theta")
        self.belief = FixedModel(self.theta)
        if self.dim is not None:
            self.belief.start(self.dim)


class FixedModel(Belief):
    """A model that rewards do not change: the truth, or zero.

    Parameters
    ----------
    theta
        The model; None is the zero vector.
    """

    _state_names: ClassVar[tuple[str, ...]] = ("model", "count")

    def __init__(self, theta: Array | None = None) -> None:
        self.theta = theta
        self.model: Array = np.zeros(0)
        self.count = 0

    def start(self, dim: int, intercept: float = 0.0) -> None:
        """Check the model's length, or lay out zeros."""
        if self.theta is not None and len(self.theta) != dim:
            raise ValueError(f"theta has length {len(self.theta)}; the actions have length {dim}.")
        self.model = np.zeros(dim) if self.theta is None else self.theta

    def learn(self, action: Array, reward: float, forecast: Array | None = None) -> None:
        """Count the reward."""
        self.count += 1

    def merge(self, replicas: Sequence[Replica[Any]], frame: Frame | None) -> None:
        """Add up how many rewards went by."""
        self.count = merging.count(replicas, "count")

    def view(self, lifted: Array) -> View:
        """Look at the model through a decision set."""
        return _FixedView(self.model, lifted)

    def diagnostics(self, frame: Frame | None) -> dict[str, Any]:
        """Return how many rewards went by."""
        return {"rewards_learned": self.count}


class _FixedView(View):
    def __init__(self, model: Array, lifted: Array) -> None:
        self.model = model
        self.lifted = lifted

    def estimates(self) -> Array:
        return np.asarray(self.lifted @ self.model)

    def part(self, rows: slice | Rows) -> View:
        return _FixedView(self.model, self.lifted[rows])

    def believer(self) -> Callable[[], Array]:
        model = self.model
        return lambda: model
