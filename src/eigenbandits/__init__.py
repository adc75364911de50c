"""Bandits that find the low-dimensional subspace in which deep features live, and explore only there."""

from eigenbandits import belief, environments, rules, subspace, theory
from eigenbandits.algorithms import (
    CBRAP,
    CBSCFD,
    OFUL,
    PSLB,
    SOFUL,
    EpsilonGreedy,
    Greedy,
    LinTS,
    LinUCB,
    Oracle,
    ProjectedThompson,
    Random,
)
from eigenbandits.files import load
from eigenbandits.lab.run import Trace, run
from eigenbandits.policy import Decision, Policy
from eigenbandits.theory import Structure

__version__ = "0.1.0"

__all__ = [
    "CBRAP",
    "CBSCFD",
    "OFUL",
    "PSLB",
    "SOFUL",
    "Decision",
    "EpsilonGreedy",
    "Greedy",
    "LinTS",
    "LinUCB",
    "Oracle",
    "Policy",
    "ProjectedThompson",
    "Random",
    "Structure",
    "Trace",
    "belief",
    "environments",
    "load",
    "rules",
    "run",
    "subspace",
    "theory",
]
