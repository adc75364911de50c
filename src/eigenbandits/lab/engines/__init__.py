"""Where cells are run: in this process, in many, or on a cluster; the results are the same, bit for bit."""

from eigenbandits.lab.engines.base import Engine, Job, Listener, Outcome, make_engine

__all__ = ["Engine", "Job", "Listener", "Outcome", "make_engine"]
