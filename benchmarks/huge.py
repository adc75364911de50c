"""Time and memory of the streaming policy where a d × d matrix would not fit."""

from __future__ import annotations

import argparse
from typing import Any

from benchmarks import cells, tables
from benchmarks.methods import METHODS

SIZES = [{"dim": dim, "arms": 20} for dim in (5_000, 20_000, 50_000)]
RANK = 4
ROUNDS = 60


def compare(options: argparse.Namespace) -> str:
    """Return a table of the streaming policies' memory and time at each size."""
    parts = [
        tables.machine(),
        "",
        f"K = {SIZES[0]['arms']}, m = {RANK}, one thread. Held: bytes between rounds, as a multiple of the d·m numbers "
        "that the directions themselves take. Peak: the most within a round, above the data. Full: one d × d matrix.",
        "",
        "| method | d | held MB | × d·m | peak MB | full MB | ms per round | × `actions @ V` |",
        "|---" + 7 * "|---:" + "|",
    ]
    names = [name for name in options.methods if "streaming" in name]
    for name in names:
        for size in SIZES:
            parts.append(_line(name, size, options))
            print(parts[-1], flush=True)
    if not names:
        parts.append("| the library has no streaming policy yet | | | | | | | |")
    return "\n".join([*parts, ""])


def _line(name: str, size: dict[str, int], options: argparse.Namespace) -> str:
    base: dict[str, Any] = {"method": name, "size": size}
    memory = cells.ask("benchmarks.streamed", base | {"trace": True, "rounds": ROUNDS}, 1, options.limit)
    timed = base | {"windows": [[20, 20 + ROUNDS]], "budget": 10.0 * options.budget}
    time = cells.ask("benchmarks.streamed", timed, 1, options.limit)
    for found in (memory, time):
        if "failed" in found:
            return f"| {METHODS[name].label} | {size['dim']} | {found['failed']} | | | | | |"
    dim, window = size["dim"], time["windows"][0]
    cells_ = [
        *(memory["held"] / 1e6, memory["held"] / (8 * dim * RANK), memory["peak"] / 1e6, 8 * dim * dim / 1e6),
        *(window["processor_median"] * 1e3, window["processor_median"] / window["floor"]["basis_cold"]),
    ]
    return f"| {METHODS[name].label} | {dim:,} | {' | '.join(tables.number(value) for value in cells_)} |"
