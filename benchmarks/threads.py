"""What the threads of BLAS cost a round: `python -m benchmarks.threads`."""

from __future__ import annotations

import os
import subprocess
import sys
from unittest.mock import patch

import eigenbandits as eb
from eigenbandits.lab.reporting.tables import aligned
from eigenbandits.linalg import threads

DIM, ARMS, WARM, ROUNDS = 384, 100, 200, 800


def rounds() -> float:
    """Return the microseconds that a round of EigenUCB takes, in this process."""
    environment = eb.environments.LowRank(dim=DIM, rank=8, arms=ARMS)
    policy = eb.EigenUCB(seed=0)
    eb.run(policy, environment, rounds=WARM, seed=0)
    return float(1e6 * eb.run(policy, environment, rounds=ROUNDS, seed=1).seconds.mean())


def main() -> None:
    """Measure in new processes, and print a table."""
    if len(sys.argv) > 1:
        if sys.argv[1] == "all":
            with patch.object(threads, "pools", tuple):
                print(rounds())
        else:
            print(rounds())
        return
    body = []
    for name, mode, limit in (
        ("all threads", "all", None),
        ("one thread while the policy works", "policy", None),
        ("OPENBLAS_NUM_THREADS=1", "policy", "1"),
    ):
        environment = {key: value for key, value in os.environ.items() if not key.endswith("_NUM_THREADS")}
        if limit:
            environment["OPENBLAS_NUM_THREADS"] = limit
        command = [sys.executable, "-m", "benchmarks.threads", mode]
        printed = subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout
        body.append([name, f"{float(printed):,.0f}"])
    print(aligned([f"d = {DIM}, K = {ARMS}, {os.cpu_count()} cores", "µs a round"], body))


if __name__ == "__main__":
    main()
