"""Ctrl-C: a terminal sends it to every process of a command, though only the one that was started is to handle it."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import resource_tracker


@contextmanager
def put_off() -> Iterator[None]:
    """Put Ctrl-C off until the end of the block; threads that start in it, and their processes, never see it.

    A thread that blocks a signal hands this on to the threads and processes that it starts.
    """
    if sys.platform == "win32":
        yield
        return
    # Whoever spawns the first process also starts the tracker of its resources, which unblocks the signal.
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
