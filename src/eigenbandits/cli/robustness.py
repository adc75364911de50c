"""`eigenbandits robustness`: EigenUCB where low rank holds, partly holds and fails; and rare clicks."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from eigenbandits.cli import options
from eigenbandits.cli.runner import Runner, runs_experiments, wrote
from eigenbandits.extras import need

QUICK_SEEDS = 3


@runs_experiments
def command(
    run: Runner,
    rows: Annotated[
        Literal["structure", "clicks"],
        typer.Option(help="Problems with, partly with and without low rank, or rare clicks."),
    ] = "structure",
    quick: Annotated[
        bool, typer.Option("--quick", help=f"Skip d = 500, and run {QUICK_SEEDS} seeds unless --seeds is given.")
    ] = False,
    seeds: Annotated[
        int | None, typer.Option(help="Number of runs, each with its own seed.", show_default="10", min=1)
    ] = None,
    first_seed: options.FirstSeed = 1000,
    rounds: Annotated[
        int | None, typer.Option(help="Rounds of each run.", show_default="1500; for clicks 8000", min=1)
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder of the results.", show_default="results/robustness, or clicks")
    ] = None,
) -> None:
    """Run EigenUCB and its rivals on friendly and adversarial problems: tables, criteria, and the curves.

    Stop it at any time, and the same command continues. Writes robustness.md and curves.png next to the results; for
    clicks, clicks.md with the share of the gap between random and best choices that each policy earned.
    """
    need("digits", "sklearn", what="This study")
    from eigenbandits.lab.studies.robustness import cases, clicks, study

    count = seeds or (QUICK_SEEDS if quick else 10)
    if rows == "clicks":
        results = run(clicks.experiment(count, rounds or clicks.ROUNDS, first_seed), out)
        sections, paths = clicks.sections(results), clicks.write(results)
    else:
        chosen = cases.cases(quick)
        results = run(study.experiment(chosen, count, rounds or study.ROUNDS, first_seed), out)
        sections, paths = study.sections(results, chosen), study.write(results, chosen)
    typer.echo("\n\n".join(f"{title}\n\n{part}" for title, part in sections.items()))
    wrote(paths)
