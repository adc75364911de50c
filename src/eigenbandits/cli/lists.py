"""`eigenbandits lists`: ten of a hundred films by `choose_list`, by single choices, and by other libraries."""

from __future__ import annotations

from pathlib import Path

import typer

from eigenbandits.cli import options
from eigenbandits.cli.runner import Runner, runs_experiments, write_table
from eigenbandits.lab.errors import LabError


@runs_experiments
def command(
    run: Runner,
    data: options.Data = None,
    rounds: options.Rounds = 1000,
    seeds: options.Seeds = 10,
    first_seed: options.FirstSeed = 1000,
    out: options.Out = Path("results/lists"),
) -> None:
    """Recommend ten of a hundred films to the users of MovieLens: films liked per list, on the same visits for all.

    Stop it at any time, and the same command continues. Writes lists.csv next to the results. To get the data:
    eigenbandits data fetch movielens.
    """
    from eigenbandits.lab.studies.candidates import available
    from eigenbandits.lab.studies.lists import study

    with options.failures(LabError):
        file = study.find_file(data)
    candidates, skipped = available(study.CANDIDATES)
    for label, reason in skipped.items():
        typer.echo(f"Skipped {label}: {reason}", err=True)
    rows = study.table(run(study.experiment(file, candidates, seeds, rounds, first_seed), out))
    typer.echo(f"{rounds:,} lists of ten films for each of {seeds} seeds from {first_seed}\n\n{study.text(rows)}\n")
    typer.echo("\n".join(f"{label}: {one.description}" for label, one in candidates.items()))
    write_table(out / "lists.csv", [vars(row) for row in rows])
