"""The named algorithms: each a subspace, a belief and a rule."""

from eigenbandits.algorithms.eigen import EigenTS, EigenUCB
from eigenbandits.algorithms.linear import CBRAP, CBSCFD, OFUL, SOFUL, LinTS, LinUCB
from eigenbandits.algorithms.pslb import PSLB, ProjectedThompson
from eigenbandits.algorithms.simple import EpsilonGreedy, Greedy, Oracle, Random, SquareCB

__all__ = [
    "CBRAP",
    "CBSCFD",
    "OFUL",
    "PSLB",
    "SOFUL",
    "EigenTS",
    "EigenUCB",
    "EpsilonGreedy",
    "Greedy",
    "LinTS",
    "LinUCB",
    "Oracle",
    "ProjectedThompson",
    "Random",
    "SquareCB",
]
