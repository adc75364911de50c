"""The service's clock: it starts at the wall clock and then follows the monotonic clock, so that it never jumps."""

import time
from collections.abc import Callable

# Corrections of the wall clock up to this many seconds are not reported.
TOLERATED = 2.0


class Clock:
    """Seconds since 1970 that only move forward, at the pace of real time.

    It measures times to live: if the wall clock is set a day ahead, no decision becomes a day older.

    Parameters
    ----------
    wall, steady
        The wall clock and the monotonic one.

    Examples
    --------
    >>> wall, steady = iter([1000.0, 87400.0]), iter([5.0, 6.0, 7.0])
    >>> clock = Clock(lambda: next(wall), lambda: next(steady))
    >>> clock.now()
    1001.0
    >>> clock.jump()
    86398.0
    """

    def __init__(self, wall: Callable[[], float] = time.time, steady: Callable[[], float] = time.monotonic) -> None:
        self._wall, self._steady = wall, steady
        self._offset = wall() - steady()
        self._known = 0.0

    def now(self) -> float:
        """Return the current time."""
        return self._steady() + self._offset

    def jump(self) -> float:
        """Return how many seconds the wall clock has jumped since the last call; 0 if it has not."""
        difference = self._wall() - self.now()
        moved = difference - self._known
        if abs(moved) <= TOLERATED:
            return 0.0
        self._known = difference
        return moved
