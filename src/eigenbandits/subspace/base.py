"""The first axis: where does θ* live? A subspace turns actions into the coordinates that beliefs work on."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from eigenbandits import inputs, kernels, linalg
from eigenbandits.component import Component

Array = NDArray[np.float64]
CENTERS = ("none", "mean", "set", "differences")


@dataclass(frozen=True, eq=False)
class Frame:
    """A subspace at one moment: how a lifted action is read in few coordinates, and what that reading leaves out.

    With V (d, m) the directions, μ the offset of the mean and κ the intercept's coordinate, an action has the
    coordinates z = (Vᵀ(x − μ), κ) and leaves out (I − VVᵀ)(x − μ). Without centring μ = 0 and κ is absent.
    """

    directions: Array
    offset: Array | None = None
    intercept: float = 0.0
    error: float = 0.0
    version: int = 0
    spectrum: Array | None = field(default=None, repr=False)

    @property
    def size(self) -> int:
        """Number of coordinates: m, and one more for an intercept."""
        return int(self.directions.shape[1]) + (self.intercept > 0)

    @cached_property
    def reading(self) -> Array:
        """The (D, q) matrix F with z = Fᵀx̃ for a lifted action x̃."""
        if self.offset is None:
            return self.inside
        matrix = self.inside.copy()
        matrix[-1, :-1] = -(self.offset @ self.directions) / self.intercept
        return matrix

    @cached_property
    def shadow(self) -> Array:
        """The (D, q) matrix A with φ = Aᵀϑ: the coordinates' parameter that an ambient parameter ϑ implies."""
        if self.offset is None:
            return self.inside
        matrix = self.inside.copy()
        matrix[:-1, -1] = self.offset / self.intercept
        return matrix

    @cached_property
    def inside(self) -> Array:
        """The (D, q) orthonormal basis of the subspace among lifted parameters, the intercept's coordinate included."""
        if not self.intercept:
            return self.directions
        dim, rank = self.directions.shape
        matrix = np.zeros((dim + 1, rank + 1))
        matrix[:dim, :rank] = self.directions
        matrix[dim, rank] = 1.0
        return matrix

    def centered(self, lifted: Array) -> Array:
        """Return x − μ for lifted actions, without the intercept's coordinate."""
        if not self.intercept:
            return lifted
        vectors = lifted[:, :-1]
        return vectors if self.offset is None else np.subtract(vectors, self.offset, dtype=vectors.dtype)

    def coordinates(self, lifted: Array) -> tuple[Array, Array]:
        """Return the coordinates z (K, q) of lifted actions and the norms (K,) of what they leave out."""
        vectors = self.centered(lifted)
        if self.error > 0.0:
            inside, outside = kernels.read(vectors, self.directions)
        else:
            inside = linalg.project(vectors, self.directions)
            outside = np.zeros(len(inside))
        if self.intercept:
            inside = np.column_stack([inside, np.full(len(inside), self.intercept)])
        return inside, outside

    def leak(self, gram_reading: Array) -> Array:
        """Return FᵀΣH (q, d), given ΣF: how the coordinates correlate with what they leave out."""
        dim = self.directions.shape[0]
        cross = gram_reading[:dim].T
        if self.offset is not None:
            cross = cross - np.outer(gram_reading[dim] / self.intercept, self.offset)
        return np.asarray(cross - (cross @ self.directions) @ self.directions.T)

    def lower(self, parameter: Array) -> Array:
        """Return the d-vector θ whose products with actions order them as the coordinates' parameter φ does."""
        return np.asarray(self.directions @ parameter[: self.directions.shape[1]])


