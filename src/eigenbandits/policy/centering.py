"""Centering: what is subtracted from the actions first, and the intercept that makes up for it."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from eigenbandits import inputs
from eigenbandits.component import Component
from eigenbandits.inputs import Array
from eigenbandits.merging import Shift

KINDS = ("none", "mean", "set", "differences")


class Centering(Component):
    """Turns actions (d numbers) into the *lifted* rows (D numbers) that beliefs see.

    A lifted row is the action minus its center and, if that requires an intercept, one more coordinate κ, so that a
    reward xᵀθ* stays linear in the row. The belief determines κ (`Belief.intercept`): a given number, or the root mean
    square norm of the first vectors, so that |cᵀθ*|/κ ≤ S for their mean c.

    Parameters
    ----------
    kind
        "none": nothing is subtracted. "mean": directions are estimated around the running mean of all actions, and an
        intercept stands for what the mean earns. "set": each decision set is centered on its own mean, which leaves the
        differences between its actions, all that a choice needs, and an intercept for the rest. "differences": the same
        without an intercept, for rewards that are near zero for the average action of a set, such as 1 for the one
        right answer among many and 0 for the others.

    Examples
    --------
    >>> centering = Centering("set")
    >>> actions = np.array([[1.0, 0.0], [3.0, 0.0]])
    >>> centering.start(actions)
    >>> lifted, center = centering.lift(actions)
    >>> lifted.tolist(), center.tolist()
    ([[-1.0, 0.0, 1.0], [1.0, 0.0, 1.0]], [2.0, 0.0])
    """

    _state_names: ClassVar[tuple[str, ...]] = ("dim", "reference", "intercept")

    def __init__(self, kind: str = "none") -> None:
        self.kind = inputs.one_of(kind, "center", KINDS)
        # κ, or 0 if lifted rows have no intercept coordinate.
        self.intercept = 0.0
        # Whether each decision set has its own center, so that a vector has no meaning without its set.
        self.by_set = kind in ("set", "differences")
        # Whether directions are estimated around the running mean of all actions.
        self.around_mean = kind == "mean"
        self.dim: int | None = None
        self.reference: Array | None = None

    @property
    def lifted_dim(self) -> int:
        """Length D of a lifted row."""
        assert self.dim is not None
        return self.dim + (self.intercept > 0.0)

    def start(self, actions: Array, intercept: float | None = 1.0) -> None:
        """Set the dimension, the intercept's κ and, for "mean", the reference, from the first vectors seen."""
        self.dim = actions.shape[1]
        if self.kind in ("mean", "set"):
            self.intercept = size_of(actions) if intercept is None else intercept
        self.reference = _large_mean(actions) if self.around_mean else None

    def lift(self, actions: Array) -> tuple[Array, Array | None]:
        """Return the rows (K, D) of a decision set as beliefs see them, and the center that was subtracted."""
        center = np.asarray(actions.mean(axis=0)) if self.by_set else self.reference
        return self._lifted(actions, center), center

    def center_of(self, actions: Array) -> Array | None:
        """Return what is subtracted from the actions of a decision set, or None."""
        return np.asarray(actions.mean(axis=0)) if self.by_set else self.reference

    def lift_vectors(self, vectors: Array) -> Array:
        """Lift a vector (d,), or many (n, d), given without a decision set."""
        self.refuse_bare_vectors()
        return self._lifted(vectors, self.reference)

    def lift_around(self, vectors: Array, centers: Array) -> Array:
        """Lift vectors (n, d) whose decision sets had these means (n, d)."""
        return self._lifted(vectors, centers)

    def refuse_bare_vectors(self) -> None:
        """Raise an error that says what to do instead, if a vector has no meaning without its decision set."""
        if self.by_set:
            raise ValueError(
                "this policy centers each decision set on its own mean, so a bare vector has no meaning; "
                "pass the Decision that choose() returned."
            )

    def shift_from(self, other: Centering) -> Shift:
        """Return the map from another replica's lifted rows to ours; each has set its own reference and κ."""
        zero = np.zeros(self.dim or 0)
        theirs, ours = (zero if one.reference is None else one.reference for one in (other, self))
        offset = np.asarray(theirs - ours, dtype=np.float64)
        return Shift(offset if offset.any() else None, other.intercept, self.intercept)

    def _lifted(self, actions: Array, center: Array | None) -> Array:
        if not self.intercept:
            return actions if center is None else np.subtract(actions, center, dtype=actions.dtype)
        lifted = np.empty((*actions.shape[:-1], actions.shape[-1] + 1), actions.dtype)
        if center is None:
            lifted[..., :-1] = actions
        else:
            np.subtract(actions, center, out=lifted[..., :-1], casting="same_kind")
        lifted[..., -1] = self.intercept
        return lifted


def size_of(vectors: Array) -> float:
    """Return the root mean square norm, or 1 if it is 0."""
    return math.sqrt(float(np.einsum("ij,ij->", vectors, vectors)) / len(vectors)) or 1.0


def _large_mean(actions: Array) -> Array | None:
    """Return the mean of the first vectors, if it is more than chance.

    Any fixed reference would do, since the frame corrects for the running mean. This one keeps later sums from losing
    digits to a large common mean. A mean within two standard errors of 0 is ignored: it would only give all rewards
    an offset that they do not have.
    """
    count = len(actions)
    mean = np.asarray(actions.mean(axis=0))
    deviations = actions - mean
    spread = math.sqrt(float(np.einsum("ij,ij->", deviations, deviations)) / max(count - 1, 1)) if count > 1 else 0.0
    return mean if float(np.linalg.norm(mean)) > 2.0 * spread / math.sqrt(count) else None
