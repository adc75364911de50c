"""An hour of replayed traffic, with memory and latency taken by the minute: `python -m benchmarks.serve.soak --help`.

Stop it anywhere, and the same command goes on: the service keeps its folder, and finished minutes stay in the table.
"""

from __future__ import annotations

import argparse
import csv
import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.serve.load import PARAMETERS, RESULTS, at_rate, for_seconds, machine, prepare
from benchmarks.serve.process import Service, service
from benchmarks.serve.traffic import Record, Traffic, World
from benchmarks.serve.trend import Trend, trend
from benchmarks.serve.wire import play
from eigenbandits.files import write_whole
from eigenbandits.lab.reporting.renderer import canvas, encode
from eigenbandits.lab.reporting.tables import aligned
from eigenbandits.serve.client import Client

EMPTY_RATE = 10.0
# What is judged: the column, its name, its unit, and the change over the run that is still called flat.
JUDGED = (
    ("memory_mib", "memory", "MiB", 0.05),
    ("decide_p50_ms", "decide, p50", "ms", 0.2),
    ("decide_p99_ms", "decide, p99", "ms", 0.2),
    ("reward_p50_ms", "reward, p50", "ms", 0.2),
    ("reward_p99_ms", "reward, p99", "ms", 0.2),
    ("empty_p50_ms", "empty request, p50", "ms", 0.2),
    ("cpu_share", "processor", "of a core", 0.2),
)


def minute(
    running: Service, world: World, number: int, rate: float, connections: int, seconds: float
) -> dict[str, Any]:
    """Replay one minute of traffic at a steady rate, and return its row of the table."""
    record = Record()
    traffic = Traffic(world, record, seed=number)
    until, pace = for_seconds(seconds), at_rate(rate)
    cpu, start = running.cpu_seconds(), time.perf_counter()
    # Empty requests beside them tell a machine that has become busy from a service that has become slow.
    beside = traffic.empty(until, at_rate(EMPTY_RATE))
    play(running.address, [*(traffic.pairs(until, pace) for _ in range(connections)), beside])
    took = time.perf_counter() - start
    row: dict[str, Any] = {"minute": number, "at": round(time.time()), "pairs": record.pairs, "seconds": took}
    for kind in ("decide", "reward", "empty"):
        marks = np.percentile(getattr(record, kind), [50, 95, 99]) * 1000
        row |= {f"{kind}_p{q}_ms": round(float(v), 3) for q, v in zip((50, 95, 99), marks, strict=True)}
    with Client(running.url) as client:
        pending = client.status()["pending"]
    return row | {
        "memory_mib": round(running.memory() / 2**20, 2),
        "cpu_share": round((running.cpu_seconds() - cpu) / took, 4),
        "open_files": running.open_files(),
        "disk_mib": round(running.on_disk() / 2**20, 2),
        "pending": pending,
        "reward_rate": round(record.earned / max(record.pairs, 1), 4),
        "refused": sum(record.refused.values()),
    }


def append(path: Path, row: Mapping[str, Any]) -> None:
    """Put a row under the table as soon as it is known."""
    new = not path.exists()
    with path.open("a", newline="") as file:
        writer = csv.DictWriter(file, list(row))
        if new:
            writer.writeheader()
        writer.writerow(row)


def read(path: Path) -> list[dict[str, float]]:
    """Return the finished minutes."""
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return [{name: float(value) for name, value in row.items()} for row in csv.DictReader(file)]


def trends(rows: Sequence[Mapping[str, float]], settle: int) -> dict[str, Trend]:
    """Return the line through each judged column, without the first minutes, in which caches fill."""
    return {name: trend([row[name] for row in rows[settle:]]) for name, *_ in JUDGED}


