"""`eigenbandits run`: run the cells of an experiment that are missing, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from eigenbandits.lab.experiment import Experiment
from eigenbandits.lab.results import Results
from eigenbandits.lab.tables import aligned, standard_error
from eigenbandits.lab.words import LabError


class EngineName(StrEnum):
    """Where cells run."""

    serial = "serial"
    processes = "processes"
    dask = "dask"


@contextmanager
def one_sentence() -> Iterator[None]:
    """Say what the user can mend in one sentence, with exit code 1."""
    try:
        yield
    except LabError as error:
        typer.echo(f"Error: {error}", err=True)
        raise typer.Exit(1) from None


def command(
    file: Annotated[Path, typer.Argument(help="The experiment, in TOML.", show_default=False)],
    engine: Annotated[
        EngineName, typer.Option(help="Where cells run: in this process, in several, or on a Dask cluster.")
    ] = EngineName.processes,
    workers: Annotated[
        int | None, typer.Option(help="How many processes.", show_default="one per processor", min=1)
    ] = None,
    scheduler: Annotated[
        str | None,
        typer.Option(help="Address of a Dask scheduler, such as tcp://host:8786.", show_default="a cluster here"),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder of the results.", show_default="results/NAME of the experiment")
    ] = None,
    refresh: Annotated[
        bool, typer.Option("--refresh", help="Run cells again that another state of this library's code has made.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Say only what must be known.")] = False,
) -> None:
    """Run what is missing of an experiment; stop it anywhere, and the same command goes on.

    Leaves results.parquet, timing.parquet and experiment.json in the folder of the results.
    """
    with one_sentence():
        experiment = Experiment.read(file)
        try:
            results = experiment.run(
                out,
                engine.value,
                workers=workers,
                scheduler=scheduler,
                refresh=refresh,
                progress="none" if quiet else "auto",
            )
        except KeyboardInterrupt:
            typer.echo("Stopped. Finished cells are kept; the same command goes on where this one was.", err=True)
            raise typer.Exit(130) from None
    if not quiet:
        typer.echo(f"{_summary(results)}\n\nLeft in {results.folder}; for a page about it: ", nl=False)
        typer.echo(f"eigenbandits report {results.folder}")


def _summary(results: Results) -> str:
    """Return the final regret, or reward where regret is not known, of each policy on each environment."""
    final = results.outcomes()
    rows = [[f"{e}: {results.outcome(e)}", *map(_cell, final[:, i])] for i, e in enumerate(results.environments)]
    table = aligned(["environment", *results.policies], rows)
    return f"{table}\n\nMeans at the end over {len(results.seeds)} seeds, ± standard error."


def _cell(values: object) -> str:
    import numpy as np

    numbers = np.asarray(values, dtype=np.float64)
    error = standard_error(numbers)
    return f"{numbers.mean():.1f}" + (f" ± {error:.1f}" if np.isfinite(error) else "")
