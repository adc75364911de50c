"""Results of an experiment for other tools: a plain CSV file, or runs in MLflow."""

from importlib import import_module
from itertools import product
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from eigenbandits.extras import need
from eigenbandits.lab.experiments import Results
from eigenbandits.lab.experiments.parquet import KEYS
from eigenbandits.lab.reporting.tables import write_csv

_CURVES = ("regret", "reward", "accuracy", "rank", "projection_error")


def write_csv_of_rounds(results: Results, path: str | PathLike[str]) -> Path:
    """Write each recorded round as a row: experiment, policy, environment, seed, round, and a column for each curve."""
    write_csv(path, results.found.select([*KEYS, *filter(results.has, _CURVES)]).to_pylist())
    return Path(path)


def log_to_mlflow(results: Results, *, uri: str | None = None, mlflow: Any = None) -> int:
    """Log each cell as one MLflow run: its settings as parameters, its curves as metrics by round; return how many.

    Runs are named by policy, environment and seed, in an MLflow experiment with the name of this one. Needs the extra
    `mlflow`.

    Parameters
    ----------
    results
        What `Experiment.run` returned.
    uri
        MLflow's tracking address; None for the one that it is set to.
    mlflow
        The module to use; by default the installed one.
    """
    if mlflow is None:
        need("mlflow", "mlflow", what="Logging to MLflow")
        mlflow = import_module("mlflow")
    if uri is not None:
        mlflow.set_tracking_uri(uri)
    mlflow.set_experiment(results.name)
    settings = results.about["settings"]
    runs = product(results.policies, results.environments, enumerate(results.seeds))
    for policy, environment, (place, seed) in runs:
        with mlflow.start_run(run_name=f"{policy} on {environment}, seed {seed}"):
            mlflow.set_tags({"policy": policy, "environment": environment})
            mlflow.log_params({"seed": seed, "rounds": settings["rounds"]})
            mlflow.log_params({f"policy.{name}": value for name, value in settings["policies"][policy].items()})
            places = settings["environments"][environment]
            mlflow.log_params({f"environment.{name}": value for name, value in places.items()})
            for column in (one for one in _CURVES if results.has(one, environment)):
                curve = results.curve(column, policy, environment)
                for round_, value in zip(curve.rounds, curve.values[place], strict=True):
                    if np.isfinite(value):
                        mlflow.log_metric(column, float(value), step=int(round_))
    return len(results.policies) * len(results.environments) * len(results.seeds)
