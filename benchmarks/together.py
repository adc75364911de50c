"""Several methods in one process, in turns of a few rounds: what slows the machine slows all of them alike.

Rounds come from files that were drawn beforehand; or, where a task says how many "rounds", they are drawn between the
turns, since thousands of large decision sets would not fit into memory. Drawing is not timed.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

from benchmarks.child import play, single, warm_up
from benchmarks.data import Size, load, stream
from benchmarks.floor import Floor
from benchmarks.methods import METHODS
from eigenbandits.environments import Round


def run(task: dict[str, Any]) -> dict[str, Any]:
    """Play all methods on the same rounds, block by block, and return the times of each block.

    A block is long enough that a method's own matrices are back in cache for most of it, and short enough that the
    machine is the same for all methods within it. The order changes from block to block.
    """
    size, names = Size(**task["size"]), list(task["methods"])
    data = load(Path(task["data"])) if "data" in task else None
    for name in names:
        warm_up(name)
    methods = {name: METHODS[name].make(size) for name in names}
    medians: dict[str, list[float]] = {name: [] for name in names}
    sums: dict[str, list[float]] = {name: [] for name in names}
    total = task["rounds"] if data is None else len(data.rounds)
    turns = -(-total // task["block"])
    floor = None if data is None else Floor(data.reserve, data.theta, data.basis)
    # Each measurement of the floor uses up two decision sets of the reserve.
    every = 1 if data is None else -(-2 * turns // (len(data.reserve) - 1))
    measured = []
    started = process_time()
    source = stream(size) if data is None else iter(data.rounds)
    for turn, rounds in enumerate(_blocks(source, total, task["block"])):
        for name in names:
            timing = play(methods[name], single(rounds) if METHODS[name].single else rounds)
            medians[name].append(float(np.median(timing.processor)))
            sums[name].append(float(np.sum(timing.processor)))
        if floor is not None and turn % every == 0:
            floor.measure()
            measured.append(turn)
        names.append(names.pop(0))
        if process_time() - started > task["budget"]:
            break
    found = {"medians": medians, "sums": sums, "rounds": min(total, (turn + 1) * task["block"])}
    return found if floor is None else found | {"floors": floor.seconds, "floors_after": measured}


def _blocks(rounds: Iterator[Round], total: int, size: int) -> Iterator[list[Round]]:
    """Cut so many rounds into blocks, each drawn when it is asked for."""
    for start in range(0, total, size):
        yield list(islice(rounds, min(size, total - start)))


if __name__ == "__main__":
    json.dump(run(json.load(sys.stdin)), sys.stdout)
