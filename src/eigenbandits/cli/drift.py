"""`eigenbandits drift`: environments that change, with fixed half-lives and with memory="auto"."""

from __future__ import annotations

from pathlib import Path

import typer

from eigenbandits.cli import options
from eigenbandits.cli.runner import Runner, runs_experiments
from eigenbandits.extras import need


@runs_experiments
def command(
    run: Runner,
    seeds: options.Seeds = 5,
    first_seed: options.FirstSeed = 1000,
    rounds: options.Rounds = 4000,
    out: options.Out = Path("results/drift"),
) -> None:
    """Run EigenUCB with several half-lives where labels are permuted, tastes reverse or turn, or nothing does.

    Stop it at any time, and the same command continues.
    """
    need("digits", "sklearn", what="This study")
    from eigenbandits.lab.studies import drift

    results = run(drift.experiment(seeds, rounds, first_seed), out)
    typer.echo("\n\n".join(f"{title}\n\n{part}" for title, part in drift.sections(results).items()))
