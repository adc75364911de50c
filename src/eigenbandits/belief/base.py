"""The second axis: what can θ* still be? A belief learns from rewards and is *viewed* through a decision set."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from eigenbandits import inputs
from eigenbandits.component import Component
from eigenbandits.subspace.base import Frame

Array = NDArray[np.float64]
Rows = NDArray[np.intp]


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

    def optimist_exact(self, index: int) -> Callable[[], Array]:
        """Return what gives the model behind the value that `best_exact` found."""
        return self.optimist(index)


def walk(bounds: Array, value: Callable[[int], float], values: Callable[[Rows], Array]) -> tuple[int, float]:
    """Return the index with the highest value, and the value, given cheap bounds that no value exceeds.

    `value` gives that of one action, `values` those of many. Goes through the actions by descending bound, asking for
    the values of a few at a time, until none that is left can win (docs/mathematics.md). Of equals the one that comes
    first wins.
    """
    # Most rounds end at the first action: its bound is the highest and its value is not far below.
    best = int(bounds.argmax())
    best_value = value(best)
    if best_value >= bounds[best]:
        return best, best_value
    rest = np.flatnonzero(bounds > best_value)
    rest = rest[rest != best]
    rest = rest[np.argsort(-bounds[rest], kind="stable")]
    size = 1
    while len(rest):
        rows, rest = rest[:size], rest[size:]
        found = values(rows)
        top = int(found.argmax())
        if found[top] > best_value:
            best, best_value = int(rows[top]), float(found[top])
        rest = rest[bounds[rest] > best_value]
        size = min(2 * size, 256)
    return best, best_value


def firsts(bounds: Array, sizes: list[int]) -> Rows:
    """Return the row with the highest bound in each of the consecutive parts of these sizes."""
    starts = np.cumsum([0, *sizes])
    return np.array([low + int(bounds[low:high].argmax()) for low, high in pairwise(starts.tolist())])


class Belief(Component):
    """Base of the belief axis."""

    def start(self, dim: int, scale: float = 1.0) -> None:
        """Lay out the belief for lifted actions of length `dim` and a typical size of `scale`."""

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


class RidgeBelief(Belief):
    """A ridge estimate with a confidence radius: what beliefs that have R, S, λ and δ share.

    Where S or λ is not given it follows the size of the first actions seen: with s their root mean square norm,
    S = 1/s, so that rewards of about one are plausible, and λ = s², so that the first action halves what is unknown
    about it. Multiplying all actions by a number then changes no choice.
    """

    _state_names: ClassVar[tuple[str, ...]] = ("scale",)
    _estimates_noise: ClassVar[bool] = False

    def __init__(self, noise: float | str, theta_bound: float | None, ridge: float | None, delta: float) -> None:
        self.noise = noise
        # R as it is used: what was given, or for a belief that estimates it the latest estimate.
        guessed = self._estimates_noise and isinstance(noise, str)
        self.noise_level = inputs.UNKNOWN_NOISE if guessed else inputs.number(noise, "noise", least=0.0)
        self.theta_bound = None if theta_bound is None else inputs.number(theta_bound, "theta_bound", above=0.0)
        self.ridge = None if ridge is None else inputs.number(ridge, "ridge", above=0.0)
        self.delta = inputs.probability(delta, "delta")
        self.scale = 1.0

    def start(self, dim: int, scale: float = 1.0) -> None:
        """Note the size of the actions."""
        self.scale = scale

    @property
    def s_bound(self) -> float:
        """S, given or from the size of the actions."""
        return 1.0 / self.scale if self.theta_bound is None else self.theta_bound

    @property
    def penalty(self) -> float:
        """λ, given or from the size of the actions."""
        return self.scale * self.scale if self.ridge is None else self.ridge
