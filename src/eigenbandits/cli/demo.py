"""`eigenbandits demo`: see PSLB at work in less than a minute."""

from __future__ import annotations

from pathlib import Path

import typer

from eigenbandits.cli.options import PROCESSORS, Out, Rounds, Seeds, Workers
from eigenbandits.cli.progress import progress
from eigenbandits.cli.report import folder, leave_comparison
from eigenbandits.lab import demo
from eigenbandits.lab.compare import compare, regret_table, summarise
from eigenbandits.lab.figures import need_matplotlib


def command(
    rounds: Rounds = demo.ROUNDS,
    seeds: Seeds = demo.SEEDS,
    out: Out = Path("demo"),
    workers: Workers = PROCESSORS,
) -> None:
    """Play PSLB, OFUL, LinTS and SOFUL on the paper's model: a table, and a regret figure."""
    need_matplotlib()
    folder(out)
    typer.echo(demo.setting(demo.ENVIRONMENT, rounds, seeds) + "\n")
    with progress("Playing") as tell:
        plays = compare(demo.ENVIRONMENT, rounds, seeds, demo.line_up, workers=workers, progress=tell)
    rows = summarise(plays)
    typer.echo(f"\n{regret_table(rows, band=False)}\n\n{demo.COLUMNS}\n\n{demo.meaning(rows, demo.ENVIRONMENT)}\n")
    leave_comparison(out, plays, rows, demo.ENVIRONMENT)
