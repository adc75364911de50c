"""Shortlists: when a few directions are enough to tell which of many actions may win.

`python -m benchmarks.short_lists` prints the measurements behind the constants.
"""

from typing import NamedTuple

from eigenbandits import linalg
from eigenbandits.inputs import Array
from eigenbandits.subspace.base import Frame

# The number of leading directions used, besides those of the mean, the intercept and the score. At d = 384, a bound
# from 32 of them takes a quarter of the time of one from all, and one from twice as many half of it.
DIRECTIONS = 32
# How many rows per direction can be bounded in all directions in the time of one compression: 10 to 12 at d = 384 and 9
# or 10 at d = 1024.
PRICE = 10
# Up to this many actions, exact values take less time than making the matrix in single precision that would bound them,
# which takes as long as 21 to 24 exact values at d = 384 and 12 to 17 at d = 1024. It may exist already, though, and
# then each bound from it is faster.
FEW_LEFT = 16
# The most choices in a row that skip a compression because it did not help: trying again then costs almost nothing.
LONGEST_PAUSE = 256


class ListSize(NamedTuple):
    """How many actions were compared, and how many of them the few directions left, if they were used."""

    compared: int
    left: int | None


class ShortList:
    """Decides when a belief's Z⁻¹ is compressed, and when the compression is skipped because it rules out too little.

    None of this is part of a belief's state: it changes how long a choice takes, never the choice.
    """

    def __init__(self) -> None:
        self._basis: Array | None = None
        self._version = -1
        # Rows compared without a compression since the last one was made, and the size of the last decision set.
        self._rows = self._expected = 0
        self._pause = self._waiting = 0

    @property
    def active(self) -> bool:
        """Whether views may use the compression, if there is one."""
        return not self._waiting

    def follow(self, frame: Frame | None, inverse: linalg.SymmetricSum) -> None:
        """Compress the matrix for a frame, if needed, once enough actions are likely to be compared."""
        if self._rows + self._expected < PRICE * DIRECTIONS or frame is None or self._waiting:
            return
        if self._basis is None or frame.version != self._version:
            self._basis, self._version = frame.spanning(inverse.dim, DIRECTIONS), frame.version
        elif inverse.compression is not None:
            return
        inverse.compress(self._basis)
        self._rows = 0

    def note(self, size: ListSize) -> None:
        """Record the size of a choice's list; if too many actions were left, the next choices skip the compression."""
        self._expected = size.compared
        if size.left is None:
            self._rows += size.compared
            self._waiting = max(self._waiting - 1, 0)
        elif size.left <= max(FEW_LEFT, size.compared // 4):
            self._pause = 0
        else:
            self._waiting = self._pause = min(2 * self._pause + 1, LONGEST_PAUSE)
