"""The second axis: what can θ* still be? A belief learns from rewards and is *viewed* through a decision set."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eigenbandits.component import Component
from eigenbandits.subspace.base import Frame

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Models:
    """Sampled models: the value (n, K) that each gives to each action, and the models themselves on demand."""

    values: Array
    vector: Callable[[int], Array]


class View(ABC):
    """A belief seen through one decision set: what rules ask for, computed only when asked."""

    @abstractmethod
    def estimates(self) -> Array:
        """Return the estimated value (K,) of each action."""

    @abstractmethod
    def uppers(self) -> Array:
        """Return the optimistic value (K,) of each action, in closed form."""

    @abstractmethod
    def optimist(self, index: int) -> Callable[[], Array]:
        """Return what gives the most optimistic model θ̃ (d,) for one action, even after the belief has moved on."""

    @abstractmethod
    def believer(self) -> Callable[[], Array]:
        """Return what gives the estimated model (d,), even after the belief has moved on."""

    @abstractmethod
    def posterior(self, count: int, scale: float, rng: np.random.Generator) -> Models:
        """Return models drawn from the normal law around the estimate whose covariance is scale² times Gram⁻¹."""

    @abstractmethod
    def boundary(self, count: int, rng: np.random.Generator) -> Models:
        """Return models drawn from the boundary of the confidence set, where its most optimistic members lie."""

    @abstractmethod
    def part(self, start: int, stop: int) -> View:
        """Return the view through some of the actions only; what is known of them already is kept."""

    def prefetch(self, sizes: list[int]) -> None:
        """Find out at once what `best` will ask for in each of the consecutive parts of these sizes."""
        self.uppers()

    def estimate(self, index: int) -> float:
        """Return the estimated value of one action."""
        return float(self.estimates()[index])

    def best(self) -> tuple[int, float]:
        """Return the action with the highest optimistic value, and that value."""
        uppers = self.uppers()
        index = int(uppers.argmax())
        return index, float(uppers[index])

    def best_exact(self) -> tuple[int, float]:
        """Return the same with the exact optimum over an intersection of sets; for one set it is the closed form."""
        return self.best()


class Belief(Component):
    """Base of the belief axis."""

    def start(self, dim: int) -> None:
        """Lay out the belief for lifted actions of length `dim`."""

    def learn(self, action: Array, reward: float) -> None:
        """Take in the reward of one lifted action."""

    def learn_many(self, actions: Array, rewards: Array) -> None:
        """Take in many; the result is the same as one by one, up to rounding."""
        for action, reward in zip(actions, rewards, strict=True):
            self.learn(action, float(reward))

    def view(self, lifted: Array, dim: int, frame: Frame | None, round_: int) -> View:
        """Look at the belief through a decision set of lifted actions; models are given back in `dim` numbers."""
        raise TypeError(f"{type(self).__name__} does not say how it is viewed: give it a method view().")

    def diagnostics(self, frame: Frame | None) -> dict[str, Any]:
        """Return what is worth telling a person."""
        return {}
