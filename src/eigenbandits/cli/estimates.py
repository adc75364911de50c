"""`eigenbandits estimates`: which rank and which projection error the vectors alone suggest, beside the truth."""

from __future__ import annotations

from typing import Annotated

import typer

from eigenbandits.cli import options
from eigenbandits.cli.progress import progress
from eigenbandits.lab.jobs import spread


def command(
    seeds: options.Seeds = 20,
    first_seed: Annotated[int, typer.Option(help="The first seed.", min=0)] = 0,
    workers: options.Workers = options.PROCESSORS,
) -> None:
    """Compare rules that estimate the rank, and two estimates of the projection error, with the truth."""
    from eigenbandits.lab import estimates

    jobs = [(case, seed) for case in estimates.cases() for seed in range(first_seed, first_seed + seeds)]
    with progress("Looking") as tell:
        sights = spread(estimates.look, jobs, workers, tell)
    rounds = " / ".join(f"{moment:,}" for moment in estimates.MOMENTS)
    setting = f"after {rounds} rounds of {estimates.ARMS} vectors with d = {estimates.DIM}, medians of {seeds} seeds"
    typer.echo(f"Rank, {setting}\n\n{estimates.rank_table(sights)}\n")
    typer.echo(
        f"Projection error ‖P̂ − P‖₂ with the true rank told, {setting}; the share is of all moments and seeds, "
        f"in the last column of the runs in any round of which the truth exceeded the spectral estimate\n\n"
        f"{estimates.error_table(sights)}"
    )