class Subspace(Component):
    """Base of the subspace axis.

    A subspace *lifts* actions: it takes off the reference that `center` asks for and, where that has an intercept, adds
    its coordinate, so that a reward xᵀθ* stays linear in what beliefs see. It *observes* every action it
    is shown, rewarded or not, and gives its `frame`.

    Parameters
    ----------
    center
        "none": actions are taken as they are. "mean": directions are found around the running mean of all actions,
        and an intercept stands for what the mean earns. "set": each decision set is taken relative to its own mean,
        which leaves the differences between its actions, all that a choice needs, and an intercept for the rest.
        "differences": the same without an intercept, for rewards that are near zero for the average action of a set,
        such as 1 for the one right answer among many and 0 for the others.
    """

    _state_names: ClassVar[tuple[str, ...]] = ("dim", "scale", "intercept", "reference", "seen", "sets")

    def __init__(self, center: str = "none") -> None:
        self.center = inputs.one_of(center, "center", CENTERS)
        # Whether lifted actions have an intercept's coordinate.
        self.has_intercept = center in ("mean", "set")
        # Whether each decision set has a centre of its own, so that a vector means nothing without its set.
        self.by_set = center in ("set", "differences")
        self.dim: int | None = None
        self.scale = 1.0
        self.intercept = 0.0
        self.reference: Array | None = None
        self.seen = 0
        self.sets = 0

    @property
    def lifted_dim(self) -> int:
        """Length D of a lifted action."""
        assert self.dim is not None
        return self.dim + self.has_intercept

    def start(self, actions: Array) -> None:
        """Fix the dimension, and the reference and scale of the intercept, at the first vectors seen."""
        self.dim = actions.shape[1]
        mean = actions.mean(axis=0)
        whole = _root_mean_square(actions)
        # What tells actions apart is how they differ from their mean, so that is the size that counts; a set of one,
        # or of equals, has only its norm to show.
        count = len(actions)
        spread = _root_mean_square(actions - mean) * math.sqrt(count / (count - 1)) if count > 1 else 0.0
        self.scale = spread if spread > 1e-6 * whole else whole
        if self.scale == 0.0:
            self.scale = 1.0
        if not self.has_intercept:
            return
        # κ is of the size of an action, so that one ridge and one bound S suit it as well as the rest of θ.
        self.intercept = whole if whole > 0.0 else 1.0
        if self.center == "mean":
            # Any fixed reference will do: the frame corrects for the running mean. The first set's mean keeps later
            # sums from losing their digits under a large common mean; where it may be chance it would only give all
            # rewards an offset that they do not have.
            large = float(np.linalg.norm(mean)) > 2.0 * spread / math.sqrt(count)
            self.reference = mean if large else None

    def set_center(self, actions: Array) -> Array | None:
        """Return what is taken off the actions of one decision set, or None."""
        if self.by_set:
            return np.asarray(actions.mean(axis=0))
        return self.reference

    def lift(self, actions: Array, center: Array | None) -> Array:
        """Return one action or many, (…, D), as beliefs see them; `center` is what `set_center` gave for their set."""
        if not self.has_intercept:
            return actions if center is None else np.subtract(actions, center, dtype=actions.dtype)
        lifted = np.empty((*actions.shape[:-1], actions.shape[-1] + 1), dtype=actions.dtype)
        if center is None:
            lifted[..., :-1] = actions
        else:
            np.subtract(actions, center, out=lifted[..., :-1], casting="same_kind")
        lifted[..., -1] = self.intercept
        return lifted

    def observe(self, actions: Array) -> None:
        """Take note of one decision set's vectors, or of a catalogue's, rewarded or not."""
        self.seen += actions.shape[0]
        self.sets += 1

    def frame(self) -> Frame | None:
        """Return the subspace for a choice, found anew where that is due; None where the whole space is meant."""
        return None

    def current(self) -> Frame | None:
        """Return the frame of the last choice and change nothing; None where there is none."""
        return None if self.dim is None else self.frame()

    def diagnostics(self) -> dict[str, Any]:
        """Return what is worth telling a person."""
        return {"vectors_seen": self.seen, "decision_sets_seen": self.sets, "center": self.center}


def _root_mean_square(vectors: Array) -> float:
    """Return the root of the mean squared norm; by way of the largest number, so that no square over- or underflows."""
    largest = float(np.abs(vectors).max())
    if largest == 0.0:
        return 0.0
    scaled = vectors / largest
    return largest * math.sqrt(float(np.einsum("ij,ij->", scaled, scaled)) / len(vectors))
