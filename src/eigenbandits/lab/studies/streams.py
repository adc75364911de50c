"""Streams of decision sets whose vectors are not independent draws: catalogues, queries, walks and sessions."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal, get_args

import numpy as np

from eigenbandits.environments import LowRank, LowRankInstance, Round
from eigenbandits.inputs import Array, one_of, whole
from eigenbandits.lab.studies.wrapped import WrappedEnvironment

StreamKind = Literal["independent", "catalogue", "jitter", "query", "walk", "sessions"]

# Items of a catalogue, and how far they move, relative to their size, each time they are offered.
ITEMS, JITTER = 400, 1e-9
# How much of a vector remains in the next round's, in a walk.
STAY = 0.9
# Rounds of a session, and the share of the energy that its vectors have in common.
SESSION, SHARED = 20, 0.5


def sets(kind: StreamKind, environment: LowRank, seed: int, rounds: int) -> Array:
    """Return decision sets (T, K, d) made of the vectors that an environment draws, with the same second moment.

    Parameters
    ----------
    kind : {"independent", "catalogue", "jitter", "query", "walk", "sessions"}
        - ``"independent"``: as they are drawn.
        - ``"catalogue"``: each set holds K of 400 items, each at most once.
        - ``"jitter"``: the same, each item moved by some 1e-9 of its size whenever it is offered.
        - ``"query"``: the same, and a query, a new one in every round, is added to all vectors of the set.
        - ``"walk"``: the k-th vector of a set is 0.9 times the k-th of the last set, plus a new draw (AR(1)).
        - ``"sessions"``: for 20 rounds all vectors have one draw in common, with half of their energy.
    environment, seed
        Where vectors are drawn from.
    rounds
        T.

    Examples
    --------
    >>> sets("sessions", LowRank(dim=6, rank=2, arms=3), seed=0, rounds=50).shape
    (50, 3, 6)
    """
    one_of(kind, "kind", get_args(StreamKind))
    arms, dim = environment.arms, environment.dim
    more = -(-(ITEMS + rounds) // arms)
    drawn = np.array([offered.actions for offered in islice(environment.instance(seed).rounds(), rounds + more)])
    plain, spare = drawn[:rounds], drawn[rounds:].reshape(-1, dim)
    if kind == "independent":
        return plain
    if kind == "walk":
        walk = plain.copy()
        for t in range(1, rounds):
            walk[t] = STAY * walk[t - 1] + math.sqrt(1.0 - STAY**2) * plain[t]
        return walk
    if kind == "sessions":
        common = np.repeat(spare[: -(-rounds // SESSION)], SESSION, axis=0)[:rounds, None]
        return np.asarray(math.sqrt(1.0 - SHARED) * plain + math.sqrt(SHARED) * common)
    rng = np.random.default_rng(seed)
    offered = spare[:ITEMS][np.array([rng.choice(ITEMS, arms, replace=False) for _ in range(rounds)])]
    if kind == "jitter":
        size = JITTER * environment.scale / math.sqrt(dim)
        return np.asarray(offered + size * rng.standard_normal(offered.shape))
    if kind == "query":
        return np.asarray((offered + spare[ITEMS : ITEMS + rounds, None]) / math.sqrt(2.0))
    return np.asarray(offered)


@dataclass(frozen=True)
class DependentSets(LowRank, WrappedEnvironment):
    """`LowRank` with `length` decision sets that depend on each other, as one of the kinds of `sets` has them."""

    stream: StreamKind = "independent"
    length: int = 1000

    def __post_init__(self) -> None:
        """Refuse an unknown stream."""
        super().__post_init__()
        one_of(self.stream, "stream", get_args(StreamKind))
        whole(self.length, "length")

    @property
    def center(self) -> str:
        """How the actions are to be centered: around their mean, if they have one."""
        return "mean" if self.mean else "none"

    @property
    def model(self) -> LowRank:
        """The model whose vectors the sets are made of."""
        return LowRank(**{name: getattr(self, name) for name in LowRank.__dataclass_fields__})

    def instance(self, seed: int) -> Any:
        """Draw the problem that belongs to a seed."""
        return WrappedEnvironment.instance(self, seed)

    def rounds_of(self, model: LowRankInstance, seed: int) -> Iterator[Round]:
        """Start the stream from its first round; it ends after `length` rounds."""
        for actions in sets(self.stream, self.model, seed, self.length):
            yield Round(actions, actions @ model.theta, 0.0)
