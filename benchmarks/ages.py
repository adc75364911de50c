"""One method twice, young and old, in turns of a few rounds on the same decision sets: does a round cost more late?"""

from __future__ import annotations

import json
import sys
from itertools import islice
from time import process_time
from typing import Any

import numpy as np

from benchmarks.child import play, single, warm_up
from benchmarks.data import Size, stream
from benchmarks.methods import METHODS

BLOCK = 25


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
    # The stream of the old one goes on where it was: these rounds are new to both.
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
