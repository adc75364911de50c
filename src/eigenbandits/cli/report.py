"""`eigenbandits report`: one self-contained page on an experiment, and its figures."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from eigenbandits.cli import options
from eigenbandits.lab.errors import LabError
from eigenbandits.lab.experiments import Results
from eigenbandits.lab.reporting.statistics import Bands, PairedTest


def command(
    folder: Annotated[
        Path,
        typer.Argument(metavar="RESULTS", help="The folder of an experiment that has been run.", show_default=False),
    ],
    to: Annotated[Path | None, typer.Option(help="The file to write.", show_default="report.html in RESULTS")] = None,
    figures: Annotated[
        Path | None,
        typer.Option(help="Also write every figure to this folder, as PNG, PDF and SVG.", show_default="none"),
    ] = None,
    bands: Annotated[Bands, typer.Option(help="What the bands in the figures are.")] = "standard error",
    test: Annotated[PairedTest, typer.Option(help="The paired test between policies.")] = "t",
) -> None:
    """Write one HTML page on an experiment: figures, intervals, paired tests, settings, how to run it again."""
    from eigenbandits.lab.reporting.figures import plots
    from eigenbandits.lab.reporting.html import write_report
    from eigenbandits.lab.reporting.renderer import save

    with options.failures(LabError):
        results = Results.open(folder)
        shown = plots(results, bands)
        typer.echo(f"Wrote {write_report(results, to, test=test, figures=shown)}")
        if figures is not None:
            paths = save(shown, figures)
            typer.echo(f"Wrote {len(paths)} figures to {figures}")
