"""`eigenbandits demo`: see EigenUCB at work, on real images and on the paper's model, in a minute or two."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from eigenbandits.cli import options
from eigenbandits.cli.runner import Runner, runs_experiments, wrote
from eigenbandits.extras import MissingExtraError
from eigenbandits.lab.studies import demo


@runs_experiments
def command(
    run: Runner,
    rounds: options.Rounds = demo.ROUNDS,
    seeds: options.Seeds = demo.SEEDS,
    out: options.Out = Path("demo"),
) -> None:
    """Run EigenUCB, PSLB, OFUL, LinUCB and LinTS on handwritten digits and on the paper's model: tables, a figure."""
    from eigenbandits.lab.reporting.figures import write_regret
    from eigenbandits.lab.reporting.tables import write_csv
    from eigenbandits.lab.studies.compare import regret_table, rows

    images = True
    try:
        demo.IMAGES.instance(0)
    except MissingExtraError as error:
        images = False
        typer.echo(f"Skipping real images. {error}\n")
    results = run(demo.experiment(rounds, seeds, images=images), out)
    written: list[dict[str, Any]] = []
    for problem in results.environments:
        found = rows(results, problem)
        written += [{"problem": problem} | row for row in found]
        digits = problem == "digits"
        setting = (demo.images_setting if digits else demo.setting)(rounds, seeds)
        meaning = (demo.images_meaning if digits else demo.meaning)(found)
        typer.echo(f"\n{setting}\n\n{regret_table(found, band=False)}\n\n{meaning}")
    typer.echo(f"\n{demo.COLUMNS}")
    write_csv(out / "regret.csv", written)
    wrote([write_regret(results, out, demo.TITLES), out / "regret.csv"])
