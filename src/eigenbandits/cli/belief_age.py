"""`eigenbandits belief-age`: regret by the age of the belief that deciders choose by."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from eigenbandits.cli import options
from eigenbandits.cli.runner import Runner, runs_experiments


@runs_experiments
def command(
    run: Runner,
    rate: Annotated[int, typer.Option(help="Decisions per second.", min=1)] = 100,
    age: Annotated[list[float] | None, typer.Option(help="Seconds between two publications.", min=0.0)] = None,
    seeds: options.Seeds = 5,
    first_seed: options.FirstSeed = 1000,
    rounds: options.Rounds = 6000,
    out: options.Out = Path("results/belief-age"),
) -> None:
    """Run EigenUCB and EigenTS with a belief that is published every 0 (the newest), 1 and 10 seconds.

    Stop it at any time, and the same command continues.
    """
    from eigenbandits.lab.studies import belief_age

    results = run(belief_age.experiment(rate, age or [0.0, 1.0, 10.0], seeds, rounds, first_seed), out)
    typer.echo(f"Regret after {rounds:,} rounds at {rate} per second, mean over {seeds} seeds ± standard error\n")
    typer.echo(belief_age.table(results))
