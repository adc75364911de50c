"""Labeled examples as bandits: an action for each class, and a reward of 1 for the right one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eigenbandits.environments.base import OrderedExamples, Round
from eigenbandits.inputs import Array, as_action
from eigenbandits.inputs.arrays import Data, decision_set, in_blocks, open_array, open_indices

# Examples processed at once in a pass over all of them, so that a mapped file is never in memory whole.
_BLOCK = 256


@dataclass(frozen=True, eq=False, repr=False)
class Classification:
    """Anything with a label as a bandit: the right class is worth 1, every other 0, and regret counts the mistakes.

    Rewards carry no noise. A seed is an order of the examples; after the last one they come in a new order.

    Parameters
    ----------
    features : array of shape (n, p) or (n, K, d), or path
        With two axes the features x of each example, as usual. Action k is then (x, 1)/√(p + 1) in block
        k of K·(p + 1) numbers and 0 elsewhere, so that every class has weights and an intercept of its own; a set is
        formed when its round comes. With three axes the decision set of each example (section 5 of the paper). The path
        of a .npy file is mapped from disk, not read: many processes share one copy.
    labels : array of shape (n,), or path
        The class of each example. With features of two axes, whole numbers or words: K is how many differ, and action k
        stands for the k-th of them in sorted order. With three axes, the right row, from 0 to K − 1.
    theta : array of shape (d,), optional
        θ*, where it is known (the network's last layer): what an oracle uses, and the bound S.
    shuffle : bool
        False keeps the order of the examples, the same for every seed.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenbandits.environments import Classification
    >>> environment = Classification([[3.0], [5.0]], labels=["cat", "dog"], shuffle=False)
    >>> first = next(environment.instance(seed=0).rounds())
    >>> first.actions * np.sqrt(2.0)
    array([[3., 1., 0., 0.],
           [0., 0., 3., 1.]])
    >>> [first.reward(row) for row in range(2)]
    [1.0, 0.0]
    """

    features: Data
    labels: Data
    theta: ArrayLike | None = None
    shuffle: bool = True

    def __post_init__(self) -> None:
        """Open the files and refuse what does not fit together."""
        shape = self.opened.shape
        if len(shape) not in (2, 3) or 0 in shape or self.opened.dtype.kind not in "fiub":
            raise ValueError(
                f"features has shape {shape} and holds {self.opened.dtype.name}; expected numbers of shape "
                "(examples, features) or (examples, classes, dimension)."
            )
        highest = int(self.rows.max())
        if highest >= self.classes:
            raise ValueError(f"labels holds {highest}; expected rows from 0 to {self.classes - 1}, one for each class.")
        if self.theta is not None and len(as_action(self.theta, None, what="theta")) != self.dim:
            raise ValueError(f"theta has length {len(np.ravel(self.theta))}; expected {self.dim}, that of the actions.")

    @cached_property
    def opened(self) -> NDArray[Any]:
        """The features as an array, mapped from disk if a path was given."""
        return open_array(self.features, "features")

    @cached_property
    def rows(self) -> NDArray[np.int64]:
        """The right row of each example."""
        if self.opened.ndim == 3:
            return open_indices(self.labels, "labels", len(self.opened))
        return self._kinds[1]

    @property
    def classes(self) -> int:
        """K."""
        return int(self.opened.shape[1]) if self.opened.ndim == 3 else len(self._kinds[0])

    @property
    def dim(self) -> int:
        """The length d of an action."""
        last = int(self.opened.shape[-1])
        return last if self.opened.ndim == 3 else self.classes * (last + 1)

    @cached_property
    def action_bound(self) -> float:
        """The largest norm of an action, found in one pass over the features."""
        blocks = (self.opened[start : start + _BLOCK] for start in range(0, len(self.opened), _BLOCK))
        longest = float(max(np.linalg.norm(np.asarray(b, dtype=np.float64), axis=-1).max() for b in blocks))
        return longest if self.opened.ndim == 3 else float(np.hypot(longest, 1.0) / np.sqrt(self.opened.shape[1] + 1))

    @property
    def name(self) -> str:
        """The three sizes."""
        return f"Classification(examples={len(self.opened)}, classes={self.classes}, dim={self.dim})"

    def __repr__(self) -> str:
        return self.name

    def actions(self, example: int) -> Array:
        """Return the decision set of one example, of shape (K, d)."""
        found = self.opened[example]
        if found.ndim == 2:
            return decision_set(found)
        return in_blocks(np.append(found, 1.0) / np.sqrt(len(found) + 1), self.classes)

    def instance(self, seed: int) -> ClassificationInstance:
        """Put the examples in the order of a seed."""
        return ClassificationInstance(self, seed)

    @cached_property
    def _kinds(self) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """Return the labels that differ, sorted, and for each example which of them it has."""
        found = open_array(self.labels, "labels")
        if found.dtype.kind == "O":  # words as pandas holds them
            found = found.astype(str)
        if found.dtype.kind not in "iubUS" or found.shape != (len(self.opened),):
            raise ValueError(
                f"labels has shape {found.shape} and holds {found.dtype.name}; "
                f"expected ({len(self.opened)},) whole numbers or words, the class of each example."
            )
        kinds, rows = np.unique(found, return_inverse=True)
        return kinds, rows.astype(np.int64)


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
        super().__init__(environment, seed, environment.dim, len(environment.opened), environment.classes)
        if environment.theta is not None:
            self.theta_bound = float(np.linalg.norm(self.theta))

    @property
    def theta(self) -> Array:
        """θ* of shape (d,)."""
        if self.environment.theta is None:
            raise ValueError(f"{self.name} has no known θ*; give it theta= for policies that need it.")
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
                yield Round(env.actions(i), self._worth[env.rows[i]], 0.0)
