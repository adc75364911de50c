"""Labelled examples as bandits: a row of numbers for each class, and a reward of 1 for the right one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eigenbandits.environments.base import Round
from eigenbandits.environments.data import Data, decision_set, open_array, open_indices
from eigenbandits.environments.examples import OrderedExamples
from eigenbandits.inputs import Array, as_action

# Examples looked at in one go where all of them are, so that a mapped file is never in memory whole.
_BLOCK = 256


@dataclass(frozen=True, eq=False, repr=False)
class Classification:
    """Images, or anything with a label, as a bandit (section 5 of the paper): regret counts the mistakes.

    Each example is a decision set with one row per class; the row of its class is worth 1, every other 0, and
    rewards carry no noise. A seed is an order of the examples; after the last one they come in a new order.

    Parameters
    ----------
    features : array of shape (n, K, d), or path
        The decision set of each example. The path of a .npy file is mapped from disk, not read: many processes
        share one copy.
    labels : array of shape (n,), or path
        The right row of each example, from 0 to K − 1.
    theta : array of shape (d,), optional
        θ*, where it is known (the network's last layer): what an oracle plays by, and the bound S.
    shuffle : bool
        False keeps the order of the examples, the same for every seed.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenbandits.environments import Classification
    >>> environment = Classification(np.eye(3).reshape(1, 3, 3), labels=[2])
    >>> first = next(environment.instance(seed=0).rounds())
    >>> [first.reward(row) for row in range(3)]
    [0.0, 0.0, 1.0]
    """

    features: Data
    labels: Data
    theta: ArrayLike | None = None
    shuffle: bool = True

    def __post_init__(self) -> None:
        """Open the files and refuse what does not fit together."""
        if self.sets.ndim != 3 or 0 in self.sets.shape or self.sets.dtype.kind not in "fiub":
            raise ValueError(
                f"features has shape {self.sets.shape} and holds {self.sets.dtype.name}; expected numbers of shape "
                "(examples, classes, dimension)."
            )
        examples, classes, dim = self.sets.shape
        highest = int(open_indices(self.labels, "labels", examples).max())
        if highest >= classes:
            raise ValueError(f"labels holds {highest}; expected rows from 0 to {classes - 1}, one for each class.")
        if self.theta is not None and len(as_action(self.theta, None, what="theta")) != dim:
            raise ValueError(f"theta has length {len(np.ravel(self.theta))}; expected {dim}, that of the features.")

    @cached_property
    def sets(self) -> NDArray[Any]:
        """The features as an array, mapped from disk if a path was given."""
        return open_array(self.features, "features")

    @cached_property
    def rows(self) -> NDArray[np.int64]:
        """The right row of each example."""
        return open_indices(self.labels, "labels", len(self.sets))

    @cached_property
    def action_bound(self) -> float:
        """The largest norm of an action, found in one pass over the features."""
        blocks = (self.sets[start : start + _BLOCK] for start in range(0, len(self.sets), _BLOCK))
        return float(max(np.linalg.norm(np.asarray(b, dtype=np.float64), axis=2).max() for b in blocks))

    @property
    def name(self) -> str:
        """The three sizes."""
        examples, classes, dim = self.sets.shape
        return f"Classification(examples={examples}, classes={classes}, dim={dim})"

    def __repr__(self) -> str:
        return self.name

    def instance(self, seed: int) -> ClassificationInstance:
        """Put the examples in the order of a seed."""
        return ClassificationInstance(self, seed)


class ClassificationInstance(OrderedExamples):
    """The examples of a `Classification` in the order of one seed.

    Parameters
    ----------
    environment : Classification
        The examples.
    seed : int
        At least 0.

    Attributes
    ----------
    examples : int
        How many there are.
    basis : ndarray of shape (d, 0)
        Empty: which subspace the features live in is not known.
    structure : None
        The paper's constants are not known.
    noise : float
        1/2, by Hoeffding's lemma for rewards between 0 and 1.
    theta_bound : float
        The norm of θ* if it was given, else 1.
    """

    environment: Classification

    def __init__(self, environment: Classification, seed: int) -> None:
        super().__init__(environment, seed, *environment.sets.shape)
        known = environment.theta is not None
        self.theta_bound = float(np.linalg.norm(self.theta)) if known else 1.0

    @property
    def theta(self) -> Array:
        """θ* of shape (d,)."""
        if self.environment.theta is None:
            raise ValueError("this Classification does not know its θ*; give it theta= for policies that need it.")
        return as_action(self.environment.theta, None, what="theta")

    @property
    def action_bound(self) -> float:
        """The largest norm of an action."""
        return self.environment.action_bound

    def rounds(self) -> Iterator[Round]:
        """Start the stream from its first example; it never ends."""
        env = self.environment
        for order in self._orders():
            for i in order:
                yield Round(decision_set(env.sets[i]), self._worth[env.rows[i]], 0.0)
