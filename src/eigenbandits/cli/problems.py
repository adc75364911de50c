"""`eigenbandits problems`: the policies of this library and of others on real decision problems."""

from __future__ import annotations

from pathlib import Path

import typer

from eigenbandits.cli import options
from eigenbandits.cli.runner import Runner, runs_experiments, wrote
from eigenbandits.extras import need
from eigenbandits.lab.errors import LabError


@runs_experiments
def command(
    run: Runner,
    data: options.Data = None,
    problems: options.AvailableNames = None,
    policies: options.Names = None,
    rounds: options.Rounds = 3000,
    seeds: options.Seeds = 5,
    first_seed: options.FirstSeed = 1000,
    out: options.Out = Path("results/problems"),
) -> None:
    """Run the policies of this library and of others on real decision problems: regret, ratios to the best, a figure.

    Stop it at any time, and the same command continues. Writes problems.md, problems.csv, standings.csv and ratios.png
    next to the results. If the folder of the data holds no problem, those that scikit-learn ships are used; for more:
    eigenbandits data fetch problems.
    """
    need("digits", "sklearn", what="This study")
    from eigenbandits.lab.studies.problems import catalogue, study
    from eigenbandits.lab.studies.problems.policies import available_policies
    from eigenbandits.lab.studies.problems.table import RegretTable

    with options.failures(LabError):
        found = catalogue.available_problems(data, options.names(problems))
        candidates, absent = available_policies(options.names(policies))
    skipped = study.by_reason(found.skipped | absent)
    for names, reason in skipped.items():
        typer.echo(f"Skipped {names}: {reason}", err=True)
    results = run(study.experiment(candidates, found.environments, seeds, rounds, first_seed), out)
    table = RegretTable.of(results, candidates, rounds)
    typer.echo(table.text())
    wrote(study.write(table, out, candidates, skipped))
