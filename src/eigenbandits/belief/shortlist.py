"""When few directions are enough to tell which of many actions may win."""

from __future__ import annotations

from eigenbandits import linalg
from eigenbandits.inputs import Array
from eigenbandits.linalg.compression import Compression
from eigenbandits.subspace.base import Frame

# Directions, besides those of the mean, the intercept and the score.
DIRECTIONS = 32
# Actions in a set from which on it is tried.
MANY = 64
# Rows, per direction, whose exact widths cost about as much as a compression.
_PRICE = 8
# Actions that are left over without a doubt that it was worth it; and how many choices it is left out at the most.
FEW_LEFT, _LONGEST = 16, 256


class ShortList:
    """The compression of one belief's Z⁻¹: made once it will pay, and left alone where it tells too little.

    Nothing of this is part of a belief's state. It changes how long a choice takes, never the choice.
    """

    def __init__(self) -> None:
        self.frame: Frame | None = None
        self._basis: Array | None = None
        self._version = -1
        self._rows = 0
        self._pause = self._waiting = 0

    def compression(self, inverse: linalg.SymmetricSum, count: int) -> Compression | None:
        """Return the matrix in few directions, if that is likely to tell `count` actions apart."""
        frame = self.frame
        if frame is None or count < MANY:
            return None
        if self._waiting:
            self._waiting -= 1
            return None
        if inverse.compression is None or frame.version != self._version:
            self._rows += count
            if self._rows < _PRICE * DIRECTIONS:
                return None
            if self._basis is None or frame.version != self._version:
                self._basis, self._version = frame.spanning(inverse.dim, DIRECTIONS), frame.version
            inverse.compress(self._basis)
            self._rows = 0
        return inverse.compression

    def report(self, left: int, count: int) -> None:
        """Record how many of the actions were left: with too many, the next choices do without."""
        if left <= max(FEW_LEFT, count // 4):
            self._pause = 0
        else:
            self._pause = min(2 * self._pause + 1, _LONGEST)
            self._waiting = self._pause
