"""Problems to try policies on: the same seed gives the same decision sets and noise to every policy."""

from eigenbandits.environments.base import Environment, Instance, Round
from eigenbandits.environments.classification import Classification, ClassificationInstance
from eigenbandits.environments.digits import Digits
from eigenbandits.environments.images import Images, ImagesInstance
from eigenbandits.environments.log import Log
from eigenbandits.environments.low_rank import LowRank, LowRankInstance
from eigenbandits.environments.offpolicy import Estimate
from eigenbandits.environments.replay import LoggedRound, Replay, ReplayInstance

__all__ = [
    "Classification",
    "ClassificationInstance",
    "Digits",
    "Environment",
    "Estimate",
    "Images",
    "ImagesInstance",
    "Instance",
    "Log",
    "LoggedRound",
    "LowRank",
    "LowRankInstance",
    "Replay",
    "ReplayInstance",
    "Round",
]
