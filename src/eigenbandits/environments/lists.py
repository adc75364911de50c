"""Lists of actions and the users who look at them: what is clicked, and what the policy observes of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from eigenbandits.environments.base import Environment, Instance
from eigenbandits.inputs import Array, whole
from eigenbandits.policy.lists import Examination, Order

# Added to a seed to draw the users' behavior: the underlying environment draws from the seed itself.
_BEHAVIOR = 0x11575


@dataclass(frozen=True, slots=True, eq=False)
class ListRound:
    """One decision set to choose a list from, and what its user would do with any list.

    The user's behavior is drawn before anyone chooses, so that it is the same for every policy: whether an action is
    liked, and which positions are examined.

    Attributes
    ----------
    actions, values
        The decision set (K, d) and the probability (K,) that each action is liked.
    liked
        Whether it is (K,).
    looked
        Whether each position is examined (count,).
    examination
        See `ListDecision`.

    Examples
    --------
    >>> import numpy as np
    >>> liked = np.array([False, True, True])
    >>> offered = ListRound(np.eye(3), liked.astype(float), liked, np.array([True, True]), "cascade")
    >>> offered.outcome([0, 2]), offered.outcome([2, 1]), offered.outcome([0, 0])
    (1, 0, None)
    >>> offered.reward([0, 2]), offered.best
    (1.0, 1.0)
    """

    actions: Array
    values: Array
    liked: NDArray[np.bool_]
    looked: NDArray[np.bool_]
    examination: Examination

    @property
    def count(self) -> int:
        """How many actions a list has."""
        return len(self.looked)

    def clicks(self, indices: Sequence[int] | NDArray[np.intp]) -> Array:
        """Return 1 for the positions of a list that are clicked, else 0."""
        found = self.liked[np.asarray(indices)] & self.looked[: len(indices)]
        if self.examination == "cascade":
            found &= found.cumsum() == 1
        return np.asarray(found, dtype=np.float64)

    def outcome(self, indices: Sequence[int] | NDArray[np.intp]) -> Array | int | None:
        """Return what the policy observes: each click, or for a cascade the position of the only one, or None."""
        clicks = self.clicks(indices)
        if self.examination != "cascade":
            return clicks
        return int(clicks.argmax()) if clicks.any() else None

    def reward(self, indices: Sequence[int] | NDArray[np.intp]) -> float:
        """Return the number of clicks."""
        return float(self.clicks(indices).sum())

    def value(self, indices: Sequence[int] | NDArray[np.intp]) -> float:
        """Return the expected number of clicks."""
        values = self.values[np.asarray(indices)]
        if self.examination == "cascade":
            return float(1.0 - np.prod(1.0 - values))
        weights = 1.0 if isinstance(self.examination, str) else np.array(self.examination)[: len(values)]
        return float((weights * values).sum())

    @property
    def best(self) -> float:
        """The expected number of clicks of the best list: the best action where it counts most, and so on."""
        weights = np.ones(self.count) if isinstance(self.examination, str) else np.array(self.examination)
        indices = np.empty(self.count, dtype=np.intp)
        indices[np.argsort(-weights, kind="stable")] = np.argsort(-self.values, kind="stable")[: self.count]
        return self.value(indices)


@dataclass(frozen=True)
class Lists:
    """Lists from the decision sets of another environment, whose rewards are 0 or 1.

    Parameters
    ----------
    environment : Environment
        Where decision sets come from; the values of its actions are the probabilities that they are liked.
    count : int
        How many actions a list has.
    examination : {"all", "cascade"} or tuple of float
        What users examine; see `ListDecision`.

    Examples
    --------
    >>> from itertools import islice
    >>> import eigenbandits as eb
    >>> clicks = eb.environments.LowRank(dim=20, rank=2, arms=30, noise_kind="bernoulli", rate=0.2, theta_norm=3.0)
    >>> policy, clicked = eb.EigenUCB(), []
    >>> for offered in islice(eb.environments.Lists(clicks, count=5).instance(seed=0).rounds(), 100):
    ...     ranked = policy.choose_list(offered.actions, offered.count, examination=offered.examination)
    ...     policy.learn(ranked, offered.outcome(ranked.indices))
    ...     clicked.append(offered.reward(ranked.indices))
    >>> sum(clicked[50:]) > 1.2 * 50 * 5 * 0.2  # a fifth is what random lists would get
    True
    """

    environment: Environment
    count: int
    examination: Examination = "all"

    def __post_init__(self) -> None:
        """Refuse an unknown examination."""
        order = Order.read(self.count, whole(self.count, "count"), self.examination, 0.0)
        object.__setattr__(self, "examination", order.examination)

    @property
    def name(self) -> str:
        """The environment, and how many actions a list has."""
        return f"Lists({self.environment.name}, count={self.count})"

    def instance(self, seed: int) -> ListInstance:
        """Draw the problem that belongs to a seed."""
        return ListInstance(self, self.environment.instance(seed), seed)


class ListInstance:
    """The rounds of `Lists` that belong to one seed.

    Parameters
    ----------
    environment : Lists
        The lists.
    instance : Instance
        Where the decision sets come from.
    seed : int
        At least 0.
    """

    def __init__(self, environment: Lists, instance: Instance, seed: int) -> None:
        self.environment = environment
        self.source = instance
        self.seed = whole(seed, "seed", least=0)

    def rounds(self) -> Iterator[ListRound]:
        """Start the stream from its first round."""
        rng = np.random.default_rng([self.seed, _BEHAVIOR])
        count, examination = self.environment.count, self.environment.examination
        weights = np.ones(count) if isinstance(examination, str) else np.array(examination)
        for offered in self.source.rounds():
            values = offered.values
            if not ((values >= 0.0) & (values <= 1.0)).all():
                raise ValueError("lists need values from 0 to 1, the probabilities that actions are liked.")
            liked = rng.random(len(values)) < values
            yield ListRound(offered.actions, values, liked, rng.random(count) < weights, examination)
