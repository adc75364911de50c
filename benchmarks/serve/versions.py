"""Two versions of the service compared in one run, in turns: `python -m benchmarks.serve.versions --help`."""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any
from unittest.mock import patch

from benchmarks.serve.load import for_seconds, machine, measure, prepare
from benchmarks.serve.process import Service, service
from benchmarks.serve.traffic import POLICY, Record, Traffic, World
from benchmarks.serve.wire import play
from eigenbandits.lab.reporting.tables import aligned

# Sends a decision, then its reward; one thread, so that whichever connection is free sends whatever is due.
WRK = """
local bodies, due, headers = {}, {}, {["Content-Type"] = "application/json"}
for line in io.lines("%(bodies)s") do bodies[#bodies + 1] = line end
request = function()
  if #due > 0 then
    local body = '{"decision":"' .. table.remove(due) .. '","reward":' .. math.random(0, 1) .. '}'
    return wrk.format("POST", "/v1/policies/%(policy)s/reward", headers, body)
  end
  return wrk.format("POST", "/v1/policies/%(policy)s/decide", headers, bodies[math.random(#bodies)])
end
response = function(status, sent, body)
  local id = status == 200 and body:match('"decision": *"([^"]+)"')
  if id and body:find('"propensity"', 1, true) then due[#due + 1] = id end
end
"""


# The policies that are measured, by name.
POLICIES: dict[str, tuple[str, dict[str, Any]]] = {
    "PSLB": ("PSLB", {"noise": 0.5, "rank": 16, "seed": 0}),
    "EigenUCB": ("EigenUCB", {"seed": 0}),
}
# Asks for nothing.
EMPTY = """
wrk.method, wrk.path, wrk.body = "POST", "/v1/empty", "{}"
wrk.headers["Content-Type"] = "application/json"
"""


@dataclass(frozen=True)
class Rate:
    """Pairs per second, processor time of the service per pair in microseconds, and the worse p99 in milliseconds.

    `empty` is how many empty requests the same service answers, per second, right before.
    """

    pairs: float
    cpu: float
    p99: float
    empty: float


def by_benchmark(running: Service, world: World, connections: int, seconds: float) -> Rate:
    """Measure with the client of these benchmarks."""
    record, until = Record(), for_seconds(0.3 * seconds)
    empty = Traffic(world, record)
    measure("empty", running, record, [empty.empty(until) for _ in range(connections)])
    empties = len(record.empty) / (0.3 * seconds)
    record, until = Record(), for_seconds(seconds)
    traffic = Traffic(world, record)
    row = measure("pairs", running, record, [traffic.pairs(until) for _ in range(connections)]).rows()
    return Rate(row["per_second"], row["server_cpu_us"], max(row["decide_p99_ms"], row["reward_p99_ms"]), empties)


def by_wrk(running: Service, folder: Path, connections: int, seconds: float) -> Rate:
    """Measure with wrk, whose scripts are in a folder; half of its requests are decisions."""
    empty = _wrk(running, folder / "empty.lua", connections, max(1.0, round(0.3 * seconds)))
    before = running.cpu_seconds()
    said = _wrk(running, folder / "pairs.lua", connections, seconds)
    return read_wrk(said, running.cpu_seconds() - before, empty)


def _wrk(running: Service, script: Path, connections: int, seconds: float) -> str:
    command = ["wrk", "-t1", f"-c{connections}", f"-d{seconds:.0f}s", "--latency", "-s", str(script), running.url]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    if "Non-2xx" in said:
        raise RuntimeError(f"requests were refused:\n{said}")
    return said


def read_wrk(said: str, cpu: float, empty: str) -> Rate:
    """Return what wrk printed about a run that took so much processor time of the service, and about empty requests."""
    count, took = re.findall(r"(\d+) requests in ([\d.]+)s", said)[0]
    value, unit = re.findall(r"99%\s+([\d.]+)(us|ms|s)\b", said)[0]
    pairs = int(count) / 2
    p99 = float(value) * {"us": 1e-3, "ms": 1.0, "s": 1e3}[unit]
    return Rate(pairs / float(took), 1e6 * cpu / pairs, p99, float(re.findall(r"Requests/sec:\s+([\d.]+)", empty)[0]))


