"""`eigenbandits coverage`: how often the truth leaves the confidence sets, compared with what the theorems allow."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from eigenbandits.cli import options
from eigenbandits.cli.runner import LowRankOptions, Runner, runs_experiments, write_table


@runs_experiments
def command(
    run: Runner,
    model: LowRankOptions,
    rounds: options.Rounds = 1000,
    seeds: options.Seeds = 200,
    delta: Annotated[float, typer.Option(help="δ, the probability of failure that each bound allows.")] = 0.05,
    vectors: options.Vectors = "sphere",
    certified: Annotated[
        bool,
        typer.Option("--certified", help="Measure the certified set, also where decision sets follow the rewards."),
    ] = False,
    out: Annotated[
        Path | None, typer.Option(help="Folder of the results.", show_default="results/coverage, or coverage-certified")
    ] = None,
) -> None:
    """Count the runs in which θ* or the subspace ever leaves a confidence set, and measure how loose the sets are."""
    from eigenbandits.lab.studies import certified as certified_study
    from eigenbandits.lab.studies import coverage

    environment = model.environment(vectors=vectors)
    with options.refusals():
        study = certified_study if certified else coverage
        experiment = study.experiment(environment, rounds, seeds, delta)
    results = run(experiment, out)
    typer.echo(f"{environment.name}, {seeds} runs of {rounds:,} rounds, δ = {delta:g}", nl=False)
    if certified:
        rows = certified_study.summarize(results, delta)
        typer.echo(f", for each kind of decision sets\n\n{certified_study.report(rows)}")
    else:
        rows = coverage.summarize(results, delta)
        typer.echo(f"\n\n{coverage.report(environment, delta, results, rows)}")
    write_table(results.folder / f"{experiment.name}.csv", rows)