def summary(rows: Sequence[Mapping[str, float]], settle: int, setting: str) -> str:
    """Return the whole report in words."""
    found = trends(rows, settle)
    body = []
    for name, label, unit, allowed in JUDGED:
        line = found[name]
        low, high = line.interval
        judged = f"{line.verdict(allowed)} (± {allowed:.0%})"
        change = f"{line.change:+.3g} ± {line.error:.2g}"
        body.append([label, f"{line.level:.3g} {unit}", change, f"{low:+.1%} … {high:+.1%}", judged])
    pairs, refused = sum(row["pairs"] for row in rows), sum(row["refused"] for row in rows)
    quarter = max(1, len(rows) // 12)
    shown = [*range(0, len(rows), quarter), len(rows) - 1]
    columns = ["minute", "pairs", "decide_p50_ms", "decide_p99_ms", "reward_p50_ms", "reward_p99_ms", "memory_mib"]
    columns += ["cpu_share", "open_files", "disk_mib", "pending", "reward_rate"]
    listed = [[f"{rows[i][name]:g}" for name in columns] for i in dict.fromkeys(shown)]
    parts = [
        setting,
        f"{len(rows)} minutes, {pairs:,.0f} pairs, {refused:.0f} refused.",
        aligned(["", "level", "change over the run", "95 % interval", "verdict"], body),
        f"Lines through minutes {settle + 1} to {len(rows)}; errors after Newey and West.",
        aligned([name.replace("_", "\n") for name in columns], listed),
    ]
    return "\n\n".join(parts)


def draw(rows: Sequence[Mapping[str, float]]) -> bytes:
    """Return the figure: memory, latency, processor and reward over the minutes."""
    made, (memory, latency, processor, earned) = canvas(2, 2, width=4.6, height=2.6)
    minutes = [row["minute"] for row in rows]
    held = [row["memory_mib"] for row in rows]
    memory.plot(minutes, held, color="#0072B2")
    memory.set(title="Memory of the service", ylabel="MiB", ylim=(0, 1.2 * max(held)))
    for name, label, line in (
        ("decide_p99_ms", "decide, p99", "solid"),
        ("reward_p99_ms", "reward, p99", "dashed"),
        ("decide_p50_ms", "decide, p50", "dashdot"),
        ("reward_p50_ms", "reward, p50", "dotted"),
        ("empty_p50_ms", "empty, p50", (0, (1, 3))),
    ):
        latency.plot(minutes, [row[name] for row in rows], label=label, linestyle=line)
    latency.set(title="Latency as the client sees it", ylabel="ms", yscale="log")
    latency.legend(fontsize="small", frameon=False, ncols=2)
    processor.plot(minutes, [row["cpu_share"] for row in rows], color="#0072B2")
    processor.set(title="Processor of the service", xlabel="minute", ylabel="cores", ylim=(0, None))
    earned.plot(minutes, [row["reward_rate"] for row in rows], color="#0072B2")
    earned.set(title="Reward earned", xlabel="minute", ylabel="mean reward of a pair", ylim=(0, 1.05))
    return encode(made, "png")


def main() -> None:
    """Replay the minutes that are missing, then judge them all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=int, default=60)
    parser.add_argument("--seconds", type=float, default=60.0, help="of one minute, for a trial")
    parser.add_argument("--rate", type=float, default=100.0, help="pairs per second")
    parser.add_argument("--connections", type=int, default=8)
    parser.add_argument("--dim", type=int, default=384)
    parser.add_argument("--arms", type=int, default=100)
    parser.add_argument("--settle", type=int, default=10, help="minutes at the start that are not judged")
    parser.add_argument("--options", nargs="*", default=[], help="more options of the service, without the dashes")
    parser.add_argument("--folder", type=Path, default=Path("results/soak"), help="of the service and the table")
    parser.add_argument("--out", type=Path, default=RESULTS / "serve", help="for the report and the figure")
    asked = parser.parse_args()
    world = World(asked.dim, asked.arms)
    asked.folder.mkdir(parents=True, exist_ok=True)
    asked.out.mkdir(parents=True, exist_ok=True)
    path = asked.folder / "minutes.csv"
    if len(read(path)) < asked.minutes:
        with service(asked.folder / "data", *(f"--{option}" for option in asked.options)) as running:
            prepare(running.url, world, PARAMETERS)
            # Until every decider knows of the policy.
            time.sleep(1.0)
            while (done := len(read(path))) < asked.minutes:
                row = minute(running, world, done + 1, asked.rate, asked.connections, asked.seconds)
                append(path, row)
                print(json.dumps(row), flush=True)
    rows = read(path)
    setting = (
        f"{asked.rate:g} pairs per second from {asked.connections} connections, d = {asked.dim}, K = {asked.arms} of "
        f"{world.items:,} items, EigenUCB {PARAMETERS}; options: {' '.join(asked.options) or 'none'}; client and "
        f"service on {machine()}."
    )
    text = summary(rows, min(asked.settle, len(rows) - 3), setting)
    print(f"\n{text}")
    write_whole(asked.out / "soak.md", f"# Soak\n\n```text\n{text}\n```\n\n![](soak.png)\n".encode())
    write_whole(asked.out / "soak.csv", path.read_bytes())
    write_whole(asked.out / "soak.png", draw(rows))


if __name__ == "__main__":
    main()
