"""Beliefs: what θ* can still be. A belief learns from rewards and is *viewed* through a decision set."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from eigenbandits import inputs
from eigenbandits.belief.shortlist import ListSize
from eigenbandits.component import Component
from eigenbandits.inputs import Array
from eigenbandits.merging import Replica
from eigenbandits.subspace.base import Frame
from eigenbandits.translation import RowMap

Rows = NDArray[np.intp]
T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Models:
    """Sampled models: the values (n, K) that they give to the actions, and the models themselves on demand."""

    values: Array
    vector: Callable[[int], Array]


# Not frozen: one is made in every round, and freezing would triple its cost.
@dataclass(slots=True, eq=False)
class Finding:
    """What a choice has computed that the belief can reuse; `Policy` passes it to `Belief.note`.

    Attributes
    ----------
    action, solved
        The lifted action chosen, and Z⁻¹ times it, which its reward will need.
    factor
        A factor of Z, computed to draw models.
    largest_norm
        The largest norm offered, if a radius depends on it.
    forecast
        The belief's forecast for the decision, for `Belief.learn`; the decision carries it until its reward arrives.
    decided_by
        Which of several sets gave the optimistic value: "projected" or "ambient"; "contradicted" if the sets had no
        point in common.
    list_size
        How many actions were compared and how many of them a shortlist has left, if there were many.
    credit
        What the choice adds to, or takes from, the credit of a belief that limits the regret of all choices together.
    """

    action: Array | None = None
    solved: Array | None = None
    factor: Array | None = None
    largest_norm: float = 0.0
    decided_by: str = ""
    forecast: Array | None = None
    list_size: ListSize | None = None
    credit: float = 0.0


class View(ABC):
    """A belief as seen through one decision set: what rules ask for, computed only on demand.

    A view is read-only: it may cache what it has computed, but it never changes the belief. What it offers beyond
    estimates is up to the belief (`Belief.offers`); a rule lists what it needs (`Rule.needs`).
    """

    # How much expected reward may be given up per choice, on average, to try another action than the best (`Optimism`).
    allowance: float = math.inf
    # Whether errors in the values of different actions are treated as independent in lists (`lists.choose`). The values
    # of a confidence set may all be wrong at once.
    independent: bool = False

    @abstractmethod
    def estimates(self) -> Array:
        """Return the estimated value (K,) of each action."""

    @abstractmethod
    def believer(self) -> Callable[[], Array]:
        """Return a function that returns the estimated model, even after the belief has changed.

        A model may end with the intercept's coordinate; `Decision.model` leaves it out.
        """

    @abstractmethod
    def part(self, rows: slice | Rows) -> View:
        """Return the view of a subset of the actions; what is already known about them is kept."""

    def unrecorded(self) -> View:
        """Return the view for a choice that the belief will not be told about (`Policy.propose`)."""
        return self

    def uppers(self) -> Array:
        """Return the optimistic value (K,) of each action, in closed form."""
        raise self._absent("uppers")

    def lowers(self) -> Array:
        """Return the pessimistic value (K,) of each action: as far below the estimate as the upper bound is above it.

        A set that is not an ellipsoid around its estimate overrides this.
        """
        return 2.0 * self.estimates() - self.uppers()

    def optimist(self, index: int) -> Callable[[], Array]:
        """Return a function that returns one action's most optimistic model θ̃, even after the belief has changed."""
        raise self._absent("uppers")

    def posterior(self, count: int, rng: np.random.Generator, scale: float | None = None) -> Models:
        """Return models drawn from the normal distribution around the estimate with covariance scale² times Gram⁻¹.

        Without a scale, the belief's own is used: the noise, as given or learned.
        """
        raise self._absent("posterior")

    def boundary(self, count: int, rng: np.random.Generator) -> Models:
        """Return models drawn from the boundary of the confidence set, where its most optimistic members lie."""
        raise self._absent("boundary")

    def finding(self, index: int) -> Finding | None:
        """Return what the view has computed about the chosen action that is worth keeping."""
        return None

    def prefetch(self, sizes: list[int]) -> None:
        """Compute at once what `best` will need in each of the consecutive parts of these sizes."""
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
        """Return the same with the exact optimum over an intersection of sets; for one set, it is the closed form."""
        return self.best()

    def optimist_exact(self, index: int) -> Callable[[], Array]:
        """Return a function that returns the model behind the value of `best_exact`."""
        return self.optimist(index)

    def best_joint(self) -> tuple[int, float]:
        """Return the same with the joint optimum over models and projections; the closed form if there is none."""
        return self.best()

    def optimist_joint(self, index: int) -> Callable[[], Array]:
        """Return a function that returns the model behind the value of `best_joint`.

        If a projection P̃ (d, d) belongs to the model, the function's `projection` method returns it.
        """
        return self.optimist(index)

    def _absent(self, name: str) -> TypeError:
        return TypeError(f"{type(self).__name__} has no {name}; a rule that asks for it must list it in `needs`.")


def among(known: dict[int, T], rows: slice | Rows, size: int) -> dict[int, T]:
    """Return the known entries for a subset of `size` actions, indexed by place in the subset."""
    if not known:
        return {}
    places = np.arange(size)[rows].tolist()
    return {place: known[row] for place, row in enumerate(places) if row in known}


