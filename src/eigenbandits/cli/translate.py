"""`eigenbandits translate`: what a policy keeps when its vectors come from another encoder."""

from __future__ import annotations

from pathlib import Path

import typer

from eigenbandits.cli import options
from eigenbandits.cli.runner import Runner, runs_experiments
from eigenbandits.cli.scorer import Texts


@runs_experiments
def command(
    run: Runner,
    texts: Texts,
    rounds: options.Rounds = 3000,
    seeds: options.Seeds = 5,
    first_seed: options.FirstSeed = 1000,
    out: options.Out = Path("results/translate"),
) -> None:
    """Label texts as `scorer` does, replace the encoder at the end, and count right answers to texts never asked.

    Reads files txt_NAME.npz in the folder problems of the data.
    """
    from eigenbandits.lab.studies import translate

    environments = texts.environments()
    with options.refusals():
        experiment = translate.experiment(environments, rounds, seeds, first_seed)
    results = run(experiment, out)
    typer.echo(f"{seeds} seeds of {rounds:,} rounds, d = {texts.dim}\n\n{translate.report(results)}")
