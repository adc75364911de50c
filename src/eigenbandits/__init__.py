"""Bandits that find the low-dimensional subspace in which deep features live, and explore only there."""

from typing import TYPE_CHECKING, Any

from eigenbandits import belief, compiled, environments, features, rules, subspace, theory
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
from eigenbandits.diagnostics import Diagnostics
from eigenbandits.files import load
from eigenbandits.lab.run import Trace, run
from eigenbandits.policy import Decision, Policy
from eigenbandits.theory import Structure

if TYPE_CHECKING:
    from eigenbandits.auditing import Audit, audit
    from eigenbandits.lab.experiment import Experiment

__version__ = "0.1.0"

__all__ = [
    "CBRAP",
    "CBSCFD",
    "OFUL",
    "PSLB",
    "SOFUL",
    "Audit",
    "Decision",
    "Diagnostics",
    "EpsilonGreedy",
    "Experiment",
    "Greedy",
    "LinTS",
    "LinUCB",
    "Oracle",
    "Policy",
    "ProjectedThompson",
    "Random",
    "Structure",
    "Trace",
    "audit",
    "belief",
    "compiled",
    "environments",
    "features",
    "load",
    "rules",
    "run",
    "subspace",
    "theory",
]


def __getattr__(name: str) -> Any:
    """Load the lab and the audit only when they are asked for: choosing and learning need none of them."""
    if name == "Experiment":
        from eigenbandits.lab.experiment import Experiment

        return Experiment
    if name in ("Audit", "audit"):
        from eigenbandits import auditing

        return getattr(auditing, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


compiled.use_if_asked()
