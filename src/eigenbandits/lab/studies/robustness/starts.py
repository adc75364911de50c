"""The paper's model with other rounds: a misleading start, or the same decision set in every round."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Literal, get_args

import numpy as np

from eigenbandits.environments import LowRank, LowRankInstance, Round
from eigenbandits.inputs import Array, one_of
from eigenbandits.lab.studies.wrapped import WrappedEnvironment

Start = Literal["pair", "small", "one", "equal"]

# The distance between two near-duplicates, and the size of a small first set, as shares of the ordinary ones.
_APART, _SMALL = 1e-3, 0.01
# Rounds whose rewards are all equal.
EQUAL_ROUNDS = 200


@dataclass(frozen=True)
class AlteredStart(WrappedEnvironment):
    """`LowRank` with different first rounds; everything after them is unchanged.

    Parameters
    ----------
    start : {"pair", "small", "one", "equal"}
        - ``"pair"``: the first set holds two near-duplicates and nothing else.
        - ``"small"``: the vectors of the first set are a hundred times shorter.
        - ``"one"``: the first set holds one action, so that a reward arrives before any comparison.
        - ``"equal"``: in the first 200 rounds every action earns 0, without noise; regret starts after them.
    dim, rank, arms, mean
        As for `LowRank`.

    Examples
    --------
    >>> first, second = islice(AlteredStart("pair").instance(seed=0).rounds(), 2)
    >>> first.actions.shape, second.actions.shape
    ((2, 100), (10, 100))
    """

    start: Start
    dim: int = 100
    rank: int = 4
    arms: int = 10
    mean: float = 0.0

    def __post_init__(self) -> None:
        """Refuse an unknown start."""
        one_of(self.start, "start", get_args(Start))

    @property
    def model(self) -> LowRank:
        """The environment after its first rounds."""
        return LowRank(self.dim, self.rank, self.arms, mean=self.mean)

    def rounds_of(self, model: LowRankInstance, seed: int) -> Iterator[Round]:
        """Start the stream from its first round; it never ends."""
        stream = model.rounds()
        if self.start == "equal":
            for offered in islice(stream, EQUAL_ROUNDS):
                yield Round(offered.actions, np.zeros(len(offered.actions)), 0.0)
        else:
            first = next(stream)
            actions = self._first(first.actions)
            values = actions @ model.theta
            actions.flags.writeable = values.flags.writeable = False
            yield Round(actions, values, first.noise)
        yield from stream

    def _first(self, actions: Array) -> Array:
        if self.start == "pair":
            return np.array([actions[0], actions[0] + _APART * (actions[1] - actions[0])])
        if self.start == "small":
            return np.asarray(_SMALL * actions)
        return actions[:1]


@dataclass(frozen=True)
class FixedSet(WrappedEnvironment):
    """`LowRank` with the same decision set in every round: what is not tried on purpose is never learned.

    Parameters
    ----------
    dim, rank, arms
        As for `LowRank`.
    unrelated
        Whether the actions are the `dim` unit vectors, so that a reward says nothing about any other action.

    Examples
    --------
    >>> first, second = islice(FixedSet(10, 10, 10, unrelated=True).instance(seed=0).rounds(), 2)
    >>> bool((first.actions == np.eye(10)).all()), second.actions is first.actions
    (True, True)
    """

    dim: int = 100
    rank: int = 4
    arms: int = 50
    unrelated: bool = False

    @property
    def model(self) -> LowRank:
        """The environment from which the set, θ* and the noise come."""
        return LowRank(self.dim, self.rank, self.arms)

    def rounds_of(self, model: LowRankInstance, seed: int) -> Iterator[Round]:
        """Start the stream from its first round; it never ends."""
        stream = model.rounds()
        actions = np.eye(self.dim) if self.unrelated else next(stream).actions
        values = actions @ model.theta
        actions.flags.writeable = values.flags.writeable = False
        for offered in stream:
            yield Round(actions, values, offered.noise)
