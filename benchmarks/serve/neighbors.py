"""What other policies notice while one is flooded, exported, uploaded to and deleted.

`python -m benchmarks.serve.neighbors --help`
"""

from __future__ import annotations

import argparse
import multiprocessing
import tempfile
from collections.abc import Callable
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.serve.load import at_rate, for_seconds, machine, prepare
from benchmarks.serve.process import Service, service
from benchmarks.serve.traffic import CATALOGUE, POLICY, Record, Traffic, World
from benchmarks.serve.wire import Script, play
from eigenbandits.lab.reporting.tables import aligned
from eigenbandits.serve.client import Client

QUIET = "quiet"
TARGET_P99 = 50.0


def watch(running: Service, world: World, seconds: float, rate: float, *others: Script) -> Record:
    """Play pairs of the quiet policy at a rate, next to other scripts, and return how long they took."""
    record, until, pace = Record(), for_seconds(seconds), at_rate(rate)
    traffic = Traffic(world, record, QUIET)
    play(running.address, [*(traffic.pairs(until, pace) for _ in range(4)), *others])
    return record


def during(
    running: Service, world: World, seconds: float, rate: float, work: Callable[..., None], *args: Any
) -> Record:
    """Return the same while a process of its own does something again and again.

    In a thread of this one it would hold up the client that measures.
    """
    context = multiprocessing.get_context("spawn")
    started = context.Event()
    process = context.Process(target=work, args=(running.url, started, *args))
    process.start()
    try:
        started.wait(60)
        return watch(running, world, seconds, rate)
    finally:
        process.terminate()
        process.join()


def export(url: str, started: Event, path: str) -> None:
    """Export the log of the other policy, again and again."""
    with Client(url) as client:
        started.set()
        while True:
            client.export(POLICY, Path(path))


def upload(url: str, started: Event, items: int, dim: int) -> None:
    """Replace items of the other policy's catalogue, again and again."""
    vectors = np.random.default_rng(0).standard_normal((items, dim)).astype(np.float32)
    ids = [f"new-{i}" for i in range(items)]
    with Client(url) as client:
        started.set()
        while True:
            client.add_items(CATALOGUE, ids, vectors)


def row(name: str, record: Record) -> list[str]:
    """Return one row of the table: percentiles of decisions and rewards, in milliseconds."""
    cells = [name, str(len(record.decide))]
    for taken in (record.decide, record.reward):
        marks = np.percentile(taken, [50, 99, 100]) * 1000
        cells.append(" / ".join(f"{mark:.1f}" for mark in marks))
    return [*cells, str(sum(record.refused.values()))]


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=8.0, help="for each row")
    parser.add_argument("--rate", type=float, default=50.0, help="pairs per second of the quiet policy")
    parser.add_argument("--items", type=int, default=10_000, help="of the catalogue that is uploaded")
    parser.add_argument("--connections", type=int, default=16, help="that flood the other policy")
    asked = parser.parse_args()
    world, small = World(384, 100), World(64, 20, seed=1)
    body = []
    with tempfile.TemporaryDirectory() as place, service(Path(place) / "data") as running:
        prepare(running.url, world, {"noise": 0.5, "rank": 16, "seed": 0}, "PSLB")
        with Client(running.url) as client:
            client.create_catalogue(QUIET, small.ids, small.vectors)
            client.create_policy(QUIET, "EigenUCB", {"seed": 0}, catalogue=QUIET)
            watch(running, small, 3.0, asked.rate)
            body.append(row("nothing else", watch(running, small, asked.seconds, asked.rate)))
            until = for_seconds(asked.seconds)
            flood = [Traffic(world, Record(), POLICY, seed=i).pairs(until) for i in range(asked.connections)]
            body.append(row("one is flooded", watch(running, small, asked.seconds, asked.rate, *flood)))
            measured = (running, small, asked.seconds, asked.rate)
            body.append(row("it is exported", during(*measured, export, f"{place}/log.parquet")))
            body.append(row("it is uploaded to", during(*measured, upload, asked.items, world.dim)))
            client.delete_policy(POLICY)
            body.append(row("it was deleted", watch(running, small, asked.seconds, asked.rate)))
    head = ["while", "pairs", "decide, ms", "reward, ms", "refused"]
    print(
        f"A policy (d = 64, K = 20) at {asked.rate:g} pairs per second, next to one of d = 384, K = 100, on {machine()}"
    )
    print("Milliseconds: median, 99th percentile and maximum; decisions are timed from when they were due.\n")
    print(aligned(head, body))


if __name__ == "__main__":
    main()
