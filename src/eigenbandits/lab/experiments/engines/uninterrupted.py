"""Loaded by each worker of a local cluster: Ctrl-C reaches all processes of a terminal, but only one handles it."""

from __future__ import annotations

import signal
from typing import Any


def dask_setup(worker: Any) -> None:
    """Ignore the interrupt; the process that started this one stops it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
