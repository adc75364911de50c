"""One cell of the comparison, in a process of its own: `python -m benchmarks.child`, with its task on stdin."""

from __future__ import annotations

import json
import math
import resource
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np

from benchmarks.data import Data, Size, load, stream
from benchmarks.floor import Floor
from benchmarks.methods import METHODS, Method, ready
from eigenbandits.environments import Round

# Regret is noted after these rounds, so that methods that got differently far can be compared.
MARKS = (10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000)


@dataclass
class Timing:
    """Seconds of each round, wall clock and processor, and the regret."""

    choose: list[float] = field(default_factory=list)
    learn: list[float] = field(default_factory=list)
    processor: list[float] = field(default_factory=list)
    regret: list[float] = field(default_factory=list)
    regret_at: dict[int, float] = field(default_factory=dict)
    random_regret: float = 0.0


def play(
    method: Method, rounds: Iterable[Round], floor: Floor | None = None, every: int = 1, budget: float = math.inf
) -> Timing:
    """Play the rounds until the budget of seconds is spent, at least two, and time each; the floor goes in between."""
    ready(method)
    timing = Timing()
    lost, spent = 0.0, 0.0
    for t, offered in enumerate(rounds):
        if floor is not None and t % every == 0:
            floor.measure()
        used, start = process_time(), perf_counter()
        index = method.choose(offered.actions)
        chosen, used_choosing = perf_counter(), process_time() - used
        reward, action = offered.reward(index), offered.actions[index]
        used, resumed = process_time(), perf_counter()
        method.learn(action, reward)
        done, used_learning = perf_counter(), process_time() - used
        timing.choose.append(chosen - start)
        timing.learn.append(done - resumed)
        timing.processor.append(used_choosing + used_learning)
        lost += float(offered.best - offered.values[index])
        timing.random_regret += float(offered.best - offered.values.mean())
        timing.regret.append(lost)
        if t + 1 in MARKS:
            timing.regret_at[t + 1] = lost
        # The processor's time, not the clock's: how busy the machine is must not decide how many rounds are played.
        spent += timing.processor[-1]
        if spent > budget and t >= 1:
            break
    if floor is not None:
        floor.measure()
    return timing


def summary(timing: Timing, floor: Floor, skip: int) -> dict[str, Any]:
    """Return what the table needs, over the rounds after the first `skip`."""
    choose, learn = np.array(timing.choose[skip:]), np.array(timing.learn[skip:])
    total = choose + learn
    return {
        "rounds": len(timing.choose),
        "skipped": skip,
        "median": float(np.median(total)),
        "p90": float(np.quantile(total, 0.9)),
        "mean": float(total.mean()),
        "processor_median": float(np.median(timing.processor[skip:])),
        "processor_mean": float(np.mean(timing.processor[skip:])),
        "choose_median": float(np.median(choose)),
        "learn_median": float(np.median(learn)),
        "regret": timing.regret[-1],
        "random_regret": timing.random_regret,
        "regret_at": timing.regret_at,
        "floor": floor.medians(),
    }


def peak_bytes() -> int:
    """Return the largest resident size that this process has had."""
    status = Path("/proc/self/status")
    if status.exists():
        # ru_maxrss starts at the parent's size; this one starts at zero.
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def run(task: dict[str, Any]) -> dict[str, Any]:
    """Play one method on one size."""
    size = Size(**task["size"])
    data: Data = load(Path(task["data"]))
    floor = Floor(data.reserve, data.theta, data.basis)
    before_import = peak_bytes()
    entry = METHODS[task["method"]]
    warm_up(task["method"])
    before = peak_bytes()
    method = entry.make(size)
    every = max(1, len(data.rounds) // max(1, len(data.reserve) // 2 - 1))
    rounds = single(data.rounds) if entry.single else data.rounds
    before = peak_bytes() if entry.single else before
    timing = play(method, rounds, floor, every, task["budget"])
    after = peak_bytes()
    played = len(timing.choose)
    found = summary(timing, floor, skip=min(played - 1, max(1, played // 5)))
    return found | {"memory": after - before, "import_memory": before - before_import}


def single(rounds: list[Round]) -> list[Round]:
    """Return the rounds with their decision sets in single precision."""
    return [Round(offered.actions.astype(np.float32), offered.values, offered.noise) for offered in rounds]


def warm_up(name: str) -> None:
    """Import what a method needs and wake BLAS up, with a throw-away of the smallest size."""
    small = Size(dim=8, arms=3, rank=2)
    method = METHODS[name].make(small)
    ready(method)
    for offered in islice(stream(small), 8):
        index = method.choose(offered.actions)
        method.learn(offered.actions[index], offered.reward(index))


if __name__ == "__main__":
    json.dump(run(json.load(sys.stdin)), sys.stdout)
