"""When decision sets of a batch are better chosen in together: `python -m benchmarks.serve.together`."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

import eigenbandits as eb
from eigenbandits.lab.reporting.tables import aligned

# K and d, and how many sets are in a batch.
SHAPES = ((5, 16), (20, 16), (20, 64), (100, 32), (20, 128), (100, 128), (20, 384), (100, 384))
SETS, REPEATS = 8, 24


def seconds(kind: Any, arms: int, dim: int, together: bool) -> float:
    """Return the processor time of a choice, the median over batches with rewards in between."""
    rng = np.random.default_rng(0)
    policy = kind(seed=0)
    taken = []
    for repeat in range(2 * REPEATS):
        sets = list((rng.standard_normal((SETS, arms, dim)) / dim**0.5).astype(np.float32))
        # As in the service: most sets are not observed.
        observe = [repeat < REPEATS // 2 or (i == 0 and repeat % 2 == 0) for i in range(SETS)]
        started = time.process_time()
        if together:
            decisions = policy.choose_many(sets, observe=observe)
        else:
            decisions = [policy.choose(one, observe=seen) for one, seen in zip(sets, observe, strict=True)]
        taken.append(time.process_time() - started)
        policy.learn_many(decisions, [float(one.action[0] > 0) for one in decisions])
    return float(np.median(taken[REPEATS:])) / SETS


def main() -> None:
    """Print the table."""
    body = []
    with threadpool_limits(1, user_api="blas"):
        for kind in (eb.EigenUCB, eb.EigenTS, eb.LinUCB):
            for arms, dim in SHAPES:
                single, together = (1e6 * seconds(kind, arms, dim, one) for one in (False, True))
                names = [kind.__name__, str(arms), str(dim), f"{arms * dim:,}"]
                body.append([*names, f"{single:.0f}", f"{together:.0f}", f"{together / single:.2f}"])
    print(aligned(["algorithm", "K", "d", "numbers in a set", "one by one, µs", "together, µs", "ratio"], body))


if __name__ == "__main__":
    main()
