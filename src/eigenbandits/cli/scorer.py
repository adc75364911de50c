"""`eigenbandits scorer`: a policy that starts from a scorer, beside that scorer, on labeled texts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from eigenbandits.cli import options
from eigenbandits.cli.runner import Runner, runs_experiments
from eigenbandits.lab.errors import LabError

Problems = Annotated[
    list[str] | None,
    typer.Option(help="Their names; repeat it, or use commas, for several.", show_default="all texts there"),
]
Dim = Annotated[int, typer.Option(help="Numbers of each action, made of a text and a label.", min=1)]


@runs_experiments
def command(
    run: Runner,
    data: options.Data = None,
    problems: Problems = None,
    dim: Dim = 512,
    rounds: options.Rounds = 3000,
    seeds: options.Seeds = 5,
    first_seed: options.FirstSeed = 1000,
    out: options.Out = Path("results/scorer"),
) -> None:
    """Label texts, starting from the cosine of text and label: windows beside the cosine, and texts never asked.

    Reads files txt_NAME.npz in the folder problems of the data.
    """
    from eigenbandits.lab.studies import scorer

    with options.failures(LabError):
        environments = scorer.available_texts(data, options.names(problems), dim)
    with options.refusals():
        experiment = scorer.experiment(environments, rounds, seeds, first_seed)
    results = run(experiment, out)
    typer.echo(f"{seeds} seeds of {rounds:,} rounds, d = {dim}\n\n{scorer.report(scorer.compare(results))}")
