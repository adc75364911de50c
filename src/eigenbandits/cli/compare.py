"""`eigenbandits compare`: EigenUCB and PSLB in its forms against all baselines, with bands over seeds."""

from __future__ import annotations

from inspect import signature
from pathlib import Path
from typing import Annotated

import typer

from eigenbandits import theory
from eigenbandits.algorithms import PSLB
from eigenbandits.cli import options
from eigenbandits.cli.progress import progress
from eigenbandits.cli.report import folder, leave_comparison, model_panel
from eigenbandits.environments import LowRank
from eigenbandits.lab.compare import compare, pick, regret_table, summarize
from eigenbandits.lab.figures import need_matplotlib


def command(
    rounds: options.Rounds = 2000,
    seeds: options.Seeds = 20,
    first_seed: options.FirstSeed = 1000,
    dim: options.Dim = 100,
    rank: options.Rank = 4,
    arms: options.Arms = 10,
    perturbation: options.Perturbation = 9.0,
    spread: options.Spread = 1.0,
    noise: options.Noise = 0.5,
    only: Annotated[list[str] | None, typer.Option(help="Play this policy only; may be given several times.")] = None,
    out: options.Out = Path("results/compare"),
    workers: options.Workers = options.PROCESSORS,
) -> None:
    """Compare EigenUCB, and PSLB in its forms, with every baseline: a table, and a regret figure."""
    need_matplotlib()
    with options.refusals():
        environment = LowRank(dim, rank, arms, perturbation=perturbation, spread=spread, noise=noise)
        chosen = pick(environment, only or ())
    folder(out)
    typer.echo(f"{environment.name}, noise {noise:g}, {rounds:,} rounds, {seeds} seeds\n")
    with progress("Playing") as tell:
        plays = compare(environment, rounds, seeds, only=chosen, workers=workers, progress=tell, first_seed=first_seed)
    rows = summarize(plays)
    typer.echo(
        f"\n{regret_table(rows)}\n\n"
        "EigenUCB and EigenTS: told nothing. PSLB: told the noise; rank told: m as well; sharp radius, ε estimated.\n"
        "OFUL: with its log-determinant radius and λ = 1; tuned: λ = R²d/S², S one over the size of the vectors.\n"
        "paper: ε, β and Ω as the paper writes them; "
        f"its ε is 1 for the first t_w = {_warm_up(environment):,.0f} rounds.\n"
        "regret: mean over seeds, ± its standard error, and its 95 % bootstrap band.\n"
        "share of best: expected reward earned out of the best possible.\n"
        "time per round: as a multiple of one pass `actions @ theta`, measured in the same run.\n"
    )
    leave_comparison(out, rows, model_panel(environment, plays))


def _warm_up(environment: LowRank) -> float:
    structure = environment.instance(0).structure
    assert structure is not None  # the paper's assumptions hold for vectors on a sphere
    delta = signature(PSLB).parameters["delta"].default
    return theory.t_w(structure, arms=environment.arms, dim=environment.dim, rank=environment.rank, delta=delta)
