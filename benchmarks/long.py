"""Whether time per round grows with t: late rounds against early ones."""

from __future__ import annotations

import argparse
import json
import sys
from itertools import islice
from time import process_time
from typing import Any

import numpy as np

from benchmarks import cells, tables
from benchmarks.child import play, single, warm_up
from benchmarks.data import Size, stream
from benchmarks.methods import METHODS

YOUNG, OLD, ROUNDS = 1_000, 90_000, 9_000
SIZE = {"dim": 100, "arms": 10}
SECONDS = 30.0
# Rounds in a turn.
BLOCK = 25


def compare(options: argparse.Namespace) -> str:
    """Play our methods for 100,000 rounds and return a table of late rounds against early ones."""
    parts = [
        tables.machine(),
        "",
        f"d = {SIZE['dim']}, K = {SIZE['arms']}, one thread. Two policies of each kind, one that has played {YOUNG:,} "
        f"rounds and one that has played {OLD:,}, go on over the same {ROUNDS:,} decision sets in turns of {BLOCK} "
        "rounds, for half a minute at most. Processor time per round, ms, as median / mean. Late / early: the median "
        "over the turns of one's median over the other's; sum: all rounds of one over all rounds of the other.",
        "",
        f"| method | from {YOUNG:,} on | from {OLD:,} on | late / early, median | sum |",
        "|---|---:|---:|---:|---:|",
    ]
    for name in (name for name in options.methods if METHODS[name].group == "ours"):
        task: dict[str, Any] = {"method": name, "size": SIZE, "young": YOUNG, "old": OLD, "rounds": ROUNDS}
        found = cells.ask("benchmarks.long", task | {"budget": SECONDS}, threads=1, limit=1_200.0)
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


def run(task: dict[str, Any]) -> dict[str, Any]:
    """Let one policy play to `young` and another to `old` rounds, then both the same `rounds` more, in turns.

    What slows the machine slows both, and each meets it equally often, which windows of one long run do not.
    """
    size, kind = Size(**task["size"]), METHODS[task["method"]]
    warm_up(task["method"])
    policies = {}
    for age in ("young", "old"):
        policies[age] = kind.make(size)
        rounds = stream(size)
        play(policies[age], islice(rounds, task[age]))
    medians: dict[str, list[float]] = {age: [] for age in policies}
    sums: dict[str, list[float]] = {age: [] for age in policies}
    order = list(policies)
    started = process_time()
    # The stream of the old one continues where it was: these rounds are new to both.
    for _ in range(task["rounds"] // BLOCK):
        offered = list(islice(rounds, BLOCK))
        for age in order:
            timing = play(policies[age], single(offered) if kind.single else offered)
            medians[age].append(float(np.median(timing.processor)))
            sums[age].append(float(np.sum(timing.processor)))
        order.reverse()
        if process_time() - started > task["budget"]:
            break
    quotients = np.array(medians["old"]) / np.array(medians["young"])
    return {
        "median": {age: float(np.median(medians[age])) for age in medians},
        "mean": {age: float(np.sum(sums[age])) / (BLOCK * len(sums[age])) for age in sums},
        "late_over_early": float(np.median(quotients)),
        "late_over_early_sum": float(np.sum(sums["old"]) / np.sum(sums["young"])),
        "turns": len(quotients),
    }


if __name__ == "__main__":
    json.dump(run(json.load(sys.stdin)), sys.stdout)
