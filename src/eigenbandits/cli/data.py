"""`eigenbandits data`: fetch the public datasets, and show which are available."""

from pathlib import Path
from typing import Annotated

import typer

from eigenbandits.cli import options

commands = options.group("Fetch public datasets, and show which are available.")


@commands.command()
def fetch(
    name: Annotated[
        str,
        typer.Argument(
            help="mnist, cifar10, one of the problems that `eigenbandits problems` runs, or all of them: problems.",
            show_default=False,
        ),
    ],
    to: Annotated[
        Path | None,
        typer.Option(help="Folder of the raw data.", show_default="EIGENBANDITS_DATA, or a folder in the user's cache"),
    ] = None,
) -> None:
    """Fetch a dataset from its public source. Stop it at any time, and the same command continues."""
    from eigenbandits.lab.downloads import fetch as fetch_source
    from eigenbandits.lab.studies.problems import fetch as problems
    from eigenbandits.papers.lale2019.datasets import sources

    with options.failures(ValueError, OSError):
        if name in (problems.ALL, *problems.FETCHED):
            problems.fetch(name, to, typer.echo)
        else:
            fetch_source(sources.known(name, (problems.ALL, *problems.FETCHED)), to, typer.echo)


@commands.command()
def status(data: options.Data = None) -> None:
    """Show which datasets are available and complete, and where."""
    from eigenbandits.lab.studies.problems.catalogue import state
    from eigenbandits.papers.lale2019.datasets.sources import states

    with options.failures(ValueError, OSError):
        for line in (*states(data), state(data)):
            typer.echo(line)
