"""`eigenbandits estimates`: the rank and the projection error that vectors alone suggest, compared with the truth."""

from __future__ import annotations

from pathlib import Path

import typer

from eigenbandits.cli import options
from eigenbandits.cli.runner import Runner, runs_experiments


@runs_experiments
def command(
    run: Runner,
    seeds: options.Seeds = 20,
    first_seed: options.FirstSeed = 0,
    out: options.Out = Path("results/estimates"),
) -> None:
    """Compare rules that estimate the rank, and two estimates of the projection error, with the truth."""
    from eigenbandits.lab.studies import estimates

    results = run(estimates.experiment(seeds, first_seed), out)
    rounds = " / ".join(f"{moment:,}" for moment in estimates.MOMENTS)
    setting = f"after {rounds} rounds of {estimates.ARMS} vectors with d = {estimates.DIM}, medians of {seeds} seeds"
    typer.echo(f"Rank, {setting}\n\n{estimates.rank_table(results)}\n")
    typer.echo(
        f"Projection error ‖P̂ − P‖₂ with the true rank, {setting}; shares are of all moments and seeds, in the last "
        f"column of the runs in any round of which the truth exceeded the spectral estimate\n\n"
        f"{estimates.error_table(results)}"
    )
