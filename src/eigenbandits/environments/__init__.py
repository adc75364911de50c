"""Problems to try policies on: the same seed gives the same decision sets and noise to every policy."""

from eigenbandits.environments.base import Environment, Instance, Round
from eigenbandits.environments.low_rank import LowRank, LowRankInstance

__all__ = ["Environment", "Instance", "LowRank", "LowRankInstance", "Round"]
