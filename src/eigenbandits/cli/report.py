"""The files that commands leave behind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import typer

from eigenbandits.environments import LowRank
from eigenbandits.inputs import Array
from eigenbandits.lab.compare import Play
from eigenbandits.lab.figures import Panel, regret_figure
from eigenbandits.lab.tables import write_csv


def folder(path: Path) -> None:
    """Make a folder before anything is run, so that nothing is run in vain."""
    try:
        path.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=path):
            pass
    except OSError as error:
        reason = str(error.strerror).lower()
        raise typer.BadParameter(f"{path} cannot be written to ({reason}); give another folder with --out.") from error


def leave_comparison(path: Path, rows: Sequence[Mapping[str, Any]], *panels: Panel) -> None:
    """Leave the regret figure and the table of a comparison, and say where."""
    figure, table = path / "regret.png", path / "regret.csv"
    regret_figure(figure, *panels)
    write_csv(table, rows)
    typer.echo(f"Wrote {figure} and {table}")


def model_panel(environment: LowRank, plays: Mapping[str, Sequence[Play]]) -> Panel:
    """Return the panel of a comparison on the paper's model."""
    return Panel(
        curves_of(plays),
        title=f"Regret with a hidden subspace: {environment.rank} of {environment.dim} dimensions matter",
        subtitle=f"{environment.arms} actions per round, perturbation {environment.perturbation:g} × signal.",
    )


def curves_of(plays: Mapping[str, Sequence[Play]]) -> dict[str, list[Array]]:
    """Return the regret curves of each policy."""
    return {name: [play.regret for play in played] for name, played in plays.items()}