def walk(bounds: Array, value: Callable[[int], float], values: Callable[[Rows], Array]) -> tuple[int, float]:
    """Return the index with the highest value, and the value, given cheap bounds that no value exceeds.

    `value` returns the value of one action, `values` those of many. Goes through the actions by descending bound,
    computing the values of a few at a time, until no remaining action can win (docs/mathematics.md). Ties go to the
    first action, so that the bounds do not affect the choice.
    """
    # Most rounds end with the first action: its bound is the highest, and its value is not far below.
    best = int(bounds.argmax())
    best_value = value(best)
    rest = np.flatnonzero(bounds >= best_value)
    rest = rest[rest != best]
    if not len(rest):
        return best, best_value
    rest = rest[np.argsort(-bounds[rest], kind="stable")]
    size = 1
    while len(rest):
        rows, rest = rest[:size], rest[size:]
        exact = values(rows)
        highest = exact.max()
        if highest >= best_value:
            first = int(rows[exact == highest].min())
            best = first if highest > best_value else min(best, first)
            best_value = float(highest)
        rest = rest[bounds[rest] >= best_value]
        size = min(2 * size, 256)
    return best, best_value


def firsts(bounds: Array, sizes: list[int]) -> Rows:
    """Return the row with the highest bound in each of the consecutive parts of these sizes."""
    starts = np.cumsum([0, *sizes])
    return np.array([low + int(bounds[low:high].argmax()) for low, high in pairwise(starts.tolist())])


class Belief(Component):
    """Base of all beliefs.

    In each round, a belief receives the frame (`follow`), is viewed (`view`), receives what the choice computed
    (`note`) and, now or later, the reward (`learn`). Only `follow`, `note` and `learn` change it.
    """

    # What its views offer: any of "estimates", "uppers", "lowers", "posterior", "boundary" and "joint"; see `View`.
    offers: ClassVar[tuple[str, ...]] = ("estimates",)
    # κ, the intercept's coordinate in lifted actions; None uses the size of the first actions.
    intercept: float | None = 1.0
    # Whether lifted actions may have one coordinate that the frame does not know about, the score.
    takes_scores: ClassVar[bool] = False

    def start(self, dim: int, intercept: float = 0.0) -> None:
        """Set up the belief for lifted actions of length `dim`, whose last number is κ if there is an intercept."""

    def take_scores(self, size: float) -> None:
        """Record that the last coordinate of lifted actions is a score of about this size; called after `start`."""

    def follow(self, frame: Frame | None) -> None:
        """Update for the subspace; every change that needs neither a choice nor a reward happens here."""

    def view(self, lifted: Array) -> View:
        """Return a view of the belief through a decision set of lifted actions (K, D), in the frame followed last."""
        raise TypeError(f"{type(self).__name__} has no method view(); define one.")

    def refuted(self, lifted: Array) -> Rows | None:
        """Return the actions of a set (K, D − 1), still without scores, that are known to be worse than the average.

        The scores of the others are then not compared with theirs.
        """
        return None

    def linear(self, lifted: Array) -> View:
        """Return the view of the linear model alone, without adjustments for individual actions."""
        return self.view(lifted)

    def note(self, finding: Finding | None) -> None:
        """Store what a choice has computed; called once per choice."""

    def accepts(self, forecast: Array | None) -> bool:
        """Return whether it can learn with a forecast; not with one from another kind or version of belief."""
        return True

    def learn(self, action: Array, reward: float, forecast: Array | None = None) -> None:
        """Learn the reward of one lifted action, with the forecast made when it was chosen, if known."""

    def learn_many(self, actions: Array, rewards: Array, forecasts: Sequence[Array | None] | None = None) -> None:
        """Learn many rewards; the result is the same as with one at a time, up to rounding."""
        known = [None] * len(actions) if forecasts is None else forecasts
        for action, reward, forecast in zip(actions, rewards.tolist(), known, strict=True):
            self.learn(action, reward, forecast)

    def recover(self) -> None:
        """Recompute everything that follows from the sums; called after learning was interrupted."""

    def merge(self, replicas: Sequence[Replica[Any]], frame: Frame | None) -> None:
        """Become the belief that would have learned what all replicas have; `follow` is called next.

        Parameters
        ----------
        replicas
            The same part of each replica, this one's first; the weights make what they share count once.
        frame
            The merged subspace, if there is one.
        """

    def translate(self, change: RowMap, rng: np.random.Generator) -> None:
        """Become what the belief would be expected to be if another encoder had embedded the actions; `follow` is next.

        Parameters
        ----------
        change
            The map of lifted rows.
        rng
            The source of randomness for parts that keep single rows.
        """
        raise ValueError(
            f"a belief of type {type(self).__name__} cannot be translated, since it keeps no sums that can be mapped; "
            "make a new policy and let it learn from the log, embedded again, with learn_many()."
        )

    def expect(self, model: Array) -> None:
        """Move the prior to a model (D,) that predicts what was believed before `translate`; by default, do nothing."""

    def diagnostics(self, frame: Frame | None) -> dict[str, Any]:
        """Return entries for `Policy.diagnostics`."""
        return {}


class RidgeBelief(Belief):
    """Base of beliefs with R, S, λ and δ: a ridge estimate with a confidence radius."""

    offers: ClassVar[tuple[str, ...]] = ("estimates", "uppers", "lowers", "posterior", "boundary")

    def __init__(
        self,
        noise: float,
        theta_bound: float,
        ridge: float,
        delta: float,
        radius: str | float,
        radii: tuple[str, ...],
        action_bound: float | None,
    ) -> None:
        self.noise = inputs.noise_size(noise)
        self.theta_bound = inputs.size(theta_bound, "theta_bound")
        self.ridge = inputs.size(ridge, "ridge")
        self.delta = inputs.probability(delta, "delta")
        named = isinstance(radius, str)
        self.radius = inputs.one_of(radius, "radius", radii) if named else inputs.size(radius, "radius", zero=True)
        self.action_bound = None if action_bound is None else inputs.size(action_bound, "action_bound")
        # With one λ and one S for all coordinates, an intercept and scores must have the size of an action.
        self.intercept = None
