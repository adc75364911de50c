"""`eigenbandits run`: run the missing cells of an experiment, and nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from eigenbandits.cli import options
from eigenbandits.cli.runner import Runner, runs_experiments
from eigenbandits.lab.errors import LabError
from eigenbandits.lab.experiments import Experiment, Results
from eigenbandits.lab.reporting.tables import aligned, mean_with_error


@runs_experiments
def command(
    run: Runner,
    file: Annotated[Path, typer.Argument(help="The experiment, in TOML.", show_default=False)],
    out: Annotated[
        Path | None, typer.Option(help="Folder of the results.", show_default="results/NAME of the experiment")
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print only errors and warnings.")] = False,
) -> None:
    """Run the missing cells of an experiment; stop it at any time, and the same command continues.

    Writes results.parquet, timing.parquet and experiment.json to the folder of the results.
    """
    with options.failures(LabError):
        experiment = Experiment.read(file)
    results = run(experiment, out, "none" if quiet else "auto")
    if not quiet:
        typer.echo(f"{_summary(results)}\n\nResults in {results.folder}; for a report: ", nl=False)
        typer.echo(f"eigenbandits report {results.folder}")


def _summary(results: Results) -> str:
    """Return the final regret, or reward where regret is not known, of each policy on each environment."""
    final = results.outcomes()
    rows = [
        [f"{e}: {results.outcome(e)}", *(mean_with_error(values, 1) for values in final[:, i])]
        for i, e in enumerate(results.environments)
    ]
    table = aligned(["environment", *results.policies], rows)
    return f"{table}\n\nMeans at the end over {len(results.seeds)} seeds, ± standard error."
