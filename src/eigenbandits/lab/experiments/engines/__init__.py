"""Where cells run: in this process, in several, or on a cluster; the results are the same, bit for bit."""

from pathlib import Path
from typing import Literal, get_args

from eigenbandits.extras import need
from eigenbandits.inputs import whole
from eigenbandits.lab.errors import LabError, unknown
from eigenbandits.lab.experiments.engines.base import Engine, Listener, Outcome

__all__ = ["Engine", "Listener", "Outcome", "make_engine"]

EngineName = Literal["serial", "processes", "dask"]
ENGINES = get_args(EngineName)


def make_engine(name: str, scratch: Path, workers: int | None = None, scheduler: str | None = None) -> Engine:
    """Return an engine by its name.

    `scratch` is a folder for a small temporary file while cells run; the other options are those of `Experiment.run`.
    """
    if name not in ENGINES:
        raise unknown("engine", name, ENGINES)
    if scheduler is not None and name != "dask":
        raise LabError(f"scheduler is given, but the engine is {name!r}; expected the engine 'dask'.")
    need("lab", "threadpoolctl", "pyarrow", what="Running an experiment")
    count = None if workers is None else whole(workers, "workers")
    if name == "processes":
        need("lab", "joblib", what="The engine 'processes'")
        from eigenbandits.lab.experiments.engines.processes import Processes

        return Processes(scratch, count)
    if name == "dask":
        need("lab", "distributed", what="The engine 'dask'")
        from eigenbandits.lab.experiments.engines.cluster import Cluster

        return Cluster(count, scheduler)
    from eigenbandits.lab.experiments.engines.serial import Serial

    return Serial()
