"""`eigenbandits robustness`: EigenUCB with nothing set where low rank holds, half holds and fails; and rare clicks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from eigenbandits.cli import options
from eigenbandits.cli.run import EngineName, one_sentence
from eigenbandits.extras import need
from eigenbandits.files import write_whole

if TYPE_CHECKING:
    from eigenbandits.lab.experiment import Experiment
    from eigenbandits.lab.results import Results

QUICK_SEEDS = 3


class Rows(StrEnum):
    """The two tables."""

    structure = "structure"
    clicks = "clicks"


def command(
    rows: Annotated[
        Rows, typer.Option(help="Problems with, half with and without low rank, or rare clicks.")
    ] = Rows.structure,
    quick: Annotated[
        bool, typer.Option("--quick", help=f"Leave out d = 500, and play {QUICK_SEEDS} seeds unless told otherwise.")
    ] = False,
    seeds: Annotated[
        int | None, typer.Option(help="How many runs, each on a seed of its own.", show_default="10", min=1)
    ] = None,
    first_seed: options.FirstSeed = 1000,
    rounds: Annotated[
        int | None,
        typer.Option(help="Rounds that each run lasts.", show_default="1500; for clicks 8000", min=1),
    ] = None,
    engine: Annotated[EngineName, typer.Option(help="Where cells run; see `run`.")] = EngineName.processes,
    workers: Annotated[
        int | None, typer.Option(help="How many processes.", show_default="one per processor", min=1)
    ] = None,
    scheduler: Annotated[
        str | None, typer.Option(help="Address of a Dask scheduler.", show_default="a cluster here")
    ] = None,
    refresh: Annotated[
        bool, typer.Option("--refresh", help="Run cells again that another state of this library's code has made.")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder for the files that are left.", show_default="results/robustness, or clicks"),
    ] = None,
) -> None:
    """Play EigenUCB and its rivals on friendly and adversarial problems: a table, a verdict per bar, and the curves.

    Stop it anywhere, and the same command goes on. Leaves robustness.md and curves.png beside the results; for clicks,
    clicks.md with the share of the gap between random and best choices that each policy earned.
    """
    need("lab", "pyarrow", "matplotlib", "threadpoolctl", what="This table")
    need("digits", "sklearn", what="This table")
    count = seeds or (QUICK_SEEDS if quick else 10)

    def play(asked: Experiment, folder: Path) -> Results:
        with one_sentence():
            try:
                return asked.run(folder, engine.value, workers=workers, scheduler=scheduler, refresh=refresh)
            except KeyboardInterrupt:
                typer.echo("Stopped. Finished cells are kept; the same command goes on where this one was.", err=True)
                raise typer.Exit(130) from None

    if rows is Rows.clicks:
        _clicks(count, rounds, first_seed, out or Path("results/clicks"), play)
    else:
        _structure(quick, count, rounds, first_seed, out or Path("results/robustness"), play)


Play = Callable[["Experiment", Path], "Results"]


def _structure(quick: bool, seeds: int, rounds: int | None, first_seed: int, out: Path, play: Play) -> None:
    from eigenbandits.lab import robustness
    from eigenbandits.lab.drawing import to_bytes
    from eigenbandits.lab.robustness.tables import curves, legend

    chosen = robustness.rows(quick)
    results = play(robustness.experiment(chosen, seeds, rounds or 1500, first_seed), out)
    sections = robustness.tables(results) | {
        "Columns": legend(),
        "What was asked of EigenUCB with nothing set": "\n".join(map(str, robustness.verdicts(results, chosen))),
    }
    write_whole(out / "curves.png", to_bytes(curves(results, chosen), "png"))
    _leave(sections, out / "robustness.md", out / "curves.png")


def _clicks(seeds: int, rounds: int | None, first_seed: int, out: Path, play: Play) -> None:
    from eigenbandits.lab.robustness import clicks

    results = play(clicks.experiment(seeds, rounds or clicks.ROUNDS, first_seed), out)
    title = f"Share of the gap between random and best that is earned, mean over {seeds} seeds ± standard error"
    asked = "What was asked of EigenUCB with nothing set"
    _leave({title: clicks.table(results), asked: str(clicks.verdict(results))}, out / "clicks.md")


def _leave(sections: Mapping[str, str], page: Path, *others: Path) -> None:
    """Write the page, print it, and say what lies where."""
    text = "\n".join(f"## {title}\n\n```text\n{part}\n```\n" for title, part in sections.items())
    write_whole(page, text.encode())
    typer.echo("\n\n".join(f"{title}\n\n{part}" for title, part in sections.items()))
    typer.echo(f"\nWrote {' and '.join(map(str, (page, *others)))}")
