"""The second axis: what can θ* still be? A belief learns from rewards and is *viewed* through a decision set."""

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
    """Sampled models: the value (n, K) that each gives to each action, and the models themselves on demand."""

    values: Array
    vector: Callable[[int], Array]


# Not frozen: one is made in every round, and that would triple its cost.
@dataclass(slots=True, eq=False)
class Finding:
    """What a choice has computed that the belief can use again; `Policy` passes it to `Belief.note`.

    Attributes
    ----------
    action, solved
        The lifted action chosen and Z⁻¹ times it, which its reward will need.
    factor
        A factor of Z, computed to draw models.
    largest_norm
        The largest norm offered, where a radius depends on it.
    forecast
        What the belief said of the decision, for `Belief.learn`; the decision carries it until its reward comes.
    decided_by
        Which of several sets gave the optimistic value: "projected" or "ambient"; "contradicted" where they had no
        point in common.
    list_size
        How many actions were compared, and how many of them a short list has left, where there were many.
    """

    action: Array | None = None
    solved: Array | None = None
    factor: Array | None = None
    largest_norm: float = 0.0
    decided_by: str = ""
    forecast: Array | None = None
    list_size: ListSize | None = None


class View(ABC):
    """A belief seen through one decision set: what rules ask for, computed only when asked.

    A view is a pure reading: it may remember what it has computed, but nothing that it does changes the belief. What
    it offers beyond estimates is up to the belief (`Belief.offers`); a rule says what it needs (`Rule.needs`).
    """

    # How much reward may be given up per choice, on average, to try another than the best estimate (`Optimism`).
    allowance: float = math.inf
    # Whether the values of different actions err independently, as far as lists are concerned (`lists.choose`). Those
    # of a confidence set may all err at once.
    independent: bool = False

    @abstractmethod
    def estimates(self) -> Array:
        """Return the estimated value (K,) of each action."""

    @abstractmethod
    def believer(self) -> Callable[[], Array]:
        """Return what gives the estimated model, even after the belief has moved on.

        Models may have the intercept's coordinate as their last; `Decision.model` leaves it out.
        """

    @abstractmethod
    def part(self, rows: slice | Rows) -> View:
        """Return the view through some of the actions only; what is known of them already is kept."""

    def uppers(self) -> Array:
        """Return the optimistic value (K,) of each action, in closed form."""
        raise self._absent("uppers")

    def lowers(self) -> Array:
        """Return the least plausible value (K,) of each action: as far below the estimate as the upper bound is above.

        A set that is not an ellipsoid around its estimate has another.
        """
        return 2.0 * self.estimates() - self.uppers()

    def optimist(self, index: int) -> Callable[[], Array]:
        """Return what gives the most optimistic model θ̃ for one action, even after the belief has moved on."""
        raise self._absent("uppers")

    def posterior(self, count: int, rng: np.random.Generator, scale: float | None = None) -> Models:
        """Return models drawn from the normal law around the estimate whose covariance is scale² times Gram⁻¹.

        Without a scale, with the belief's own: the noise, as it was given or learned.
        """
        raise self._absent("posterior")

    def boundary(self, count: int, rng: np.random.Generator) -> Models:
        """Return models drawn from the boundary of the confidence set, where its most optimistic members lie."""
        raise self._absent("boundary")

    def finding(self, index: int) -> Finding | None:
        """Return what the view has computed of the chosen action that is worth keeping."""
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
        """Return the same with the exact optimum over an intersection of sets; for one set it is the closed form."""
        return self.best()

    def optimist_exact(self, index: int) -> Callable[[], Array]:
        """Return what gives the model behind the value that `best_exact` found."""
        return self.optimist(index)

    def best_joint(self) -> tuple[int, float]:
        """Return the same with the joint optimum over models and projections; where none is made, the closed form."""
        return self.best()

    def optimist_joint(self, index: int) -> Callable[[], Array]:
        """Return what gives the model behind the value that `best_joint` found.

        Where a projection P̃ (d, d) belongs to it, a method `projection` of what is returned gives that.
        """
        return self.optimist(index)

    def _absent(self, name: str) -> TypeError:
        return TypeError(f"{type(self).__name__} has no {name}; a rule that asks for it must list it in `needs`.")


def among(known: dict[int, T], rows: slice | Rows, size: int) -> dict[int, T]:
    """Return what is known of some of `size` actions, by their places among these."""
    if not known:
        return {}
    places = np.arange(size)[rows].tolist()
    return {place: known[row] for place, row in enumerate(places) if row in known}


