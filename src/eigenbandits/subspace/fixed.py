"""Subspaces that do not learn: a known one, and a random projection."""

from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from eigenbandits import inputs
from eigenbandits.inputs import Array
from eigenbandits.merging import Replica
from eigenbandits.subspace.base import Frame, Subspace


class Known(Subspace):
    """A subspace that the user knows, with a bound on how wrong it may be.

    Parameters
    ----------
    basis
        (d, m) matrix with linearly independent columns; they are made orthonormal.
    projection_error
        Bound on ‖P̂ − P‖₂; 0 means that the subspace is exact.

    Examples
    --------
    >>> Known([[2.0], [0.0]]).frame().directions.tolist()
    [[1.0], [0.0]]
    """

    def __init__(self, basis: ArrayLike, projection_error: float = 0.0) -> None:
        super().__init__()
        self.basis = basis
        self.projection_error = inputs.number(projection_error, "projection_error", least=0.0)
        matrix = inputs.as_actions(basis, None, what="basis")
        directions, triangle = np.linalg.qr(matrix)
        diagonal = np.abs(np.diagonal(triangle))
        if matrix.shape[1] > matrix.shape[0] or diagonal.min() <= 1e-12 * diagonal.max():
            raise ValueError("basis has linearly dependent columns; expected (d, m) with m independent columns.")
        self._directions = np.asarray(directions * np.sign(np.diagonal(triangle)))

    def start(self, dim: int, intercept: float = 0.0, around_mean: bool = False) -> None:
        """Check that the actions live in the space of the basis."""
        if dim != self._directions.shape[0]:
            raise ValueError(f"actions has vectors of length {dim}; the basis has {self._directions.shape[0]} rows.")
        super().start(dim, intercept, around_mean)

    def restarted(self) -> Self:
        """Refuse: the basis belongs to the vectors that it was given for."""
        raise ValueError(
            "a known subspace belongs to the vectors of one encoder; make a new policy with the new encoder's basis "
            "and let it learn from the log, embedded again, with learn_many()."
        )

    def frame(self) -> Frame:
        """Return the known subspace."""
        return Frame(self._directions, intercept=self.intercept, error=self.projection_error)

    def diagnostics(self) -> dict[str, Any]:
        """Return the rank and the error bound given."""
        rank = self._directions.shape[1]
        return super().diagnostics() | {"rank": rank, "projection_error": self.projection_error}


class RandomProjection(Subspace):
    """A random projection on `rank` dimensions with independent N(0, 1/rank) entries, drawn once.

    It keeps lengths and angles roughly (Johnson and Lindenstrauss) and learns nothing from the actions. What the
    projection loses is not bounded here: `CBRAP` treats it, as its paper does, through the confidence multiplier.
    """

    _state_names: ClassVar[tuple[str, ...]] = (*Subspace._state_names, "matrix")

    def __init__(self, rank: int, seed: int | None = None) -> None:
        super().__init__()
        self.rank = inputs.whole(rank, "rank")
        self.seed = seed
        self.matrix: Array | None = None

    def start(self, dim: int, intercept: float = 0.0, around_mean: bool = False) -> None:
        """Draw the projection."""
        if self.rank > dim:
            raise ValueError(f"rank is {self.rank}; expected at most the dimension of the actions, {dim}.")
        super().start(dim, intercept, around_mean)
        rng = np.random.default_rng(self.seed)
        self.matrix = rng.normal(scale=self.rank**-0.5, size=(dim, self.rank))

    def start_like(self, other: Any) -> None:
        """Take over the projection."""
        super().start_like(other)
        self.matrix = other.matrix.copy()

    def merge(self, replicas: Sequence[Replica[Any]]) -> None:
        """Count what was seen, by replicas with the same projection."""
        assert self.matrix is not None
        if any(not np.array_equal(replica.part.matrix, self.matrix) for replica in replicas):
            raise ValueError("the replicas have drawn different random projections; give all of them the same seed.")
        super().merge(replicas)

    def frame(self) -> Frame:
        """Return the projection."""
        assert self.matrix is not None
        return Frame(self.matrix, intercept=self.intercept)

    def diagnostics(self) -> dict[str, Any]:
        """Return the rank."""
        return super().diagnostics() | {"rank": self.rank}
