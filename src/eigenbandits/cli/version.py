"""`eigenbandits --version`: what a bug report should name."""

from __future__ import annotations

import platform
from typing import Annotated

import typer

import eigenbandits


def _print(wanted: bool) -> None:
    if wanted:
        typer.echo(f"eigenbandits {eigenbandits.__version__}, Python {platform.python_version()}")
        raise typer.Exit


def options(
    version: Annotated[
        bool, typer.Option("--version", help="Print the versions, and exit.", callback=_print, is_eager=True)
    ] = False,
) -> None:
    """Linear bandits that find the subspace in which the actions live, and explore only there."""
