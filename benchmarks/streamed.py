"""One method over rounds drawn as it goes, in a process of its own, timed window by window."""

from __future__ import annotations

import json
import sys
import tracemalloc
from itertools import islice
from typing import Any

from benchmarks.child import play, summary, warm_up
from benchmarks.data import SEED, Size, stream
from benchmarks.floor import Floor
from benchmarks.methods import METHODS

FLOORS_PER_WINDOW = 40


def run(task: dict[str, Any]) -> dict[str, Any]:
    """Play one method; with `trace` find its memory exactly instead of its time."""
    size = Size(**task["size"])
    warm_up(task["method"])
    return _memory(size, task) if task.get("trace") else _windows(size, task)


def _windows(size: Size, task: dict[str, Any]) -> dict[str, Any]:
    """Time each window of rounds [start, stop); each may use up the task's budget of seconds."""
    method, rounds = METHODS[task["method"]].make(size), stream(size)
    other = size.environment().instance(SEED + 1)
    sets = (offered.actions for offered in other.rounds())
    at, found = 0, []
    for start, stop in task["windows"]:
        play(method, islice(rounds, start - at))
        floor = Floor(sets, other.theta, other.basis)
        every = max(1, (stop - start) // FLOORS_PER_WINDOW)
        timing = play(method, islice(rounds, stop - start), floor, every, task["budget"])
        found.append({"window": [start, stop]} | summary(timing, floor, skip=0))
        at = stop
    return {"windows": found}


def _memory(size: Size, task: dict[str, Any]) -> dict[str, Any]:
    """Return the bytes that a policy holds between rounds, and the most that a round needs on top of its data."""
    rounds = stream(size)
    tracemalloc.start()
    offered = next(rounds)
    before = tracemalloc.get_traced_memory()[0]
    method = METHODS[task["method"]].make(size)
    peak = held = 0
    for _ in range(task["rounds"]):
        data = tracemalloc.get_traced_memory()[0] - held
        tracemalloc.reset_peak()
        index = method.choose(offered.actions)
        method.learn(offered.actions[index], offered.reward(index))
        now, highest = tracemalloc.get_traced_memory()
        peak, held = max(peak, highest - data), now - data
        offered = next(rounds)
    return {"held": held, "peak": peak, "data": before}


if __name__ == "__main__":
    json.dump(run(json.load(sys.stdin)), sys.stdout)
