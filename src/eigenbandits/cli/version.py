"""`eigenbandits --version`: what a report of an error should name."""

from __future__ import annotations

from typing import Annotated

import typer

from eigenbandits.cli import versions


def _print(wanted: bool) -> None:
    if wanted:
        typer.echo(versions())
        raise typer.Exit


def options(
    version: Annotated[
        bool, typer.Option("--version", help="Print the versions and leave.", callback=_print, is_eager=True)
    ] = False,
) -> None:
    """Linear bandits that find the subspace in which the actions live, and explore only there."""
