"""Problems to try policies on: the same seed gives the same decision sets and noise to every policy."""

from eigenbandits.environments.base import Environment, Instance, Round
from eigenbandits.environments.classification import Classification, ClassificationInstance
from eigenbandits.environments.digits import Digits
from eigenbandits.environments.lists import ListInstance, ListRound, Lists
from eigenbandits.environments.low_rank import LowRank, LowRankInstance
from eigenbandits.environments.replay import LoggedRound, Replay, ReplayInstance
from eigenbandits.offpolicy import Log

__all__ = [
    "Classification",
    "ClassificationInstance",
    "Digits",
    "Environment",
    "Instance",
    "ListInstance",
    "ListRound",
    "Lists",
    "Log",
    "LoggedRound",
    "LowRank",
    "LowRankInstance",
    "Replay",
    "ReplayInstance",
    "Round",
]
