"""What the library promises about its speed, as ratios between methods that took turns in one process."""

from __future__ import annotations

import argparse
import math
from typing import Any

import numpy as np

from benchmarks import amortized, cells, tables
from benchmarks.data import Size, prepare
from benchmarks.methods import METHODS

# (d, K): rounds, and rounds in a turn.
SIZES = {
    (100, 10): (2_000, 25),
    (1_000, 10): (1_000, 20),
    (100, 1_000): (500, 10),
    (1_000, 1_000): (150, 3),
    (4_096, 100): (150, 3),
}
EXACT = ("plain-oful", "plain-oful-blas", "plain-oful-blas-full", "contextualbandits", "contextualbandits-64")
PEERS = ("vw-regcb", "vw-squarecb", "contextualbandits", "contextualbandits-64")
OURS = ("eigen", "pslb-rank", "eigen-compiled", "pslb-rank-compiled", "oful", "oful-compiled", "oful-32")
LARGE = ((1_000, 10), (1_000, 1_000), (4_096, 100))
EIGH = "plain-pslb-eigh"
STREAMING = ("pslb-streaming", "pslb-streaming-32")
# (method, other, sizes, at most): the other is a method or a floor.
GOALS: list[tuple[str, str, tuple[tuple[int, int], ...], float]] = [
    *(
        goal
        for ours in OURS[:4]
        for goal in (
            (ours, "plain-oful", ((100, 10),), 2.0),
            (ours, "plain-oful", ((1_000, 10),), 1.0),
            *((ours, peer, ((100, 10), (1_000, 10)), 1.0) for peer in PEERS),
            (ours, "plain-oful-blas", LARGE, 1.0),
            (ours, "plain-oful-blas-full", LARGE, 1.0),
        )
    ),
    *((ours, EIGH, LARGE, 0.01) for ours in ("pslb-rank", "pslb-rank-compiled")),
    *((name, "basis_cold", ((100, 1_000), (1_000, 1_000), (4_096, 100)), 3.0) for name in STREAMING),
    *((ours, other, tuple(SIZES), 1.0) for ours in ("oful", "oful-compiled") for other in EXACT),
    ("oful-32", "contextualbandits", tuple(SIZES), 1.0),
]
FLOORS = {"basis_cold": "`actions @ V`", "theta_cold": "`actions @ theta`"}


def compare(options: argparse.Namespace) -> str:
    """Measure the ratios at each size and return a table of what is wanted and what was found."""
    parts = [
        tables.machine(),
        "",
        "One BLAS thread, processor time. The methods take turns of a few rounds in one process, on the same decision "
        "sets. Median: the median over the turns of one method's median over the other's. Sum: all rounds of one over "
        "all rounds of the other, the rare expensive ones included. The first fifth of the rounds is left out "
        "here; the second table leaves out nothing.",
        "",
        "| d, K | method | against | at most | median | sum |",
        "|---|---|---|---:|---:|---:|",
    ]
    for size in options.sizes:
        wanted = [goal for goal in GOALS if size in goal[2] and goal[0] in options.methods]
        known: dict[str, dict[str, Any]] = {}
        for method, other, _, most in wanted:
            group = method if method in STREAMING else "turns"
            found = known.setdefault(group, {}) or _measure(size, group, options)
            known[group] = found
            label = FLOORS[other] if other in FLOORS else METHODS[other].label
            shown = found["failed"] if "failed" in found else _ratio(found, method, other, most)
            parts.append(f"| {size[0]}, {size[1]} | {METHODS[method].label} | {label} | {most:g} | {shown} |")
            print(parts[-1], flush=True)
    return "\n".join([*parts, "", *amortized.table(options), ""])


def _measure(size: tuple[int, int], group: str, options: argparse.Namespace) -> dict[str, Any]:
    """Let methods take turns; a streaming policy plays alone, so that it meets its decision sets as cold as V does."""
    rounds, block = SIZES.get(size, (300, 5))
    folder = prepare(Size(*size), rounds, max(21, rounds // 10))
    # Vowpal Wabbit takes long where K is large, and no goal asks for it there.
    together = dict.fromkeys([*OURS, *EXACT, *(PEERS if size[1] == 10 else ())])
    task = {
        "size": {"dim": size[0], "arms": size[1]},
        "data": str(folder),
        "methods": list(together) if group == "turns" else [group],
        "block": block,
        "budget": 30.0 * options.budget,
    }
    found = cells.ask("benchmarks.together", task, threads=1, limit=4.0 * options.limit)
    if group == "turns" and "failed" not in found and size in LARGE:
        # A factor of 100 needs no turns, and one round takes seconds.
        alone = {key: task[key] for key in ("size", "data")} | {"method": EIGH, "budget": options.budget, "repeat": 0}
        slow = cells.ask("benchmarks.child", alone, threads=1, limit=options.limit)
        turns = len(found["medians"][OURS[0]])
        found["medians"][EIGH] = turns * [slow.get("processor_median", math.nan)]
        found["sums"][EIGH] = turns * [task["block"] * slow.get("processor_mean", math.nan)]
    return found


def _ratio(found: dict[str, Any], method: str, other: str, most: float) -> str:
    ours = np.array(found["medians"][method])
    skip, whole = len(ours) // 5, ""
    if other in FLOORS:
        turns = [turn for turn in found["floors_after"] if turn >= skip]
        quotients = ours[turns] / np.array(found["floors"][other])[-len(turns) :]
    else:
        quotients = ours[skip:] / np.array(found["medians"][other])[skip:]
        whole = tables.number(sum(found["sums"][method][skip:]) / sum(found["sums"][other][skip:]))
    median = float(np.median(quotients))
    return f"{tables.number(median)}{'' if median <= most else ' ✗'} | {whole}"
