"""Throughput and latency of the service: `python -m benchmarks.serve.load --help`."""

from __future__ import annotations

import argparse
import json
import os
import platform
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.serve.process import Service, service
from benchmarks.serve.traffic import CATALOGUE, POLICY, Record, Traffic, World
from benchmarks.serve.wire import Script, play
from eigenbandits.files import write_whole
from eigenbandits.lab.reporting.tables import aligned
from eigenbandits.serve.client import Client

RESULTS = Path(__file__).resolve().parents[1] / "results"
TARGET_PAIRS, TARGET_P99 = 1500, 20.0
# Vectors arrive in single precision, so nothing is lost by keeping it.
PARAMETERS = {"dtype": "float32", "seed": 0}


@dataclass(frozen=True)
class Phase:
    """The results of one phase."""

    name: str
    seconds: float
    record: Record
    server_cpu: float
    client_cpu: float

    def rows(self) -> dict[str, Any]:
        """Return the results by name: a rate, and percentiles in milliseconds."""
        count = self.record.pairs or len(self.record.empty)
        found: dict[str, Any] = {"phase": self.name, "seconds": self.seconds, "per_second": count / self.seconds}
        for kind in ("empty", "decide", "reward"):
            values = getattr(self.record, kind)
            if values:
                marks = np.percentile(values, [50, 95, 99]) * 1000
                found |= {f"{kind}_p{q}_ms": float(v) for q, v in zip((50, 95, 99), marks, strict=True)}
        found |= {
            "server_cpu_us": 1e6 * self.server_cpu / max(count, 1),
            "client_cpu_us": 1e6 * self.client_cpu / max(count, 1),
            "server_cores": self.server_cpu / self.seconds,
            "refused": sum(self.record.refused.values()),
        }
        return found


def measure(name: str, running: Service, record: Record, scripts: Sequence[Script]) -> Phase:
    """Play scripts to their end and measure both sides."""
    server, client, start = running.cpu_seconds(), time.process_time(), time.perf_counter()
    play(running.address, scripts)
    seconds = time.perf_counter() - start
    return Phase(name, seconds, record, running.cpu_seconds() - server, time.process_time() - client)


def for_seconds(seconds: float) -> Callable[[], bool]:
    """Return a function that says whether so many seconds have passed."""
    stop = time.perf_counter() + seconds
    return lambda: time.perf_counter() >= stop


def at_rate(rate: float) -> Callable[[], float]:
    """Return a function that gives the times of a steady stream, shared by all its users."""
    start, taken = time.perf_counter(), 0

    def pace() -> float:
        nonlocal taken
        taken += 1
        return start + (taken - 1) / rate

    return pace


def prepare(url: str, world: World, parameters: dict[str, Any], algorithm: str = "EigenUCB") -> None:
    """Upload the catalogue and create the policy, unless they exist."""
    # Its processes may still be starting.
    with Client(url, timeout=60.0) as client:
        client.create_catalogue(CATALOGUE, world.ids, world.vectors)
        client.create_policy(POLICY, algorithm, parameters, catalogue=CATALOGUE)


def phases(running: Service, world: World, seconds: float, connections: Sequence[int], batch: int) -> list[Phase]:
    """Measure the floor, single requests over several numbers of connections, a steady rate, and batches."""
    found: list[Phase] = []

    def run(name: str, make: Callable[[Traffic, Callable[[], bool]], Script], count: int) -> Phase:
        record, until = Record(), for_seconds(seconds)
        traffic = Traffic(world, record, seed=len(found))
        found.append(measure(name, running, record, [make(traffic, until) for _ in range(count)]))
        print(_line(found[-1]), flush=True)
        return found[-1]

    for count in (1, 8):
        run(f"floor: empty handler, {_connections(count)}", lambda traffic, until: traffic.empty(until), count)
    for count in connections:
        run(f"pairs, {_connections(count)}", lambda traffic, until: traffic.pairs(until), count)
    pace = at_rate(TARGET_PAIRS)
    run(f"pairs at {TARGET_PAIRS:,}/s, 32 connections", lambda traffic, until: traffic.pairs(until, pace), 32)
    run(f"pairs in batches of {batch}, 4 connections", lambda traffic, until: traffic.batches(batch, until), 4)
    run("pairs, 16 connections, at the end", lambda traffic, until: traffic.pairs(until), 16)
    return found


