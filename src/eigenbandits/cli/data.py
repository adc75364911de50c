"""`eigenbandits data`: fetch the public datasets, and say what lies where."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

DataOption = Annotated[
    Path | None,
    typer.Option(
        "--data", help="Folder of the raw data.", show_default="EIGENBANDITS_DATA, or one in the user's cache"
    ),
]


@contextmanager
def mendable() -> Iterator[None]:
    """Say what the user can mend in one sentence, with exit code 1."""
    try:
        yield
    except (ValueError, OSError) as error:
        typer.echo(f"Error: {error}", err=True)
        raise typer.Exit(1) from None


def fetch(
    name: Annotated[
        str,
        typer.Argument(
            help="mnist, cifar10, one of the problems that `eigenbandits problems` plays, or all of them: problems.",
            show_default=False,
        ),
    ],
    to: Annotated[
        Path | None,
        typer.Option(help="Folder of the raw data.", show_default="EIGENBANDITS_DATA, or one in the user's cache"),
    ] = None,
) -> None:
    """Fetch a dataset from its public source; stop it anywhere, and the same command goes on."""
    from eigenbandits.datasets import fetch as fetching
    from eigenbandits.lab.problems import fetching as problems

    with mendable():
        if name in (problems.ALL, *problems.FETCHED):
            problems.fetch(name, to, typer.echo)
        else:
            fetching.fetch(fetching.known(name, (problems.ALL, *problems.FETCHED)), to, typer.echo)


def status(data: DataOption = None) -> None:
    """Say which datasets are there, where, and whether they are whole."""
    from eigenbandits.datasets.status import states
    from eigenbandits.lab.problems.catalogue import state

    with mendable():
        for line in (*states(data), state(data)):
            typer.echo(line)


def app() -> typer.Typer:
    """Return the command and what follows it."""
    made = typer.Typer(help="Fetch public datasets, and say what lies where.", no_args_is_help=True)
    made.command("fetch")(fetch)
    made.command("status")(status)
    return made
