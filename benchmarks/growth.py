"""How our time per round grows with d, K, m and t: measured, and fitted as a power."""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from benchmarks import cells, tables
from benchmarks.methods import METHODS

AXES: dict[str, list[dict[str, int]]] = {
    "d": [{"dim": dim, "arms": 10} for dim in (128, 256, 512, 1_024, 2_048)],
    "K": [{"dim": 256, "arms": arms} for arms in (16, 64, 256, 1_024)],
    "m": [{"dim": 512, "arms": 100, "rank": rank} for rank in (2, 4, 8, 16, 32)],
}
VARIABLES = {"d": "dim", "K": "arms", "m": "rank"}
# Rounds before this one are the warm-up.
START, STOP = 200, 400


def compare(options: argparse.Namespace) -> str:
    """Measure our methods along each axis and return a table of times and fitted exponents."""
    names = [name for name in options.methods if METHODS[name].group == "ours"]
    parts = [tables.machine(), "", f"Processor time, ms per round, mean of the rounds {START} to {STOP}, one thread."]
    for axis, sizes in AXES.items():
        values = [size[VARIABLES[axis]] for size in sizes]
        fixed = {key: sizes[0].get(VARIABLES[key], 4) for key in AXES if key != axis}
        parts += ["", f"### Growth with {axis}, at {', '.join(f'{key} = {value}' for key, value in fixed.items())}", ""]
        parts.append(f"| method | {' | '.join(f'{axis} = {value}' for value in values)} | exponent |")
        parts.append("|---" + (len(values) + 1) * "|---:" + "|")
        for name in names:
            times = [_time(name, size, options) for size in sizes]
            shown = [tables.number(time * 1e3) if time else "–" for time in times]
            parts.append(f"| {METHODS[name].label} | {' | '.join(shown)} | {_exponent(values, times)} |")
            print(parts[-1], flush=True)
    parts += ["", "The exponent is fitted to the last three points by least squares of the logarithms.", ""]
    return "\n".join(parts)


def _time(name: str, size: dict[str, int], options: argparse.Namespace) -> float | None:
    task: dict[str, Any] = {"method": name, "size": size, "windows": [[START, STOP]], "budget": options.budget}
    found = cells.ask("benchmarks.streamed", task, threads=1, limit=options.limit)
    return None if "failed" in found else float(found["windows"][0]["processor_mean"])


def _exponent(values: list[int], times: list[float | None]) -> str:
    known = [(value, time) for value, time in zip(values, times, strict=True) if time][-3:]
    if len(known) < 3:
        return "–"
    x, y = np.log(np.array(known)).T
    slope = np.polyfit(x, y, 1)[0]
    return f"{slope:.2f}"
