"""The first axis: where does θ* live? A subspace turns actions into the coordinates that beliefs work on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from eigenbandits import linalg, merging
from eigenbandits.component import Component
from eigenbandits.inputs import Array
from eigenbandits.linalg import kernels
from eigenbandits.merging import Replica


@dataclass(frozen=True, eq=False)
class Frame:
    """A subspace at one moment: the few coordinates of a lifted action, and what they leave out.

    With V (d, m) the directions, μ the offset of the mean and κ the intercept's coordinate, an action has the
    coordinates z = (Vᵀ(x − μ), κ) and leaves out (I − VVᵀ)(x − μ). Without centering μ = 0 and κ is absent. `spectrum`
    holds all d eigenvalues, those without a direction by their mean; `rank` of them stand out from the noise.
    """

    directions: Array
    offset: Array | None = None
    intercept: float = 0.0
    error: float = 0.0
    version: int = 0
    spectrum: Array | None = field(default=None, repr=False)
    rank: int = 1

    @cached_property
    def leading(self) -> Frame:
        """The frame of the directions that stand out from the noise."""
        if self.rank == self.directions.shape[1]:
            return self
        return replace(self, directions=self.directions[:, : self.rank])

    @property
    def size(self) -> int:
        """Number of coordinates: m, and one more for an intercept."""
        return int(self.directions.shape[1]) + (self.intercept > 0)

    @cached_property
    def basis(self) -> Array:
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

    def spanning(self, dim: int, most: int) -> Array:
        """Return an orthonormal basis (D, k) of where lifted actions of length D mainly are.

        That is: `most` of the leading directions, μ, and the coordinates that were added to the actions.
        """
        leading = self.directions[:, :most]
        columns = leading if self.offset is None else np.column_stack([leading, self.offset])
        inside, added = np.linalg.qr(columns)[0], dim - len(columns)
        matrix = np.zeros((dim, inside.shape[1] + added))
        matrix[: len(inside), : inside.shape[1]] = inside
        matrix[len(inside) :, inside.shape[1] :] = np.eye(added)
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
    """Base of the subspace axis: it *observes* every action it is shown, rewarded or not, and gives its `frame`."""

    _state_names: ClassVar[tuple[str, ...]] = ("dim", "intercept", "around_mean", "seen", "sets")
    # Whether directions can be found around the running mean of all actions.
    finds_around_mean: ClassVar[bool] = True

    def __init__(self) -> None:
        self.dim: int | None = None
        self.intercept = 0.0
        self.around_mean = False
        self.seen = 0
        self.sets = 0

    @property
    def ready(self) -> bool:
        """Whether there is a frame to choose with even if nothing more is observed."""
        return True

    def start(self, dim: int, intercept: float = 0.0, around_mean: bool = False) -> None:
        """Set up the subspace for actions of length `dim`.

        Parameters
        ----------
        dim
            d.
        intercept
            κ, the intercept's coordinate of lifted actions, or 0 where they have none.
        around_mean
            Whether directions are found around the running mean of all actions.
        """
        self.dim = dim
        self.intercept = intercept
        self.around_mean = around_mean

    def start_like(self, other: Any) -> None:
        """Set up a new subspace as another replica's was."""
        assert other.dim is not None
        self.start(other.dim, other.intercept, other.around_mean)

    def restarted(self) -> Self:
        """Return a subspace with the same parameters that has seen nothing, for the vectors of another encoder."""
        return self.clone()

    def observe(self, actions: Array, center: Array | None = None) -> None:
        """Observe the vectors of one decision set, or of a catalogue, rewarded or not.

        Parameters
        ----------
        actions
            The vectors (K, d) as they were offered.
        center
            What was subtracted from them (d,), if anything was.
        """
        self.seen += len(actions)
        self.sets += 1

    def observe_all(self, vectors: Array, center: Array | None = None) -> None:
        """Observe many vectors that are not a decision set, with no hurry: those of a log, or of a catalogue."""
        self.observe(vectors, center)

    def merge(self, replicas: Sequence[Replica[Any]]) -> None:
        """Become the subspace that would have seen all that the replicas have seen; see `Belief.merge`."""
        self.seen = merging.count(replicas, "seen")
        self.sets = merging.count(replicas, "sets")

    def frame(self) -> Frame | None:
        """Return the subspace for a choice, recomputed if that is due; None stands for the whole space."""
        return None

    def current(self) -> Frame | None:
        """Return the frame of the last choice and change nothing; None where there is none."""
        return None if self.dim is None else self.frame()

    def diagnostics(self) -> dict[str, Any]:
        """Return what a person should know."""
        return {"vectors_seen": self.seen, "decision_sets_seen": self.sets}
