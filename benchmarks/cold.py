"""What the first rounds cost: the slowest of them against a warm one, and their sum against plain NumPy OFUL."""

from __future__ import annotations

import argparse
import json
import sys
from itertools import islice
from typing import Any

import numpy as np

from benchmarks import cells, tables
from benchmarks.child import play, single, warm_up
from benchmarks.data import Size, stream
from benchmarks.methods import METHODS

SIZES = ((1_536, 1_000), (4_096, 100))
METHODS_MEASURED = ("eigen", "eigen-32", "eigen-compiled")
# Rounds that count as cold, rounds after them whose median is a warm one, and those that are compared with plain OFUL.
COLD, WARM, FIRST = 200, 100, 25
AT_MOST = 10.0


def compare(options: argparse.Namespace) -> str:
    """Measure the first rounds at each size and return a table."""
    parts = [
        tables.machine(),
        "",
        f"One BLAS thread, processor time. Slowest: the slowest of the first {COLD} rounds, and which it was. "
        f"Warm: the median of the {WARM} rounds after them. First {FIRST}: their sum over that of "
        f"{METHODS['plain-oful'].label} on the same decision sets.",
        "",
        f"| d, K | method | slowest, ms | round | warm, ms | slowest / warm, at most {AT_MOST:g} | first {FIRST} |",
        "|---|---|---:|---:|---:|---:|---:|",
    ]
    for dim, arms in options.sizes if options.sizes_given else SIZES:
        for name in (name for name in METHODS_MEASURED if name in options.methods):
            task = {"method": name, "size": {"dim": dim, "arms": arms}}
            found = cells.ask("benchmarks.cold", task, threads=1, limit=4.0 * options.limit)
            parts.append(f"| {dim}, {arms} | {METHODS[name].label} | {_cells(found)} |")
            print(parts[-1], flush=True)
    return "\n".join([*parts, ""])


def _cells(found: dict[str, Any]) -> str:
    if "failed" in found:
        return f"{found['failed']} | | | |"
    ratio = found["slowest"] / found["warm"]
    shown = f"{tables.number(ratio)}{'' if ratio <= AT_MOST else ' ✗'}"
    times = [tables.number(1000.0 * found[key]) for key in ("slowest", "warm")]
    return f"{times[0]} | {found['round']} | {times[1]} | {shown} | {tables.number(found['first'] / found['plain'])}"


def run(task: dict[str, Any]) -> dict[str, Any]:
    """Play one method from its first round on, each round drawn just before it."""
    size, entry = Size(**task["size"]), METHODS[task["method"]]
    warm_up(task["method"])
    warm_up("plain-oful")
    source = stream(size)
    method, plain = entry.make(size), METHODS["plain-oful"].make(size)
    times: list[float] = []
    reference = 0.0
    for offered in islice(source, COLD + WARM):
        times += play(method, single([offered]) if entry.single else [offered]).processor
        if len(times) <= FIRST:
            reference += play(plain, [offered]).processor[0]
    return {
        "slowest": max(times[:COLD]),
        "round": int(np.argmax(times[:COLD])) + 1,
        "warm": float(np.median(times[COLD:])),
        "first": sum(times[:FIRST]),
        "plain": reference,
    }


if __name__ == "__main__":
    json.dump(run(json.load(sys.stdin)), sys.stdout)
