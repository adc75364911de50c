"""`Basis`: the leading directions of all prompts seen, and the features of a prompt for each model."""

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas

from eigenbandits import inputs
from eigenbandits.component import Component
from eigenbandits.subspace import PCA

Array = NDArray[np.float64]

# Prompts needed for each direction: with fewer, a direction is mostly noise.
PROMPTS_PER_DIRECTION = 4
# Directions are first computed at this many prompts, then at each doubling up to `INTERVAL`, and from then on every
# `INTERVAL` prompts.
FIRST, INTERVAL = 32, 4096
# Single prompts are buffered, since adding many to the second moment takes hardly longer than adding one.
WAITING = 32


class Directions(PCA):
    """The leading directions, without a bound on their error, for which independent vectors would have to be counted.

    Parameters
    ----------
    rank
        The number of directions.
    """

    def __init__(self, rank: int) -> None:
        super().__init__(rank, projection_error=0.0)

    def _count(self, vectors: Array) -> None:
        """Do nothing."""

    def _end_batch(self) -> None:
        """Add the vectors that wait."""
        if self.moment.fill:
            self.moment.flush()


class Basis(Component):
    """Reads a prompt's vector (d,) as its coordinates in the leading directions and a 1.

    Every prompt teaches the directions, whether or not its answer is ever judged. They change only at a few counts of
    prompts, so that in between a prompt costs O(d · rank) to read. Before the first of them a prompt is read as the 1
    alone, and models are compared by their means.

    Parameters
    ----------
    rank
        The number of directions, at most.

    Examples
    --------
    >>> basis = Basis(rank=2)
    >>> basis.observe(np.random.default_rng(0).standard_normal((32, 5)))
    >>> basis.due, basis.refresh(), basis.size
    (True, True, 3)
    """

    _state_names: ClassVar[tuple[str, ...]] = (
        *("seen", "next", "reading", "origin", "dim", "waiting", "filled", "subspace"),
    )

    def __init__(self, rank: int = 24) -> None:
        self.rank = inputs.whole(rank, "rank")
        self.subspace = Directions(1)
        self.dim = 0
        self.seen = 0
        self.next = FIRST
        # A prompt x is read as xᵀR + o: R has the directions as columns and then one of zeros, in Fortran order; o has
        # the coordinates of the prompts' mean, negated, and then a 1.
        self.reading: Array = np.zeros((0, 1), order="F")
        self.origin: Array = np.ones(1)
        self.waiting: Array = np.zeros((0, 0))
        self.filled = 0

    @property
    def size(self) -> int:
        """Numbers that a prompt is read as."""
        return len(self.origin)

    @property
    def directions(self) -> Array:
        """The directions, as columns (d, size − 1)."""
        return self.reading[:, :-1]

    @property
    def due(self) -> bool:
        """Whether enough prompts have been seen for new directions."""
        return self.seen >= self.next

    def start(self, dim: int) -> None:
        """Fix the dimension of the prompts."""
        self.dim = dim
        self.subspace = Directions(min(self.rank, dim))
        self.subspace.start(dim, 0.0, True)
        self.reading, self.origin = np.zeros((dim, 1), order="F"), np.ones(1)
        self.waiting = np.zeros((WAITING, dim))

    def observe(self, vectors: Array) -> None:
        """Add prompts (n, d)."""
        if not self.dim:
            self.start(vectors.shape[1])
        self.seen += len(vectors)
        if len(vectors) > 1:
            self.subspace.observe(vectors)
            return
        self.waiting[self.filled] = vectors[0]
        self.filled += 1
        if self.filled == WAITING:
            self._add_waiting()

    def _add_waiting(self) -> None:
        if self.filled:
            self.subspace.observe(self.waiting[: self.filled].copy())
            self.filled = 0

    def refresh(self) -> bool:
        """Recompute the directions; return whether there are any."""
        count = min(self.rank, self.dim, self.seen // PROMPTS_PER_DIRECTION)
        while self.next <= self.seen:
            self.next += min(self.next, INTERVAL)
        if not count:
            return False
        self._add_waiting()
        frame = self.subspace.frame()
        assert frame is not None
        assert self.subspace.mean is not None
        self.reading = np.zeros((self.dim, count + 1), order="F")
        self.reading[:, :-1] = frame.directions[:, :count]
        self.origin = np.append(-(self.subspace.mean @ self.directions), 1.0)
        return True

    def read(self, vectors: Array) -> Array:
        """Return the coordinates of prompts (n, d), and a 1: (n, size)."""
        return np.asarray(vectors @ self.reading + self.origin)

    def read_one(self, vector: Array) -> Array:
        """Return the coordinates of one prompt (d,), and a 1: (size,), in one call of BLAS."""
        row: Array = blas.dgemv(1.0, self.reading, vector, 1.0, self.origin, trans=1)
        return row

    def restore(self, state: dict[str, object]) -> None:
        """Restore a saved state."""
        self.subspace = Directions(max(min(self.rank, int(state["dim"])), 1))  # type: ignore[call-overload]
        super().restore(state)
        # In the layout that `refresh` gives it, on which the rounding of products depends.
        self.reading = np.asfortranarray(self.reading)


def blocks(rows: Array, places: NDArray[np.intp], count: int) -> Array:
    """Return rows (n, w), each in the block of its model: (n, count · w), 0 elsewhere."""
    made = np.zeros((len(rows), count, rows.shape[1]))
    made[np.arange(len(rows)), places] = rows
    return made.reshape(len(rows), -1)


def decision_set(row: Array, count: int) -> Array:
    """Return one action for each of `count` models: the prompt's row (w,) in the block of the model."""
    made = np.zeros((count, count, len(row)))
    made.reshape(count * count, -1)[:: count + 1] = row
    return made.reshape(count, -1)


def decision_sets(rows: Array, count: int) -> Array:
    """Return the same for many rows (n, w): (n, count, count · w)."""
    made = np.zeros((len(rows), count * count, rows.shape[1]))
    made[:, :: count + 1] = rows[:, None]
    return made.reshape(len(rows), count, -1)
