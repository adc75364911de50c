"""`eigenbandits scorer`: a policy that starts from a scorer, compared with that scorer, on labeled texts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from eigenbandits.cli import options
from eigenbandits.cli.runner import Runner, runs_experiments
from eigenbandits.lab.errors import LabError
from eigenbandits.lab.experiments import Experiment, Results

Dim = Annotated[int, typer.Option(help="Numbers of each action, made of a text and a label.", min=1)]


@dataclass(frozen=True)
class Texts:
    """The options of studies of labeled texts."""

    data: options.Data = None
    problems: options.AvailableNames = None
    dim: Dim = 512
    rounds: options.Rounds = 3000
    seeds: options.Seeds = 5
    first_seed: options.FirstSeed = 1000

    def play(self, run: Runner, study: Callable[..., Experiment], out: Path) -> Results:
        """Run a study of these texts, and print its size."""
        from eigenbandits.lab.studies.scorer import available_texts

        with options.failures(LabError):
            environments = available_texts(self.data, options.names(self.problems), self.dim)
        with options.refusals():
            experiment = study(environments, self.rounds, self.seeds, self.first_seed)
        results = run(experiment, out)
        typer.echo(f"{self.seeds} seeds of {self.rounds:,} rounds, d = {self.dim}\n")
        return results


@runs_experiments
def command(
    run: Runner,
    texts: Texts,
    out: options.Out = Path("results/scorer"),
) -> None:
    """Label texts, starting from the cosine of text and label: windows compared with the cosine, and texts never asked.

    Reads files txt_NAME.npz in the folder problems of the data.
    """
    from eigenbandits.lab.studies import scorer

    results = texts.play(run, scorer.experiment, out)
    typer.echo(scorer.report(scorer.compare(results)))
