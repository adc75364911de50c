"""What the flagship costs from its first round on, every refit of its prior and its subspace included."""

from __future__ import annotations

import argparse
import math

from benchmarks import cells, tables
from benchmarks.methods import METHODS

# (d, K): the sum over all rounds as a multiple of plain NumPy OFUL, at most, and rounds in a turn.
SIZES = {(100, 10): (2.0, 25), (1_000, 10): (1.0, 20), (1_000, 1_000): (1.0, 5), (4_096, 100): (1.0, 5)}
ROUNDS = 2_000
FLAGSHIP = ("eigen", "eigen-32", "eigen-compiled")
REFERENCE = "plain-oful"


def compare(options: argparse.Namespace) -> str:
    """Measure the sums at each size and return a table."""
    return "\n".join([tables.machine(), "", *table(options), ""])


def table(options: argparse.Namespace) -> list[str]:
    """Return the lines of the table."""
    rounds = options.rounds or ROUNDS
    parts = [
        f"One BLAS thread, processor time, in turns: the sum of the first {rounds:,} rounds over that of the other, "
        "nothing left out.",
        "",
        "| d, K | method | against | rounds | at most | sum | ms a round |",
        "|---|---|---|---:|---:|---:|---:|",
    ]
    names = [name for name in FLAGSHIP if name in options.methods]
    for size in (size for size in options.sizes if size in SIZES and names):
        most, block = SIZES[size]
        task = {
            "size": {"dim": size[0], "arms": size[1]},
            "rounds": rounds,
            "methods": [*names, REFERENCE],
            "block": block,
            "budget": math.inf,
        }
        # Thousands of large rounds take as long as they take.
        found = cells.ask("benchmarks.together", task, threads=1, limit=20.0 * options.limit)
        for name in names:
            start = f"| {size[0]}, {size[1]} | {METHODS[name].label} | {METHODS[REFERENCE].label}"
            if "failed" in found:
                parts.append(f"{start} | | {most:g} | {found['failed']} | |")
            else:
                spent = sum(found["sums"][name])
                ratio = spent / sum(found["sums"][REFERENCE])
                shown = f"{tables.number(ratio)}{'' if ratio <= most else ' ✗'}"
                each = tables.number(1000.0 * spent / found["rounds"])
                parts.append(f"{start} | {found['rounds']:,} | {most:g} | {shown} | {each} |")
            print(parts[-1], flush=True)
    return parts
