"""Results of an experiment for other tools: a plain CSV file, or runs in MLflow."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from eigenbandits.extras import need
from eigenbandits.lab.experiments import Results
from eigenbandits.lab.reporting.tables import write_csv

_CURVES = ("regret", "reward", "accuracy", "rank", "projection_error")


def write_csv_of_rounds(results: Results, path: str | PathLike[str]) -> Path:
    """Write each recorded round as a row: experiment, policy, environment, seed, round, and a column for each curve."""
    shown = [column for column in _CURVES if results.has(column)]
    rows = []
    for policy, environment, place, seed in _runs(results):
        run = {"experiment": results.name, "policy": policy, "environment": environment, "seed": seed}
        curves = {c: results.curve(c, policy, environment) for c in shown if results.has(c, environment)}
        for at, round_ in enumerate(next(iter(curves.values())).rounds):
            values = {c: _plain(curves[c].values[place, at]) if c in curves else "" for c in shown}
            rows.append(run | {"round": int(round_)} | values)
    write_csv(path, rows)
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
    count = 0
    for policy, environment, place, seed in _runs(results):
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
        count += 1
    return count


def _runs(results: Results) -> Iterator[tuple[str, str, int, int]]:
    for policy in results.policies:
        for environment in results.environments:
            for place, seed in enumerate(results.seeds):
                yield policy, environment, place, seed


def _plain(value: float) -> str:
    return f"{value:.10g}" if np.isfinite(value) else ""
