"""What the library promises about its speed, as ratios between methods that took turns in one process."""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from benchmarks import cells, tables
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
OURS = ("pslb", "pslb-rank", "pslb-projected", "pslb-streaming", "oful")
LARGE = ((1_000, 10), (1_000, 1_000), (4_096, 100))
# (method, other, sizes, at most): the other is a method or a floor.
GOALS: list[tuple[str, str, tuple[tuple[int, int], ...], float]] = [
    ("pslb", "plain-oful", ((100, 10),), 2.0),
    ("pslb", "plain-oful", ((1_000, 10),), 1.0),
    *(("pslb", peer, ((100, 10), (1_000, 10)), 1.0) for peer in PEERS),
    ("pslb", "plain-oful-blas", LARGE, 1.0),
    ("pslb", "plain-oful-blas-full", LARGE, 1.0),
    ("pslb-streaming", "basis_cold", ((100, 1_000), (1_000, 1_000), (4_096, 100)), 3.0),
    *(("oful", other, tuple(SIZES), 1.0) for other in EXACT),
]
FLOORS = {"basis_cold": "`actions @ V`", "theta_cold": "`actions @ theta`"}


def compare(options: argparse.Namespace) -> str:
    """Measure the ratios at each size and return a table of what is wanted and what was found."""
    parts = [
        tables.machine(),
        "",
        "One BLAS thread, processor time. The methods take turns of a few rounds in one process, on the same decision "
        "sets. Median: the median over the turns of one method's median over the other's. Sum: all rounds of one over "
        "all rounds of the other, the rare expensive ones included. The first fifth of the rounds is left out.",
        "",
        "| d, K | method | against | at most | median | sum |",
        "|---|---|---|---:|---:|---:|",
    ]
    for size in options.sizes:
        found = _measure(size, options)
        for method, other, sizes, most in GOALS:
            if size in sizes and method in METHODS and method in options.methods:
                label = FLOORS[other] if other in FLOORS else METHODS[other].label
                shown = found["failed"] if "failed" in found else _ratio(found, method, other, most)
                parts.append(f"| {size[0]}, {size[1]} | {METHODS[method].label} | {label} | {most:g} | {shown} |")
                print(parts[-1], flush=True)
    return "\n".join([*parts, ""])


def _measure(size: tuple[int, int], options: argparse.Namespace) -> dict[str, Any]:
    rounds, block = SIZES.get(size, (300, 5))
    folder = prepare(Size(*size), rounds, max(21, rounds // 10))
    # In-process vowpalwabbit is too slow where K is large, and not part of any goal there.
    names = dict.fromkeys(
        [*(name for name in OURS if name in options.methods), *EXACT, *(PEERS if size[1] == 10 else ())]
    )
    task = {
        "size": {"dim": size[0], "arms": size[1]},
        "data": str(folder),
        "methods": [name for name in names if name in METHODS],
        "block": block,
        "budget": 15.0 * options.budget,
    }
    return cells.ask("benchmarks.together", task, threads=1, limit=options.limit)


def _ratio(found: dict[str, Any], method: str, other: str, most: float) -> str:
    ours = np.array(found["medians"][method])
    skip, whole = len(ours) // 5, ""
    if other in FLOORS:
        turns = [turn for turn in found["floors_after"] if turn >= skip]
        quotients = ours[turns] / np.array(found["floors"][other])[-len(turns) :]
    else:
        quotients = ours[skip:] / np.array(found["medians"][other])[skip:]
        whole = f"{sum(found['sums'][method][skip:]) / sum(found['sums'][other][skip:]):.2f}"
    median = float(np.median(quotients))
    return f"{median:.2f}{'' if median <= most else ' ✗'} | {whole}"
