"""`eigenbandits problems`: our policies and the peers' on real decision problems."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from eigenbandits.cli import options
from eigenbandits.cli.data import DataOption
from eigenbandits.cli.run import EngineName, one_sentence
from eigenbandits.extras import need
from eigenbandits.files import write_whole

if TYPE_CHECKING:
    from eigenbandits.lab.problems.table import Table


def command(
    data: DataOption = None,
    problems: Annotated[
        list[str] | None,
        typer.Option(
            help="Their names; again, or with commas, for more.", show_default="all in the folder of the data"
        ),
    ] = None,
    policies: Annotated[
        list[str] | None,
        typer.Option(help="Their names; again, or with commas, for more.", show_default="all"),
    ] = None,
    rounds: options.Rounds = 3000,
    seeds: Annotated[int, typer.Option(help="How many runs, each on a seed of its own.", min=1)] = 5,
    first_seed: Annotated[int, typer.Option(help="The first seed.", min=0)] = 1000,
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
    out: options.Out = Path("results/problems"),
) -> None:
    """Play our policies and the peers' on real decision problems: regret, ratios to the best, and a figure.

    Stop it anywhere, and the same command goes on. Leaves problems.md, problems.csv, standings.csv and ratios.png
    beside the results. Where no problem lies in the folder of the data, those that scikit-learn ships are played; for
    more: eigenbandits data fetch problems.
    """
    need("lab", "pyarrow", "matplotlib", "threadpoolctl", what="This study")
    need("digits", "sklearn", what="This study")
    from eigenbandits.lab.problems import catalogue, study
    from eigenbandits.lab.problems.policies import able
    from eigenbandits.lab.problems.table import Table

    with one_sentence():
        found = catalogue.playable(data, _names(problems))
        players, absent = able(_names(policies))
        skipped = _by_reason(found.skipped | absent)
        for names, reason in skipped.items():
            typer.echo(f"Left out: {names}: {reason}", err=True)
        asked = study.experiment(players, found.environments, seeds, rounds, first_seed)
        try:
            results = asked.run(out, engine.value, workers=workers, scheduler=scheduler, refresh=refresh)
        except KeyboardInterrupt:
            typer.echo("Stopped. Finished cells are kept; the same command goes on where this one was.", err=True)
            raise typer.Exit(130) from None
    table = Table.of(results, players, rounds)
    left = _write(table, out, {label: player.words for label, player in players.items()}, skipped)
    typer.echo(table.text())
    typer.echo(f"\nLeft behind: {', '.join(str(path) for path in left)}")


def _names(given: list[str] | None) -> list[str] | None:
    """Return the names of an option that may come again, and may hold several with commas."""
    if not given:
        return None
    return [name.strip() for part in given for name in part.split(",") if name.strip()]


def _by_reason(skipped: Mapping[str, str]) -> dict[str, str]:
    """Return why some are left out, with those that share a reason together."""
    names: dict[str, list[str]] = {}
    for name, reason in skipped.items():
        names.setdefault(reason, []).append(name)
    return {", ".join(together): reason for reason, together in names.items()}


def _write(table: Table, out: Path, words: Mapping[str, str], skipped: Mapping[str, str]) -> list[Path]:
    """Write the tables and the figure, and return their paths."""
    from dataclasses import asdict

    from eigenbandits.lab.drawing import to_bytes
    from eigenbandits.lab.problems.figure import strips
    from eigenbandits.lab.tables import write_csv

    sections = {"Real decision problems": table.markdown(), "Policies": _list(words)}
    if skipped:
        sections["Left out"] = _list(skipped)
    write_whole(out / "problems.md", "\n".join(f"## {title}\n\n{text}\n" for title, text in sections.items()).encode())
    write_csv(out / "problems.csv", table.rows())
    write_csv(out / "standings.csv", [asdict(standing) for standing in table.standings()])
    write_whole(out / "ratios.png", to_bytes(strips(table), "png"))
    return [out / name for name in ("problems.md", "problems.csv", "standings.csv", "ratios.png")]


def _list(entries: Mapping[str, str]) -> str:
    return "\n".join(f"- {name}: {text}" for name, text in entries.items())
