"""`eigenbandits audit`: what a set of vectors shows, and which policy to start with."""

from pathlib import Path
from typing import Annotated

import typer

from eigenbandits.cli import options
from eigenbandits.extras import need
from eigenbandits.files import write_whole


def command(
    file: Annotated[
        Path, typer.Argument(help="Vectors, (n, d) or (t, K, d), in .npy, .npz or .parquet.", show_default=False)
    ],
    png: Annotated[Path | None, typer.Option(help="Also draw the audit to this file.", show_default="none")] = None,
    array: Annotated[
        str | None, typer.Option(help="The array or column, if the file has several.", show_default="the only one")
    ] = None,
    arms: options.Arms = 10,
    rounds: options.Rounds = 300,
    seeds: Annotated[int, typer.Option(help="How many random θ* are tried in each place.", min=2)] = 4,
    no_gain: Annotated[
        bool, typer.Option("--no-gain", help="Skip the simulation, which takes most of the time.")
    ] = False,
) -> None:
    """Report on one page what vectors show: spectrum, rank, projection error, and which policy loses least on them."""
    from eigenbandits.lab.studies.audit import audit

    if png is not None:
        need("plot", "matplotlib", what="Drawing a figure")
    with options.refusals():
        found = audit(file, arms=arms, rounds=rounds, seeds=seeds, gain=not no_gain, name=array)
    typer.echo(str(found))
    if png is not None:
        from eigenbandits.lab.reporting.renderer import to_bytes
        from eigenbandits.lab.studies.audit.figures import overview

        write_whole(png, to_bytes(overview(found), "png"))
        typer.echo(f"\nWrote {png}")
