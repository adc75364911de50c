"""`eigenbandits coverage --certified`: how often θ* leaves the certified set, ever, beside what is granted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import typer

from eigenbandits.cli.progress import progress
from eigenbandits.environments import LowRank
from eigenbandits.lab.certified import SETS, Settings, cover, summarize
from eigenbandits.lab.tables import aligned, percent, write_csv

_WORDS = """\
left: runs in which the truth was outside at any round; limit: granted plus three standard errors.
nearest: median over runs of the largest truth/bound, squared; refuted: runs in which the subspace was left out.
rho: ‖r − Xθ*‖² ≤ ρ, the one event behind all; whole: the reading by λI; subspace: that by two levels, with the true
error of the subspace, and with the estimated one, which is an assumption and grants nothing; deciding: the latter,
counted only in rounds in which it was not left out.
drawn: sets as the environment draws them. withdrawn: an action whose reward was better than expected is sold out.
neighbors: half of each action is the present estimate. adversary: half of it is the estimate's present error."""


def report(environment: LowRank, rounds: int, seeds: int, delta: float, out: Path | None, workers: int) -> None:
    """Watch the certified set on decision sets of every kind, and print and write what was seen."""
    typer.echo(f"{environment.name}, {seeds} runs of {rounds:,} rounds for each kind of decision set, δ = {delta:g}\n")
    rows: list[dict[str, Any]] = []
    for kind in SETS:
        with progress(f"Watching ({kind})") as tell:
            seen = cover(Settings(environment, rounds, seeds, delta, kind), workers, tell)
        rows += [{"sets": kind} | row for row in summarize(seen, delta)]
    typer.echo(_table(rows) + "\n\n" + _WORDS + "\n" + _verdict(rows))
    if out is not None:
        path = out / "coverage-certified.csv"
        write_csv(path, rows)
        typer.echo(f"Wrote {path}")


def _table(rows: Sequence[Mapping[str, Any]]) -> str:
    headers = ["sets", "set", "left", "share", "granted", "limit", "nearest", "refuted", "regret"]
    cells = [
        [
            *(row["sets"], row["set"], f"{row['left']} of {row['runs']}", percent(row["share"])),
            *("–" if row[name] is None else percent(row[name]) for name in ("granted", "limit")),
            *(f"{row['nearest']:.3f}", percent(row["refuted"]), f"{row['regret']:.1f}"),
        ]
        for row in rows
    ]
    return aligned(headers, cells)


def _verdict(rows: Sequence[Mapping[str, Any]]) -> str:
    bad = [f"{row['set']} ({row['sets']})" for row in rows if row["holds"] is False]
    if not bad:
        return "No set was left more often than granted plus three standard errors."
    return f"Left more often than granted plus three standard errors: {', '.join(bad)}."
