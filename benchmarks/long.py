"""Whether time per round grows with t: late rounds against early ones."""

from __future__ import annotations

import argparse
from typing import Any

from benchmarks import cells, tables
from benchmarks.methods import METHODS

WINDOWS = [[1_000, 10_000], [45_000, 55_000], [90_000, 100_000]]
SIZE = {"dim": 100, "arms": 10}
SECONDS_PER_WINDOW = 120.0


def compare(options: argparse.Namespace) -> str:
    """Play our methods for 100,000 rounds and return a table of late rounds against early ones."""
    heads = [f"{start:,}–{stop:,}" for start, stop in WINDOWS]
    parts = [
        tables.machine(),
        "",
        f"d = {SIZE['dim']}, K = {SIZE['arms']}, one thread. Processor time per round, ms, as median / mean of a "
        "window of rounds. Late / early: the last window over the first, each over its own floor.",
        "",
        f"| method | {' | '.join(heads)} | late / early, median | mean |",
        "|---" + (len(heads) + 2) * "|---:" + "|",
    ]
    for name in (name for name in options.methods if METHODS[name].group == "ours"):
        task: dict[str, Any] = {"method": name, "size": SIZE, "windows": WINDOWS, "budget": SECONDS_PER_WINDOW}
        found = cells.ask("benchmarks.streamed", task, threads=1, limit=1_200.0)
        parts.append(f"| {METHODS[name].label} | {_cells(found, len(heads))} |")
        print(parts[-1], flush=True)
    return "\n".join([*parts, ""])


def _cells(found: dict[str, Any], windows: int) -> str:
    if "failed" in found:
        return f"{found['failed']}{(windows + 1) * ' |'}"
    shown = [
        f"{tables.number(window['processor_median'] * 1e3)} / {tables.number(window['processor_mean'] * 1e3)}"
        for window in found["windows"]
    ]
    first, last = found["windows"][0], found["windows"][-1]
    # The floor tells whether the machine itself was slower late in the run.
    drift = last["floor"]["theta_warm"] / first["floor"]["theta_warm"]
    for name in ("processor_median", "processor_mean"):
        shown.append(f"{last[name] / first[name] / drift:.2f}")
    return " | ".join(shown)
