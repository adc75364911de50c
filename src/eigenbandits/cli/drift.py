"""`eigenbandits drift`: worlds that change, with fixed half-lives and with memory="auto"."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from eigenbandits.cli import options
from eigenbandits.cli.runner import Runner, runs_experiments
from eigenbandits.extras import need


@runs_experiments
def command(
    run: Runner,
    seeds: Annotated[int, typer.Option(help="Number of runs, each with its own seed.", min=1)] = 5,
    first_seed: options.FirstSeed = 1000,
    rounds: Annotated[int, typer.Option(help="Rounds of each run.", min=1)] = 4000,
    out: Annotated[Path | None, typer.Option(help="Folder of the results.", show_default="results/drift")] = None,
) -> None:
    """Run EigenUCB with several half-lives where labels are permuted, tastes reverse or turn, or nothing does.

    Stop it at any time, and the same command continues.
    """
    need("digits", "sklearn", what="This study")
    from eigenbandits.lab.studies import drift

    results = run(drift.experiment(seeds, rounds, first_seed), out)
    typer.echo("\n\n".join(f"{title}\n\n{part}" for title, part in drift.sections(results).items()))
