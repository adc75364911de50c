"""`eigenbandits scorer`: a policy that starts from a scorer, beside that scorer, on labeled texts."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from eigenbandits.cli import options
from eigenbandits.cli.runner import Runner, runs_experiments
from eigenbandits.lab.errors import LabError

Problems = Annotated[
    list[str] | None,
    typer.Option(help="Their names; repeat it, or use commas, for several.", show_default="all texts there"),
]
Dim = Annotated[int, typer.Option(help="Numbers of each action, made of a text and a label.", min=1)]


@dataclass(frozen=True)
class Texts:
    """The options of the labeled texts."""

    data: options.Data = None
    problems: Problems = None
    dim: Dim = 512

    def environments(self) -> dict[str, Any]:
        """Return those that there are, by name."""
        from eigenbandits.lab.studies.scorer import available_texts

        with options.failures(LabError):
            return available_texts(self.data, options.names(self.problems), self.dim)


@runs_experiments
def command(
    run: Runner,
    texts: Texts,
    rounds: options.Rounds = 3000,
    seeds: options.Seeds = 5,
    first_seed: options.FirstSeed = 1000,
    out: options.Out = Path("results/scorer"),
) -> None:
    """Label texts, starting from the cosine of text and label: windows beside the cosine, and texts never asked.

    Reads files txt_NAME.npz in the folder problems of the data.
    """
    from eigenbandits.lab.studies import scorer

    environments = texts.environments()
    with options.refusals():
        experiment = scorer.experiment(environments, rounds, seeds, first_seed)
    results = run(experiment, out)
    typer.echo(f"{seeds} seeds of {rounds:,} rounds, d = {texts.dim}\n\n{scorer.report(scorer.compare(results))}")
