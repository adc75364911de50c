"""`eigenbandits calibrate`: the effect of a constant of the library on the measurements that it was chosen by."""

from __future__ import annotations

from typing import Annotated

import typer

from eigenbandits.cli import options
from eigenbandits.extras import need
from eigenbandits.lab.errors import LabError


def command(
    constant: Annotated[str, typer.Argument(help="Its name; without one, their names.", show_default="list")] = "",
    values: Annotated[list[float] | None, typer.Option("--value", help="A value to try; may be repeated.")] = None,
    seeds: options.Seeds = 3,
    first_seed: options.FirstSeed = 0,
) -> None:
    """Try other values of a calibrated constant, and print what each leads to.

    Seeds below 100 are for choosing; what the documentation reports comes from seeds of 1000 and up.
    """
    need("lab", "pyarrow", what="This study")
    need("digits", "sklearn", what="This study")
    from eigenbandits.lab.studies import calibrate

    if not constant:
        for name, known in calibrate.CONSTANTS.items():
            what = (known.measure.__doc__ or "").splitlines()[0].removeprefix("Return ")
            typer.echo(f"{name:12} {known.current:<5g} {what}")
        return
    with options.failures(LabError):
        typer.echo(calibrate.table(constant, values or [], range(first_seed, first_seed + seeds)))