def walk(bounds: Array, value: Callable[[int], float], values: Callable[[Rows], Array]) -> tuple[int, float]:
    """Return the index with the highest value, and the value, given cheap bounds that no value exceeds.

    `value` gives that of one action, `values` those of many. Goes through the actions by descending bound, asking for
    the values of a few at a time, until none that is left can win (docs/mathematics.md). Of equals the first one wins,
    so that the bounds make no difference to the choice.
    """
    # Most rounds end at the first action: its bound is the highest and its value is not far below.
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
        found = values(rows)
        highest = found.max()
        if highest >= best_value:
            first = int(rows[found == highest].min())
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
    """Base of the belief axis.

    In each round a belief gets the frame (`follow`), is viewed (`view`), gets what the choice found (`note`) and, now
    or later, the reward (`learn`). Only `follow`, `note` and `learn` change it.
    """

    # What its views offer, of "estimates", "uppers", "lowers", "posterior", "boundary" and "joint"; see `View`.
    offers: ClassVar[tuple[str, ...]] = ("estimates",)
    # κ, the coordinate that an intercept is given in lifted actions; None takes the size of the first actions.
    intercept: float | None = 1.0
    # Whether lifted actions may have one coordinate more than their frame knows of, the score.
    takes_scores: ClassVar[bool] = False

    def start(self, dim: int, intercept: float = 0.0) -> None:
        """Set up the belief for lifted actions of length `dim`, of which the last number is κ where there is one."""

    def take_scores(self, size: float) -> None:
        """Record that the last coordinate of lifted actions is a score, of about this size; follows `start`."""

    def follow(self, frame: Frame | None) -> None:
        """Update for the subspace; all that changes a belief without a choice or a reward happens here."""

    def view(self, lifted: Array) -> View:
        """Look at the belief through a decision set of lifted actions (K, D), in the frame followed last."""
        raise TypeError(f"{type(self).__name__} has no method view(); define one.")

    def linear(self, lifted: Array) -> View:
        """Return the view of the linear model alone, without what single actions have earned beside it."""
        return self.view(lifted)

    def note(self, finding: Finding | None) -> None:
        """Keep what a choice has found; called once for each choice."""

    def accepts(self, forecast: Array | None) -> bool:
        """Return whether it can learn with a forecast; not with one of another kind or version of belief."""
        return True

    def learn(self, action: Array, reward: float, forecast: Array | None = None) -> None:
        """Learn the reward of one lifted action, with the forecast of when it was chosen, if that is known."""

    def learn_many(self, actions: Array, rewards: Array, forecasts: Sequence[Array | None] | None = None) -> None:
        """Learn many rewards; the result is the same as one by one, up to rounding."""
        said = [None] * len(actions) if forecasts is None else forecasts
        for action, reward, forecast in zip(actions, rewards.tolist(), said, strict=True):
            self.learn(action, reward, forecast)

    def recover(self) -> None:
        """Recompute everything that follows from the sums; called when learning was interrupted."""

    def merge(self, replicas: Sequence[Replica[Any]], frame: Frame | None) -> None:
        """Become what one belief would be that had learned what all replicas have; `follow` comes next.

        Parameters
        ----------
        replicas
            The same part of each replica, this one's first; what is shared is counted out by weights.
        frame
            The merged subspace, where it has one.
        """

    def translate(self, change: RowMap, rng: np.random.Generator) -> None:
        """Become what the rewards would be expected to say had another encoder embedded the actions; `follow` is next.

        Parameters
        ----------
        change
            How lifted rows change.
        rng
            For parts that keep single rows.
        """
        raise ValueError(
            f"a belief of type {type(self).__name__} cannot be translated, as it keeps no sums that could be; make a "
            "new policy and let it learn from the log, embedded again, with learn_many()."
        )

    def expect(self, model: Array) -> None:
        """Move the prior to a model (D,) that predicts what was believed before `translate`; by default, do not."""

    def diagnostics(self, frame: Frame | None) -> dict[str, Any]:
        """Return what a person should know."""
        return {}


class RidgeBelief(Belief):
    """A ridge estimate with a confidence radius: what beliefs that have R, S, λ and δ share."""

    offers: ClassVar[tuple[str, ...]] = ("estimates", "uppers", "lowers", "posterior", "boundary")

    def __init__(self, noise: float, theta_bound: float, ridge: float, delta: float) -> None:
        self.noise = inputs.noise_size(noise)
        self.theta_bound = inputs.size(theta_bound, "theta_bound")
        self.ridge = inputs.size(ridge, "ridge")
        self.delta = inputs.probability(delta, "delta")
        # One λ and one S for all coordinates ask for an intercept and scores of the size of an action.
        self.intercept = None
