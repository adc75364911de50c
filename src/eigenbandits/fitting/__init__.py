"""Learning from logs of any length: map over shards, then merge."""

from eigenbandits.fitting.map_reduce import fit

__all__ = ["fit"]
