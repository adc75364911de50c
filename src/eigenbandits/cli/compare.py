"""`eigenbandits compare`: EigenUCB and PSLB in its forms compared with all baselines, with bands over seeds."""

from __future__ import annotations

from inspect import signature
from pathlib import Path
from typing import Annotated

import typer

from eigenbandits.algorithms import PSLB
from eigenbandits.cli import options
from eigenbandits.cli.runner import LowRankOptions, Runner, runs_experiments, wrote


@runs_experiments
def command(
    run: Runner,
    model: LowRankOptions,
    rounds: options.Rounds = 2000,
    seeds: options.Seeds = 20,
    first_seed: options.FirstSeed = 1000,
    only: Annotated[list[str] | None, typer.Option(help="Run this policy only; may be repeated.")] = None,
    out: options.Out = Path("results/compare"),
) -> None:
    """Compare EigenUCB, and PSLB in its forms, with every baseline: a table, and a regret figure."""
    from eigenbandits.lab.reporting.figures import write_regret
    from eigenbandits.lab.reporting.tables import write_csv
    from eigenbandits.lab.studies import compare
    from eigenbandits.lab.studies.coverage import warm_up

    environment = model.environment()
    with options.refusals():
        experiment = compare.experiment(environment, rounds, seeds, only or (), first_seed)
    typer.echo(f"{environment.name}, noise {model.noise:g}, {rounds:,} rounds, {seeds} seeds\n")
    results = run(experiment, out)
    rows = compare.rows(results, "model")
    delta = signature(PSLB).parameters["delta"].default
    typer.echo(
        f"\n{compare.regret_table(rows)}\n\n"
        "EigenUCB and EigenTS: nothing set. PSLB: the true noise; rank known: the true m as well; sharp radius, "
        "ε estimated.\n"
        "OFUL: with its log-determinant radius and λ = 1; tuned: λ = R²d/S², S one over the size of the vectors.\n"
        "paper: ε, β and Ω as in the paper, whose ε is 1 for the first "
        f"t_w = {warm_up(environment, delta):,.0f} rounds.\n"
        "regret: mean over seeds, ± its standard error, and its 95 % bootstrap band.\n"
        "share of best: expected reward earned out of the best possible.\n"
        "passes: the time per round as a multiple of one pass `actions @ theta`, measured in the same run."
    )
    write_csv(out / "regret.csv", rows)
    wrote([write_regret(results, out), out / "regret.csv"])
