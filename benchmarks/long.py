"""Whether time per round grows with t: late rounds against early ones."""

from __future__ import annotations

import argparse
from typing import Any

from benchmarks import cells, tables
from benchmarks.methods import METHODS

YOUNG, OLD, ROUNDS = 1_000, 90_000, 9_000
SIZE = {"dim": 100, "arms": 10}
SECONDS = 30.0


def compare(options: argparse.Namespace) -> str:
    """Play our methods for 100,000 rounds and return a table of late rounds against early ones."""
    parts = [
        tables.machine(),
        "",
        f"d = {SIZE['dim']}, K = {SIZE['arms']}, one thread. Two policies of each kind, one that has played {YOUNG:,} "
        f"rounds and one that has played {OLD:,}, go on over the same {ROUNDS:,} decision sets in turns of 25 rounds, "
        "for half a minute at most. Processor time per round, ms, as median / mean. Late / early: the median over the "
        "turns of one's median over the other's; sum: all rounds of one over all rounds of the other.",
        "",
        f"| method | from {YOUNG:,} on | from {OLD:,} on | late / early, median | sum |",
        "|---|---:|---:|---:|---:|",
    ]
    for name in (name for name in options.methods if METHODS[name].group == "ours"):
        task: dict[str, Any] = {"method": name, "size": SIZE, "young": YOUNG, "old": OLD, "rounds": ROUNDS}
        found = cells.ask("benchmarks.ages", task | {"budget": SECONDS}, threads=1, limit=1_200.0)
        parts.append(f"| {METHODS[name].label} | {_cells(found)} |")
        print(parts[-1], flush=True)
    return "\n".join([*parts, ""])


def _cells(found: dict[str, Any]) -> str:
    if "failed" in found:
        return f"{found['failed']} | | | "
    shown = [
        f"{tables.number(found['median'][age] * 1e3)} / {tables.number(found['mean'][age] * 1e3)}"
        for age in ("young", "old")
    ]
    return " | ".join([*shown, f"{found['late_over_early']:.2f}", f"{found['late_over_early_sum']:.2f}"])
