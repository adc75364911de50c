"""Run policies on environments: single runs, experiments that can be resumed, reports, and studies."""

from typing import TYPE_CHECKING, Any

from eigenbandits.lab.experiments.run import Trace, run

if TYPE_CHECKING:
    from eigenbandits.lab.experiments import Experiment, Record, Results
    from eigenbandits.lab.reporting.html import write_report

__all__ = ["Experiment", "Record", "Results", "Trace", "run", "write_report"]


def __getattr__(name: str) -> Any:
    """Load what experiments need only when it is used: the core works without it."""
    places = {
        "Experiment": "experiments.experiment",
        "Record": "experiments.recording",
        "Results": "experiments.results",
        "write_report": "reporting.html",
    }
    if name not in places:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"eigenbandits.lab.{places[name]}"), name)
