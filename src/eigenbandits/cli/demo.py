"""`eigenbandits demo`: see EigenUCB at work, on real images and on the paper's model, in a minute or two."""

from __future__ import annotations

from pathlib import Path

import typer

from eigenbandits.cli.options import PROCESSORS, Out, Rounds, Seeds, Workers
from eigenbandits.cli.progress import progress
from eigenbandits.cli.report import curves_of, folder, leave_comparison, model_panel
from eigenbandits.environments import Environment
from eigenbandits.extras import MissingExtraError
from eigenbandits.lab import demo
from eigenbandits.lab.compare import LineUp, Play, compare, regret_table, summarize
from eigenbandits.lab.figures import Panel, need_matplotlib


def command(
    rounds: Rounds = demo.ROUNDS,
    seeds: Seeds = demo.SEEDS,
    out: Out = Path("demo"),
    workers: Workers = PROCESSORS,
) -> None:
    """Play EigenUCB, PSLB, OFUL, LinUCB and LinTS on handwritten digits and on the paper's model: tables, a figure."""
    need_matplotlib()
    folder(out)
    rows, panels = [], []

    def play(environment: Environment, line_up: LineUp, words: str) -> dict[str, list[Play]]:
        with progress(words) as tell:
            return compare(environment, rounds, seeds, line_up, (), workers, tell, demo.FIRST_SEED)

    try:
        demo.IMAGES.instance(0)
    except MissingExtraError as error:
        typer.echo(f"Real images are left out. {error}\n")
    else:
        typer.echo(demo.images_setting(rounds, seeds) + "\n")
        seen = play(demo.IMAGES, demo.images_line_up, "Playing on images")
        found = summarize(seen)
        rows += [{"problem": "digits"} | row for row in found]
        panels.append(
            Panel(curves_of(seen), demo.IMAGES_TITLE, "10 segments of 100 numbers per image.", "mistakes so far")
        )
        typer.echo(f"\n{regret_table(found, band=False)}\n\n{demo.images_meaning(found)}\n")
    typer.echo(demo.setting(demo.ENVIRONMENT, rounds, seeds) + "\n")
    plays = play(demo.ENVIRONMENT, demo.line_up, "Playing on the model")
    found = summarize(plays)
    rows += [{"problem": "model"} | row for row in found]
    panels.append(model_panel(demo.ENVIRONMENT, plays))
    typer.echo(f"\n{regret_table(found, band=False)}\n\n{demo.meaning(found, demo.ENVIRONMENT)}\n\n{demo.COLUMNS}\n")
    leave_comparison(out, rows, *panels)
