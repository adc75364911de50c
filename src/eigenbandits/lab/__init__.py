"""Running policies on environments and keeping what happened."""

from eigenbandits.lab.run import Trace, run

__all__ = ["Trace", "run"]
