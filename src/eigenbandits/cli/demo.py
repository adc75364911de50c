"""`eigenbandits demo`: see PSLB at work, on real images and on the paper's model, in a minute or two."""

from __future__ import annotations

from pathlib import Path

import typer

from eigenbandits.cli.options import PROCESSORS, Out, Rounds, Seeds, Workers
from eigenbandits.cli.progress import progress
from eigenbandits.cli.report import curves_of, folder, leave_comparison, model_panel
from eigenbandits.extras import MissingExtraError
from eigenbandits.lab import demo
from eigenbandits.lab.compare import compare, regret_table, summarise
from eigenbandits.lab.figures import Panel, need_matplotlib


def command(
    rounds: Rounds = demo.ROUNDS,
    seeds: Seeds = demo.SEEDS,
    out: Out = Path("demo"),
    workers: Workers = PROCESSORS,
) -> None:
    """Play PSLB, OFUL, LinTS and SOFUL on handwritten digits and on the paper's model: tables, and a figure."""
    need_matplotlib()
    folder(out)
    rows, panels = [], []
    try:
        demo.IMAGES.instance(0)
    except MissingExtraError as error:
        typer.echo(f"Real images are left out. {error}\n")
    else:
        typer.echo(demo.images_setting(rounds, seeds) + "\n")
        with progress("Playing on images") as tell:
            seen = compare(demo.IMAGES, rounds, seeds, demo.images_line_up, workers=workers, progress=tell)
        found = summarise(seen)
        rows += [{"problem": "digits"} | row for row in found]
        panels.append(
            Panel(curves_of(seen), demo.IMAGES_TITLE, "10 segments of 100 numbers per image.", "mistakes so far")
        )
        typer.echo(f"\n{regret_table(found, band=False)}\n\n{demo.images_meaning(found)}\n")
    typer.echo(demo.setting(demo.ENVIRONMENT, rounds, seeds) + "\n")
    with progress("Playing on the model") as tell:
        plays = compare(demo.ENVIRONMENT, rounds, seeds, demo.line_up, workers=workers, progress=tell)
    found = summarise(plays)
    rows += [{"problem": "model"} | row for row in found]
    panels.append(model_panel(demo.ENVIRONMENT, plays))
    typer.echo(f"\n{regret_table(found, band=False)}\n\n{demo.meaning(found, demo.ENVIRONMENT)}\n\n{demo.COLUMNS}\n")
    leave_comparison(out, rows, *panels)
