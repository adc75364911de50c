"""The paper's model with another beginning: a first decision set that misleads, or rewards that say nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal, get_args

import numpy as np

from eigenbandits.environments import LowRank, LowRankInstance, Round
from eigenbandits.inputs import Array, one_of

Kind = Literal["pair", "small", "one", "equal"]

# How far the second of two near-duplicates is from the first, and the size of a small first set, both as shares.
_APART, _SMALL = 1e-3, 0.01
# Rounds whose rewards are all equal.
EQUAL_ROUNDS = 200


@dataclass(frozen=True)
class Opening:
    """`LowRank`, but for how it begins; what comes after that is the same.

    Parameters
    ----------
    kind : {"pair", "small", "one", "equal"}
        - ``"pair"``: the first set holds two near-duplicates and nothing else.
        - ``"small"``: the first set has a hundredth of its size.
        - ``"one"``: the first set holds one action, so that a reward comes before any comparison.
        - ``"equal"``: in the first 200 rounds every action earns 0, without noise; regret starts after them.
    dim, rank, arms, mean
        As for `LowRank`.

    Examples
    --------
    >>> first, second = islice(Opening("pair").instance(seed=0).rounds(), 2)
    >>> first.actions.shape, second.actions.shape
    ((2, 100), (10, 100))
    """

    kind: Kind
    dim: int = 100
    rank: int = 4
    arms: int = 10
    mean: float = 0.0

    def __post_init__(self) -> None:
        """Refuse another beginning."""
        one_of(self.kind, "kind", get_args(Kind))

    @property
    def model(self) -> LowRank:
        """What it is after its beginning."""
        return LowRank(self.dim, self.rank, self.arms, mean=self.mean)

    @property
    def name(self) -> str:
        """The beginning and the model."""
        return f"Opening({self.kind}, {self.model.name})"

    def instance(self, seed: int) -> OpeningInstance:
        """Draw the problem that belongs to a seed."""
        return OpeningInstance(self, seed)


class OpeningInstance:
    """One drawn problem of `Opening`: all that `LowRankInstance` says of itself, and other first rounds.

    Parameters
    ----------
    environment, seed
        The family that it is drawn from, and its seed.
    """

    def __init__(self, environment: Opening, seed: int) -> None:
        self.environment = environment
        self.model: LowRankInstance = environment.model.instance(seed)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.model, name)

    def rounds(self) -> Iterator[Round]:
        """Start the stream from its first round; it never ends."""
        stream = self.model.rounds()
        if self.environment.kind == "equal":
            for offered in islice(stream, EQUAL_ROUNDS):
                yield Round(offered.actions, np.zeros(len(offered.actions)), 0.0)
        else:
            first = next(stream)
            yield self._round(self._first(first.actions), first.noise)
        yield from stream

    def _first(self, actions: Array) -> Array:
        if self.environment.kind == "pair":
            return np.array([actions[0], actions[0] + _APART * (actions[1] - actions[0])])
        if self.environment.kind == "small":
            return np.asarray(_SMALL * actions)
        return actions[:1]

    def _round(self, actions: Array, noise: float) -> Round:
        values = actions @ self.model.theta
        actions.flags.writeable = values.flags.writeable = False
        return Round(actions, values, noise)