def middle(runs: Sequence[Sequence[Phase]]) -> list[dict[str, Any]]:
    """Return for each phase the repeat with the median rate, with the lowest and the highest rate."""
    found = []
    for repeats in zip(*runs, strict=True):
        rows = sorted((phase.rows() for phase in repeats), key=lambda row: float(row["per_second"]))
        found.append(rows[len(rows) // 2] | {"lowest": rows[0]["per_second"], "highest": rows[-1]["per_second"]})
    return found


def _connections(count: int) -> str:
    return "1 connection" if count == 1 else f"{count} connections"


def _line(phase: Phase) -> str:
    row = phase.rows()
    return f"{phase.name}: {row['per_second']:,.0f} per second, {row['refused']} refused"


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Return the table of all phases."""

    def cell(row: dict[str, Any], kind: str) -> str:
        marks = [row.get(f"{kind}_p{q}_ms") for q in (50, 95, 99)]
        return " / ".join(f"{mark:.1f}" for mark in marks if mark is not None) or "–"

    head = ["phase", "per second", "range", "decide, ms", "reward, ms", "empty, ms"]
    head += ["server\nµs each", "server\ncores", "client\nµs each"]
    body = [
        [
            row["phase"],
            f"{row['per_second']:,.0f}",
            f"{row['lowest']:,.0f} – {row['highest']:,.0f}",
            *(cell(row, kind) for kind in ("decide", "reward", "empty")),
            f"{row['server_cpu_us']:,.0f}",
            f"{row['server_cores']:.2f}",
            f"{row['client_cpu_us']:,.0f}",
        ]
        for row in rows
    ]
    return aligned(head, body)


def verdict(rows: Sequence[dict[str, Any]]) -> str:
    """Say whether a phase of single pairs met both targets."""
    single = [row for row in rows if row["phase"].startswith("pairs, ")]
    both = [row for row in single if row["per_second"] >= TARGET_PAIRS and _worst(row) < TARGET_P99]
    best = max(both or single, key=lambda row: row["per_second"])
    found = f"{best['per_second']:,.0f} pairs per second with a p99 of {_worst(best):.1f} ms ({best['phase']})"
    target = f"at least {TARGET_PAIRS:,} pairs per second with every p99 below {TARGET_P99:g} ms"
    return f"Target {'met' if both else 'missed'}: {target}. The best phase of single pairs: {found}."


def _worst(row: dict[str, Any]) -> float:
    return float(max(row["decide_p99_ms"], row["reward_p99_ms"]))


def where_time_goes(world: World, parameters: dict[str, Any], seconds: float, connections: int) -> str:
    """Play pairs against a service that samples itself, and return where its processor time went."""
    with tempfile.TemporaryDirectory() as place:
        out = Path(place) / "profile.json"
        program = ["-m", "benchmarks.serve.profiled", str(out)]
        with service(Path(place) / "data", program=program) as running:
            prepare(running.url, world, parameters)
            record, until = Record(), for_seconds(seconds)
            traffic = Traffic(world, record)
            measure("profile", running, record, [traffic.pairs(until) for _ in range(connections)])
        found = json.loads(out.read_text())
    parts = []
    for title, key, limit in (("part", "owners", 10), ("function", "places", 25)):
        total = sum(found[key].values()) or 1.0
        listed = list(found[key].items())[:limit]
        body = [[name, f"{spent / total:.1%}", f"{1e6 * spent / max(record.pairs, 1):.0f}"] for name, spent in listed]
        parts.append(aligned([title, "of the time", "µs for a pair"], body))
    return "\n\n".join(parts)


def disk(folder: Path, count: int = 300) -> str:
    """Return how long this disk takes to sync one page: the floor of every commit."""
    taken = []
    with (folder / "floor").open("wb") as file:
        for _ in range(count):
            file.write(bytes(4096))
            file.flush()
            start = time.perf_counter()
            os.fdatasync(file.fileno())
            taken.append(time.perf_counter() - start)
    marks = np.percentile(taken, [50, 95, 99]) * 1000
    return f"This disk syncs a page of 4 KiB in {marks[0]:.1f} / {marks[1]:.1f} / {marks[2]:.1f} ms."


def machine() -> str:
    """Return the machine and the versions, in a line."""
    from importlib.metadata import version

    lines = Path("/proc/cpuinfo").read_text().splitlines()
    named = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    processor = (named or [platform.machine()])[0]
    packages = ", ".join(f"{name} {version(name)}" for name in ("uvicorn", "starlette", "numpy"))
    return f"{os.cpu_count()} cores ({processor}), Python {platform.python_version()}, {packages}"


def main() -> None:
    """Measure, print, and write load.md and load.json."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dim", type=int, default=384)
    parser.add_argument("--arms", type=int, default=100, help="K, the items named in each request")
    parser.add_argument("--items", type=int, default=1000, help="items in the catalogue")
    parser.add_argument("--seconds", type=float, default=5.0, help="for each phase")
    parser.add_argument("--repeats", type=int, default=3, help="of all phases; the one with the median rate is shown")
    parser.add_argument("--connections", type=int, nargs="+", default=[1, 4, 8, 16, 32])
    parser.add_argument("--batch", type=int, default=20)
    parser.add_argument("--parameters", type=json.loads, default=PARAMETERS, help="of EigenUCB, in JSON")
    parser.add_argument("--options", nargs="*", default=[], help="more options of the service, without the dashes")
    parser.add_argument("--no-profile", action="store_true")
    parser.add_argument("--only-profile", action="store_true")
    parser.add_argument("--out", type=Path, default=RESULTS / "serve")
    asked = parser.parse_args()
    world = World(asked.dim, asked.arms, asked.items)
    if asked.only_profile:
        print(where_time_goes(world, asked.parameters, asked.seconds, 16))
        return
    options = [f"--{option}" for option in asked.options]
    runs = []
    for _ in range(asked.repeats):
        # A new service for each repeat: a policy costs more the more it has learned.
        with tempfile.TemporaryDirectory() as place, service(Path(place) / "data", *options) as running:
            prepare(running.url, world, asked.parameters)
            play(running.address, [Traffic(world, Record()).pairs(for_seconds(3.0)) for _ in range(8)])
            runs.append(phases(running, world, asked.seconds, asked.connections, asked.batch))
            memory, floor = running.memory() / 2**20, disk(Path(place))
            with Client(running.url) as client:
                learned = client.policy(POLICY)["rewards"]
    rows = middle(runs)
    text = [
        f"d = {asked.dim}, K = {asked.arms} of {asked.items:,} items, EigenUCB {asked.parameters}; client and service "
        f"on {machine()}.",
        table(rows),
        f"The median of {asked.repeats} repeats by rate, with the lowest and the highest. Milliseconds are the 50th, "
        "95th and 99th percentiles as the client sees them (at a steady rate from the moment a request was due); µs "
        "are processor time per pair, or per empty request.",
        verdict(rows),
        f"{floor} At the end the policy had learned from {learned:,} rewards, and the service used {memory:.0f} MiB.",
    ]
    if not asked.no_profile:
        text += ["Where the service's processor time goes (sampled, 16 connections):"]
        text += [where_time_goes(world, asked.parameters, asked.seconds, 16)]
    print("\n" + "\n\n".join(text))
    asked.out.mkdir(parents=True, exist_ok=True)
    write_whole(asked.out / "load.md", ("# Load\n\n```text\n" + "\n\n".join(text) + "\n```\n").encode())
    write_whole(asked.out / "load.json", json.dumps({"machine": machine(), "phases": rows}, indent=1).encode())


if __name__ == "__main__":
    main()