def compare(
    sources: Sequence[Path], policy: str, connections: Sequence[int], seconds: float, repeats: int, world: World
) -> str:
    """Return the table of medians; the versions take turns, a new service each time."""
    found: dict[tuple[str, int, Path], list[Rate]] = {}
    for repeat in range(repeats):
        for source in sources[:: 1 if repeat % 2 == 0 else -1]:
            with tempfile.TemporaryDirectory() as place, patch.dict(os.environ, PYTHONPATH=str(source.resolve())):
                folder = Path(place)
                (folder / "bodies").write_bytes(b"".join(body + b"}\n" for body, _ in world.bodies))
                (folder / "pairs.lua").write_text(WRK % {"bodies": folder / "bodies", "policy": POLICY})
                (folder / "empty.lua").write_text(EMPTY)
                with service(folder / "data") as running:
                    algorithm, parameters = POLICIES[policy]
                    prepare(running.url, world, parameters, algorithm)
                    play(running.address, [Traffic(world, Record()).pairs(for_seconds(3.0)) for _ in range(8)])
                    for count in connections:
                        ours = by_benchmark(running, world, count, seconds)
                        found.setdefault(("benchmark", count, source), []).append(ours)
                        found.setdefault(("wrk", count, source), []).append(by_wrk(running, folder, count, seconds))
    body = []
    for (client, count, source), rates in sorted(found.items(), key=lambda item: item[0][:2]):
        pairs, cpu, p99 = (median(getattr(rate, name) for rate in rates) for name in ("pairs", "cpu", "p99"))
        share = median(rate.pairs / rate.empty for rate in rates)
        body.append([client, str(count), str(source), f"{pairs:,.0f}", f"{share:.3f}", f"{cpu:,.0f}", f"{p99:.1f}"])
    head = ["client", "connections", "version", "pairs per second", "per empty request", "µs of processor", "p99, ms"]
    return aligned(head, body)


def compare_fixed(
    sources: Sequence[Path], policy: str, connections: int, pairs: int, repeats: int, world: World
) -> str:
    """Return the table for a given number of pairs, after as many others: the younger a policy, the more it costs."""
    body = []
    for repeat in range(repeats):
        for source in sources[:: 1 if repeat % 2 == 0 else -1]:
            with (
                tempfile.TemporaryDirectory() as place,
                patch.dict(os.environ, PYTHONPATH=str(source.resolve())),
                service(Path(place) / "data") as running,
            ):
                algorithm, parameters = POLICIES[policy]
                prepare(running.url, world, parameters, algorithm)
                for seed in (0, 1):
                    record = Record()
                    traffic, until = Traffic(world, record, seed=seed), partial(_reached, record, pairs)
                    phase = measure("pairs", running, record, [traffic.pairs(until) for _ in range(connections)])
                row = phase.rows()
                p99 = max(row["decide_p99_ms"], row["reward_p99_ms"])
                numbers = [f"{row['server_cpu_us']:,.0f}", f"{row['per_second']:,.0f}", f"{p99:.1f}"]
                body.append([str(source), str(repeat + 1), *numbers])
    return aligned(["version", "repeat", "µs of processor", "pairs per second", "p99, ms"], sorted(body))


def _reached(record: Record, pairs: int) -> bool:
    return record.pairs >= pairs


def main() -> None:
    """Compare, and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sources", type=Path, nargs="+", required=True, help="the folders src of some checkouts")
    parser.add_argument("--policy", choices=list(POLICIES), default="EigenUCB")
    parser.add_argument("--dim", type=int, default=384)
    parser.add_argument("--arms", type=int, default=100, help="K, the items named in each request")
    parser.add_argument("--connections", type=int, nargs="+", default=[1, 8, 32])
    parser.add_argument("--seconds", type=float, default=4.0, help="for each measurement")
    parser.add_argument("--pairs", type=int, help="a number of pairs in place of seconds, at the first of connections")
    parser.add_argument("--repeats", type=int, default=3, help="of which the median is shown")
    asked = parser.parse_args()
    world = World(asked.dim, asked.arms)
    head = f"{asked.policy}, d = {asked.dim}, K = {asked.arms} of {world.items:,} items, SQLite"
    print(f"{head}, client and service on {machine()}.\n")
    if asked.pairs:
        count = asked.connections[0]
        print(compare_fixed(asked.sources, asked.policy, count, asked.pairs, asked.repeats, world))
        return
    print(compare(asked.sources, asked.policy, asked.connections, asked.seconds, asked.repeats, world))


if __name__ == "__main__":
    main()
