"""`eigenbandits audit`: say what vectors show, and which policy to start with."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from eigenbandits.cli import options
from eigenbandits.files import write_whole
from eigenbandits.lab.figures import need_matplotlib

_WIDTH = 110


def command(
    file: Annotated[
        Path, typer.Argument(help="Vectors, (n, d) or (t, K, d), in .npy, .npz or .parquet.", show_default=False)
    ],
    png: Annotated[Path | None, typer.Option(help="Draw the audit into this file too.", show_default="none")] = None,
    array: Annotated[
        str | None, typer.Option(help="Which array or column, where the file has several.", show_default="the only one")
    ] = None,
    arms: options.Arms = 10,
    rounds: options.Rounds = 300,
    seeds: Annotated[int, typer.Option(help="How many random θ* are tried in each place.", min=2)] = 4,
    no_gain: Annotated[
        bool, typer.Option("--no-gain", help="Leave out the simulation, which takes most of the time.")
    ] = False,
) -> None:
    """Say in a page what vectors show: spectrum, rank, projection error; and which policy loses least on them."""
    from eigenbandits.auditing import audit, words

    if png is not None:
        need_matplotlib()
    with options.refusals():
        found = audit(file, arms=arms, rounds=rounds, seeds=seeds, gain=not no_gain, name=array)
    console = Console(width=min(_WIDTH, Console().width)) if Console().is_terminal else Console(width=_WIDTH)
    facts = Table(show_header=False, box=None, pad_edge=False)
    for _ in range(3):
        facts.add_column(overflow="fold")
    for fact in words.facts(found):
        facts.add_row(*fact)
    console.print(facts)
    tables = [words.projection_table(found)]
    if found.comparison is not None:
        tables.append(words.loss_table(found.comparison))
    for headers, rows in tables:
        console.print()
        console.print(_table(headers, rows))
    if found.comparison is not None:
        console.print(words.method(found), style="dim")
    console.print(f"\n{found.verdict}")
    for warning in found.warnings:
        console.print(f"\nWarning: {warning}")
    console.print("\nStart with:")
    console.print(found.code, highlight=False, soft_wrap=True)
    if png is not None:
        from eigenbandits.auditing.figure import draw

        write_whole(png, draw(found))
        console.print(f"\nWrote {png}", soft_wrap=True)


def _table(headers: list[str], rows: list[list[str]]) -> Table:
    made = Table(box=None, pad_edge=False, header_style="bold")
    for place, header in enumerate(headers):
        made.add_column(header, justify="left" if place == 0 else "right")
    for row in rows:
        made.add_row(*row)
    return made
