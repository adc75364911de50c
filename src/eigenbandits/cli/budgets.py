"""`eigenbandits budgets`: answers of language models under a budget, from the cheapest model to the most expensive."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from eigenbandits.cli import options
from eigenbandits.cli.runner import Runner, runs_experiments
from eigenbandits.lab.errors import LabError


@runs_experiments
def command(
    run: Runner,
    vectors: Annotated[Path, typer.Option(help="Embeddings of the prompts: an .npz file with `val` and `test`.")],
    data: options.Data = None,
    peer: Annotated[bool, typer.Option("--peer", help="Run ParetoBandit too; it must be installed.")] = False,
    seeds: options.Seeds = 20,
    first_seed: options.FirstSeed = 1000,
    out: options.Out = Path("results/budgets"),
) -> None:
    """Measure spend and quality at seven budgets on judged and priced answers (`router/` in the folder of the data)."""
    from eigenbandits.lab.folders import data_folder
    from eigenbandits.lab.studies import budgets

    with options.failures(LabError):
        file = budgets.prepare(data_folder(data) / "router", vectors, out / "answers.npz")
        experiment = budgets.experiment(file, seeds, first_seed, peer)
    typer.echo(budgets.report(budgets.summarize(run(experiment, out))))
