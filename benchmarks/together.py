"""Several methods in one process, in turns of a few rounds: what slows the machine slows all of them alike."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

from benchmarks.child import play, single, warm_up
from benchmarks.data import Size, load
from benchmarks.floor import Floor
from benchmarks.methods import METHODS


def run(task: dict[str, Any]) -> dict[str, Any]:
    """Play all methods on the same rounds, block by block, and return the times of each block.

    A block is long enough that a method's own matrices are back in cache for most of it, and short enough that the
    machine is the same for all methods within it. The order changes from block to block.
    """
    size, names = Size(**task["size"]), list(task["methods"])
    data = load(Path(task["data"]))
    for name in names:
        warm_up(name)
    methods = {name: METHODS[name].make(size) for name in names}
    medians: dict[str, list[float]] = {name: [] for name in names}
    sums: dict[str, list[float]] = {name: [] for name in names}
    floor = Floor(data.reserve, data.theta, data.basis)
    turns = -(-len(data.rounds) // task["block"])
    # Each measurement of the floor uses up two decision sets of the reserve.
    every = -(-2 * turns // (len(data.reserve) - 1))
    measured = []
    started = process_time()
    for turn in range(turns):
        rounds = data.rounds[turn * task["block"] : (turn + 1) * task["block"]]
        for name in names:
            timing = play(methods[name], single(rounds) if METHODS[name].single else rounds)
            medians[name].append(float(np.median(timing.processor)))
            sums[name].append(float(np.sum(timing.processor)))
        if turn % every == 0:
            floor.measure()
            measured.append(turn)
        names.append(names.pop(0))
        if process_time() - started > task["budget"]:
            break
    return {"medians": medians, "sums": sums, "floors": floor.seconds, "floors_after": measured}


if __name__ == "__main__":
    json.dump(run(json.load(sys.stdin)), sys.stdout)
