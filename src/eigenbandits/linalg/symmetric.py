"""Symmetric matrices that are updated row by row, in place, through BLAS."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas

from eigenbandits.component import Component
from eigenbandits.inputs import Array
from eigenbandits.linalg.compression import Compression, SingleSquares, ThinSquares
from eigenbandits.linalg.primitives import NOTHING, add_diagonal, add_outer

# Rows of a matrix mirrored at a time, and a mask of the upper half of a block of this size.
MIRRORED = 128
_UPPER = np.asfortranarray(~np.tri(MIRRORED, dtype=bool))
# Dimensions from which a matrix does not fit in the cache (half a megabyte), so that reading less of it helps.
LARGE = 256
# Number of waiting rows for such a matrix.
BLOCK = 32

# SciPy's wrappers accept these matrices without a copy only in Fortran order; only the lower half is used.


class SymmetricSum(Component):
    """A symmetric matrix that grows (or shrinks) by x xᵀ, row by row: scale·I ± Σ x xᵀ.

    Rows wait in a block and are added by one rank-k update, which reads and writes the matrix once instead of k times.
    Products take the waiting rows into account, so that the block is invisible from outside, and change nothing. A
    matrix that fits in the cache is instead kept up to date in both halves, which makes products faster. A matrix that
    differs from a multiple of I by few rows may stay *thin*, scale·I + Σ p pᵀ ± Σ x xᵀ, until its block is full.

    While the first block fills, the matrix is *blank*: products skip it, and its memory is touched a few columns per
    row. The first write to new memory takes far longer than later ones, more than a hundred milliseconds for 4,096
    dimensions, and no single round should pay for all of it.

    Parameters
    ----------
    sign
        1.0 adds the rows' outer products, −1.0 subtracts them.

    Examples
    --------
    >>> total = SymmetricSum()
    >>> total.start(2, block=8)
    >>> total.add(np.array([1.0, 2.0]))
    >>> total.full().tolist()
    [[1.0, 2.0], [2.0, 4.0]]
    """

    _state_names: ClassVar[tuple[str, ...]] = (
        *("half", "waiting", "fill", "thin", "scale", "plus"),
        *("blank", "block"),
    )
    _derived_names: ClassVar[tuple[str, ...]] = ("_single", "compression")

    def __init__(self, sign: float = 1.0) -> None:
        self.sign = sign
        self.thin = False
        self.scale = 0.0
        self.plus: Array = np.zeros((0, 0))
        self.half: Array = np.zeros((0, 0), order="F")
        self.waiting: Array = np.zeros((0, 0))
        self.fill = 0
        # Whether the matrix is still 0 because no row has been added to it; and the size of the blocks after the first.
        self.blank = False
        self.block = 0
        # The matrix in single precision, for `most`: made on demand and dropped when the matrix changes.
        self._single: SingleSquares | ThinSquares | None = None
        # The matrix in few directions, made by `compress` and dropped when the matrix may have grown.
        self.compression: Compression | None = None

    @property
    def dim(self) -> int:
        """The number of rows and columns."""
        return self.waiting.shape[1] if len(self.waiting) else len(self.half)

    def start(self, dim: int, block: int, scale: float = 0.0, first: int = 0) -> None:
        """Set up scale · I in `dim` dimensions, with room for `block` waiting rows, or `first` in the first block."""
        self.half = np.zeros((dim, dim), order="F")
        if scale:
            add_diagonal(self.half, scale)
        self.waiting = np.zeros((max(block, first) if block else 0, dim))
        self.fill = 0
        self.blank, self.block = not scale and len(self.waiting) > 0, block
        self._single = self.compression = None

    def reset(self, half: Array) -> None:
        """Replace the matrix with one given by its lower half, in Fortran order, which becomes this sum's own."""
        if self.thin:
            self.thin, self.plus = False, np.zeros((0, 0))
            self.waiting = np.zeros((block_for(len(half)), len(half)))
        elif self.blank:
            self._end_first_block()
        self.half = half
        if not len(self.waiting):
            mirror(half)
        self.fill = 0
        self._single = self.compression = None

    def reset_thin(self, scale: float, plus: Array, rows: Array, room: int) -> None:
        """Replace the matrix with scale·I + Σ p pᵀ ± Σ x xᵀ, given the rows p and x, with room for more rows x."""
        self.thin, self.scale, self.plus, self.blank = True, scale, plus, False
        self.half = np.zeros((0, 0), order="F")
        self.waiting = np.zeros((len(rows) + room, plus.shape[1]))
        self.waiting[: len(rows)] = rows
        self.fill = len(rows)
        self._single = self.compression = None

    def _claim(self, count: int) -> None:
        """Write zeros to the share of a blank matrix that `count` rows are of its first block."""
        dim, room = len(self.half), len(self.waiting)
        start, stop = dim * self.fill // room, dim * (self.fill + count) // room
        self.half[start:, start:stop] = 0.0

    def _end_first_block(self) -> None:
        """Switch to the block size that `start` was given."""
        self.blank = False
        if len(self.waiting) != self.block:
            self.waiting = np.zeros((self.block, self.waiting.shape[1]))

    def _thicken(self) -> None:
        """Write a thin matrix out in full."""
        rows = self.waiting[: self.fill]
        half = np.asfortranarray(self.plus.T @ self.plus)
        add_diagonal(half, self.scale)
        if len(rows):
            half = blas.dsyrk(self.sign, np.asarray(rows, order="C").T, beta=1.0, c=half, lower=1, overwrite_c=1)
        self.reset(half)

    def lend(self) -> Array:
        """Lend the matrix, both halves; return an empty one if rows may wait.

        It still belongs to this sum: a borrower that writes to it calls `changed`, and no borrower keeps it.
        """
        return NOTHING if len(self.waiting) else self.half.T

    def changed(self) -> None:
        """Record that a borrower has written to the matrix."""
        self._single = self.compression = None

    def add(self, row: Array, weight: float = 1.0) -> None:
        """Add the outer product of one row, times a positive weight."""
        room = len(self.waiting)
        if not room:
            add_outer(self.lend(), row, row, self.sign * weight)
            self._single = None
            return
        if self.fill == room:
            thin = self.thin
            self.flush()
            if thin:
                self.add(row, weight)
                return
        if self.blank:
            self._claim(1)
        self.waiting[self.fill] = row if weight == 1.0 else row * math.sqrt(weight)
        self.fill += 1

    def add_rows(self, rows: Array) -> None:
        """Add the outer products of many rows."""
        count = len(rows)
        if self.fill + count > len(self.waiting):
            # This may leave less room.
            self.flush()
            if count > len(self.waiting):
                self._add_block(rows, self.sign)
                return
        if self.blank:
            self._claim(count)
        filled = self.fill + count
        self.waiting[self.fill : filled] = rows
        self.fill = filled

    def adjust(self, rows: Array, weight: float) -> None:
        """Add weight times the sum of the rows' outer products at once, whatever the sign of this sum."""
        self.flush()
        self._add_block(rows, weight)

    def _add_block(self, rows: Array, weight: float) -> None:
        # rows.T of a C-ordered block is Fortran-ordered, so BLAS reads it without a copy.
        columns = np.asarray(rows, dtype=np.float64, order="C").T
        self.half = blas.dsyrk(weight, columns, beta=1.0, c=self.half, lower=1, overwrite_c=1)
        self._single = None
        if self.compression is not None and weight < 0.0:
            self.compression.lose(columns.T, -weight)
        else:
            self.compression = None
        if not len(self.waiting):
            mirror(self.half)

    def fade(self, factor: float) -> None:
        """Multiply everything added so far by a factor."""
        self.flush()
        self.half *= factor
        self._single = self.compression = None

    def flush(self) -> Array:
        """Add the waiting rows to the matrix and return its lower half."""
        if self.thin:
            self._thicken()
        elif self.fill:
            self._add_block(self.waiting[: self.fill], self.sign)
            self.fill = 0
        if self.blank:
            self._end_first_block()
        return self.half

    def copied(self) -> Array:
        """Return the lower half, including the waiting rows, as a new matrix; the rows keep waiting."""
        matrix = self.half.copy(order="F")
        if self.fill:
            columns = self.waiting[: self.fill].T
            matrix = blas.dsyrk(self.sign, columns, beta=1.0, c=matrix, lower=1, overwrite_c=1)
        return matrix

    def times(self, vector: Array) -> Array:
        """Return the matrix times a vector."""
        result: Array
        if not len(self.waiting):
            result = blas.dgemv(1.0, self.half, vector)
            return result
        if self.thin:
            result = self.scale * vector + (self.plus @ vector) @ self.plus
        elif self.blank:
            result = np.zeros(len(vector))
        else:
            result = blas.dsymv(1.0, self.half, vector, lower=1)
        if self.fill:
            rows = self.waiting[: self.fill]
            result += self.sign * ((rows @ vector) @ rows)
        return result

    def times_columns(self, columns: Array) -> Array:
        """Return the matrix times a matrix."""
        if self.thin:
            return self.times_rows(columns.T).T
        if not len(self.waiting):
            return np.asarray(self.half @ columns)
        if self.blank:
            result = np.zeros(columns.shape, order="F")
        else:
            result = blas.dsymm(1.0, self.half, np.asfortranarray(columns), lower=1)
        if self.fill:
            rows = self.waiting[: self.fill]
            result += self.sign * (rows.T @ (rows @ columns))
        return result

    def times_rows(self, rows: Array) -> Array:
        """Return rows times the matrix, as a C-ordered array of one product per row."""
        if self.thin:
            waiting = self.waiting[: self.fill]
            dense = self.scale * rows + (rows @ self.plus.T) @ self.plus
            return np.asarray(dense + self.sign * (rows @ waiting.T) @ waiting)
        if not len(self.waiting):
            return np.asarray(rows @ self.half)
        return self.times_columns(rows.T).T

    def compress(self, basis: Array) -> None:
        """Compress the matrix to a few directions from now on; do nothing unless it is stored as one full half."""
        if not self.thin and not self.blank and len(self.waiting):
            self.compression = Compression(self.half, basis)

    def lengths(self, rows: NDArray[np.float32]) -> Array:
        """Return bounds on √(xᵀMx) for rows, from the existing compression."""
        assert self.compression is not None
        return self.compression.lengths(rows, self.waiting[: self.fill])

    def most(self, rows: NDArray[np.float32], sizes: Array) -> Array:
        """Return bounds on xᵀMx for rows with these squared norms, in single precision; only if rows are subtracted."""
        if self._single is None:
            thin, room = self.thin, len(self.waiting)
            self._single = ThinSquares(self.scale, self.plus, room) if thin else SingleSquares(self.half, room)
        return self._single.bounds(rows, sizes, self.waiting[: self.fill])

    def trace(self) -> float:
        """Return the sum of the diagonal."""
        rows = self.waiting[: self.fill]
        if self.thin:
            base = self.scale * rows.shape[1] + float(np.vdot(self.plus, self.plus))
        else:
            base = 0.0 if self.blank else float(np.trace(self.half))
        return float(base + self.sign * np.vdot(rows, rows))

    def full(self) -> Array:
        """Return both halves as an ordinary array."""
        matrix = self.flush().copy(order="F")
        mirror(matrix)
        return matrix


def mirror(matrix: NDArray[np.floating[Any]]) -> None:
    """Copy the lower half of a matrix to its upper half, block by block, so that both stay in the cache.

    Examples
    --------
    >>> matrix = np.array([[1.0, 9.0], [2.0, 3.0]])
    >>> mirror(matrix)
    >>> matrix.tolist()
    [[1.0, 2.0], [2.0, 3.0]]
    """
    for start in range(0, len(matrix), MIRRORED):
        stop = start + MIRRORED
        square = matrix[start:stop, start:stop]
        np.copyto(square, square.T, where=_UPPER[: len(square), : len(square)])
        matrix[start:stop, stop:] = matrix[stop:, start:stop].T


def block_for(dim: int) -> int:
    """Return how many rows should wait: none if the matrix fits in the cache, since waiting would only cost time."""
    return BLOCK if dim >= LARGE else 0
