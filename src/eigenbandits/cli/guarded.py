"""`eigenbandits guarded`: how often a guarded policy breaks its promise to the baseline, and what the guard costs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from eigenbandits.cli import options
from eigenbandits.cli.runner import Runner, runs_experiments
from eigenbandits.environments import LowRank


@runs_experiments
def command(
    run: Runner,
    dim: options.Dim = 20,
    rank: options.Rank = 4,
    arms: options.Arms = 10,
    perturbation: options.Perturbation = 1.0,
    noise: options.Noise = 0.3,
    alpha: Annotated[float, typer.Option(help="α, the share of the baseline's reward that may be put at risk.")] = 0.1,
    delta: Annotated[float, typer.Option(help="δ, the probability with which the promise may be broken.")] = 0.01,
    rounds: options.Rounds = 2000,
    seeds: options.Seeds = 200,
    first_seed: options.FirstSeed = 1000,
    out: options.Out = Path("results/guarded"),
) -> None:
    """Run a guarded policy from fair and adversarial starts, and count the promises that it breaks."""
    from eigenbandits.lab.studies import guarded

    with options.refusals():
        environment = LowRank(dim, rank, arms, perturbation=perturbation, noise=noise)
        experiment = guarded.experiment(environment, rounds, seeds, alpha, delta, first_seed)
    rows = guarded.summarize(run(experiment, out), delta)
    typer.echo(
        f"{environment.name}, α = {alpha:g}, δ = {delta:g}, {seeds} runs of {rounds:,} rounds for each start\n\n"
        f"{guarded.report(rows)}"
    )
