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
    out: options.Out = Path("results/translate"),
) -> None:
    """Label texts as `scorer` does, replace the encoder at the end, and count right answers to texts never asked.

    Reads files txt_NAME.npz in the folder problems of the data.
    """
    from eigenbandits.lab.studies import translate

    results = texts.play(run, translate.experiment, out)
    typer.echo(translate.report(results))
