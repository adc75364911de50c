"""Running policies on environments, and experiments that run, resume, scale and explain themselves."""

from typing import TYPE_CHECKING, Any

from eigenbandits.lab.run import Trace, run

if TYPE_CHECKING:
    from eigenbandits.lab.experiment import Experiment
    from eigenbandits.lab.recording import Record
    from eigenbandits.lab.results import Results

__all__ = ["Experiment", "Record", "Results", "Trace", "run"]


def __getattr__(name: str) -> Any:
    """Load what experiments need only when it is asked for: the core works without it."""
    places = {"Experiment": "experiment", "Record": "recording", "Results": "results"}
    if name not in places:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"eigenbandits.lab.{places[name]}"), name)
