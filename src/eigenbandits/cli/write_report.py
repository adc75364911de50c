"""`eigenbandits report`: one self-contained page about an experiment, and its figures."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from eigenbandits.cli.run import one_sentence
from eigenbandits.lab.results import Results


class Bands(StrEnum):
    """What the bands in the figures are."""

    standard_error = "standard error"
    bootstrap = "bootstrap"


class PairedTest(StrEnum):
    """The test between policies."""

    t = "t"
    wilcoxon = "wilcoxon"


def command(
    folder: Annotated[
        Path, typer.Argument(metavar="RESULTS", help="The folder of an experiment that has run.", show_default=False)
    ],
    to: Annotated[Path | None, typer.Option(help="Where the page goes.", show_default="report.html in RESULTS")] = None,
    figures: Annotated[
        Path | None, typer.Option(help="Leave every figure here too, as PNG, PDF and SVG.", show_default="none")
    ] = None,
    bands: Annotated[Bands, typer.Option(help="What the bands in the figures are.")] = Bands.standard_error,
    test: Annotated[PairedTest, typer.Option(help="The paired test between policies.")] = PairedTest.t,
) -> None:
    """Write one HTML page about an experiment: figures, intervals, paired tests, settings, how to run it again."""
    from eigenbandits.lab import drawing, plots
    from eigenbandits.lab.report import write_report

    with one_sentence():
        results = Results.open(folder)
        made = plots.all_figures(results, bands.value)
        typer.echo(f"Written: {write_report(results, to, test=test.value, figures=made)}")
        if figures is not None:
            paths = drawing.save(made, figures)
            typer.echo(f"Written: {len(paths)} figures in {figures}")
