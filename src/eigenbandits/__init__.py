"""Bandits that find the low-dimensional subspace in which deep features live, and explore only there."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from eigenbandits import belief, environments, features, offpolicy, rules, subspace, theory
from eigenbandits.algorithms import (
    CBRAP,
    CBSCFD,
    OFUL,
    PSLB,
    SOFUL,
    EigenTS,
    EigenUCB,
    EpsilonGreedy,
    Greedy,
    LinTS,
    LinUCB,
    Oracle,
    ProjectedThompson,
    Random,
    SquareCB,
)
from eigenbandits.backends import follow_environment, get_backend, set_backend
from eigenbandits.fitting import fit
from eigenbandits.lab.experiments.run import Trace, run
from eigenbandits.policy import Decision, Diagnostics, ListDecision, Policy
from eigenbandits.policy.carryover import Translation
from eigenbandits.policy.files import load
from eigenbandits.theory import Structure
from eigenbandits.wrappers.budgeted import Budgeted
from eigenbandits.wrappers.guarded import Guarded

if TYPE_CHECKING:
    from eigenbandits import testing
    from eigenbandits.lab.experiments import Experiment
    from eigenbandits.lab.studies.audit import Audit, audit

__version__ = "0.2.0"

__all__ = [
    "CBRAP",
    "CBSCFD",
    "OFUL",
    "PSLB",
    "SOFUL",
    "Audit",
    "Budgeted",
    "Decision",
    "Diagnostics",
    "EigenTS",
    "EigenUCB",
    "EpsilonGreedy",
    "Experiment",
    "Greedy",
    "Guarded",
    "LinTS",
    "LinUCB",
    "ListDecision",
    "Oracle",
    "Policy",
    "ProjectedThompson",
    "Random",
    "SquareCB",
    "Structure",
    "Trace",
    "Translation",
    "audit",
    "belief",
    "environments",
    "features",
    "fit",
    "get_backend",
    "load",
    "offpolicy",
    "rules",
    "run",
    "set_backend",
    "subspace",
    "testing",
    "theory",
]


def __getattr__(name: str) -> Any:
    """Load the lab, the audit and the checks only on demand: choosing and learning need none of them."""
    if name == "Experiment":
        from eigenbandits.lab.experiments import Experiment

        return Experiment
    if name == "testing":
        return import_module("eigenbandits.testing")
    if name in ("Audit", "audit"):
        from eigenbandits.lab.studies import audit

        return getattr(audit, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


follow_environment()
