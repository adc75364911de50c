"""`eigenbandits robustness`: PSLB with nothing set where its assumption holds, half holds and fails."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from eigenbandits.cli import options
from eigenbandits.cli.run import EngineName, one_sentence
from eigenbandits.extras import need
from eigenbandits.files import write_whole

QUICK_SEEDS = 3


def command(
    quick: Annotated[
        bool, typer.Option("--quick", help=f"Leave out d = 500, and play {QUICK_SEEDS} seeds unless told otherwise.")
    ] = False,
    seeds: Annotated[
        int | None, typer.Option(help="How many runs, on the seeds 0, 1, 2, …", show_default="10", min=1)
    ] = None,
    rounds: options.Rounds = 1500,
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
    out: options.Out = Path("results/robustness"),
) -> None:
    """Play PSLB and its rivals on friendly and adversarial problems: one table, a verdict per bar, and the curves.

    Stop it anywhere, and the same command goes on. Leaves robustness.md and curves.png beside the results.
    """
    need("lab", "pyarrow", "matplotlib", "threadpoolctl", what="This table")
    need("digits", "sklearn", what="This table")
    from eigenbandits.lab import robustness
    from eigenbandits.lab.drawing import to_bytes
    from eigenbandits.lab.robustness.tables import curves, legend

    chosen = robustness.rows(quick)
    asked = robustness.experiment(chosen, seeds or (QUICK_SEEDS if quick else 10), rounds)
    with one_sentence():
        try:
            results = asked.run(out, engine.value, workers=workers, scheduler=scheduler, refresh=refresh)
        except KeyboardInterrupt:
            typer.echo("Stopped. Finished cells are kept; the same command goes on where this one was.", err=True)
            raise typer.Exit(130) from None
    sections = robustness.tables(results) | {
        "Columns": legend(),
        "What was asked of PSLB with nothing set": "\n".join(map(str, robustness.verdicts(results, chosen))),
    }
    write_whole(
        out / "robustness.md",
        "\n".join(f"## {title}\n\n```text\n{text}\n```\n" for title, text in sections.items()).encode(),
    )
    write_whole(out / "curves.png", to_bytes(curves(results, chosen), "png"))
    typer.echo("\n\n".join(f"{title}\n\n{text}" for title, text in sections.items()))
    typer.echo(f"\nLeft behind: {out / 'robustness.md'} and {out / 'curves.png'}")
