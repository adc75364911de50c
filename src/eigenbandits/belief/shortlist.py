"""When few directions are enough to tell which of many actions may win.

`python -m benchmarks.short_lists` prints what the constants rest on.
"""

from __future__ import annotations

from typing import NamedTuple

from eigenbandits import linalg
from eigenbandits.inputs import Array
from eigenbandits.subspace.base import Frame

# The leading directions that are used, besides those of the mean, the intercept and the score. At d = 384 a bound from
# 32 of them takes a third of one from all; from twice as many it takes more than half.
DIRECTIONS = 32
# How many rows, per direction, can be bounded in all directions in the time of a compression: 19 at d = 384 and 35 at
# d = 1024.
PRICE = 32
# Up to this many actions, exact values take less time than the matrix in single precision that would bound them: that
# takes as long as 60 exact values. It may be there already, though, and each bound from it is quicker then.
FEW_LEFT = 16
# The most choices in a row without a compression that has not helped: trying again then costs next to nothing.
LONGEST_PAUSE = 256


class ListSize(NamedTuple):
    """How many actions were compared, and how many of them few directions have left, where they were asked."""

    compared: int
    left: int | None


class ShortList:
    """Decides when a belief's Z⁻¹ is compressed, and when the compression is left out because it rules out too little.

    Nothing of this is part of a belief's state. It changes how long a choice takes, never the choice.
    """

    def __init__(self) -> None:
        self._basis: Array | None = None
        self._version = -1
        # Rows compared without a compression since the last one was made, and the size of the last decision set.
        self._rows = self._expected = 0
        self._pause = self._waiting = 0

    @property
    def active(self) -> bool:
        """Whether views may use the compression, where there is one."""
        return not self._waiting

    def follow(self, frame: Frame | None, inverse: linalg.SymmetricSum) -> None:
        """Compress the matrix for a frame, unless that is done, once enough actions are likely to be compared."""
        if frame is None or self._waiting or (inverse.compression is not None and frame.version == self._version):
            return
        if self._rows + self._expected >= PRICE * DIRECTIONS:
            if self._basis is None or frame.version != self._version:
                self._basis, self._version = frame.spanning(inverse.dim, DIRECTIONS), frame.version
            inverse.compress(self._basis)
            self._rows = 0

    def note(self, found: ListSize) -> None:
        """Record what a choice has found: where too many actions were left, the next choices do without."""
        self._expected = found.compared
        if found.left is None:
            self._rows += found.compared
            self._waiting = max(self._waiting - 1, 0)
        elif found.left <= max(FEW_LEFT, found.compared // 4):
            self._pause = 0
        else:
            self._waiting = self._pause = min(2 * self._pause + 1, LONGEST_PAUSE)
