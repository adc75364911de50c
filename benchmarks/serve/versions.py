"""Two versions of the service compared in one run, in turns: `python -m benchmarks.serve.versions --help`."""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from unittest.mock import patch

from benchmarks.serve.load import PARAMETERS, for_seconds, machine, measure, prepare
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


@dataclass(frozen=True)
class Rate:
    """Pairs per second, processor time of the service per pair in microseconds, and the worse p99 in milliseconds."""

    pairs: float
    cpu: float
    p99: float


def by_benchmark(running: Service, world: World, connections: int, seconds: float) -> Rate:
    """Measure with the client of these benchmarks."""
    record, until = Record(), for_seconds(seconds)
    traffic = Traffic(world, record)
    row = measure("pairs", running, record, [traffic.pairs(until) for _ in range(connections)]).rows()
    return Rate(row["per_second"], row["server_cpu_us"], max(row["decide_p99_ms"], row["reward_p99_ms"]))


def by_wrk(running: Service, script: Path, connections: int, seconds: float) -> Rate:
    """Measure with wrk; half of its requests are decisions."""
    before = running.cpu_seconds()
    command = ["wrk", "-t1", f"-c{connections}", f"-d{seconds:.0f}s", "--latency", "-s", str(script), running.url]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    if "Non-2xx" in said:
        raise RuntimeError(f"requests were refused:\n{said}")
    return read_wrk(said, running.cpu_seconds() - before)


def read_wrk(said: str, cpu: float) -> Rate:
    """Return what wrk printed about a run that took so much processor time of the service."""
    count, took = re.findall(r"(\d+) requests in ([\d.]+)s", said)[0]
    value, unit = re.findall(r"99%\s+([\d.]+)(us|ms|s)\b", said)[0]
    pairs = int(count) / 2
    return Rate(pairs / float(took), 1e6 * cpu / pairs, float(value) * {"us": 1e-3, "ms": 1.0, "s": 1e3}[unit])


def compare(sources: Sequence[Path], connections: Sequence[int], seconds: float, repeats: int, world: World) -> str:
    """Return the table of medians; the versions take turns, a new service each time."""
    found: dict[tuple[str, int, Path], list[Rate]] = {}
    for repeat in range(repeats):
        for source in sources[:: 1 if repeat % 2 == 0 else -1]:
            with tempfile.TemporaryDirectory() as place, patch.dict(os.environ, PYTHONPATH=str(source.resolve())):
                script, bodies = Path(place) / "pairs.lua", Path(place) / "bodies"
                bodies.write_bytes(b"".join(body + b"}\n" for body, _ in world.bodies))
                script.write_text(WRK % {"bodies": bodies, "policy": POLICY})
                with service(Path(place) / "data") as running:
                    prepare(running.url, world, PARAMETERS)
                    play(running.address, [Traffic(world, Record()).pairs(for_seconds(3.0)) for _ in range(8)])
                    for count in connections:
                        ours = by_benchmark(running, world, count, seconds)
                        found.setdefault(("benchmark", count, source), []).append(ours)
                        found.setdefault(("wrk", count, source), []).append(by_wrk(running, script, count, seconds))
    body = []
    for (client, count, source), rates in sorted(found.items(), key=lambda item: item[0][:2]):
        pairs, cpu, p99 = (median(getattr(rate, name) for rate in rates) for name in ("pairs", "cpu", "p99"))
        body.append([client, str(count), str(source), f"{pairs:,.0f}", f"{cpu:,.0f}", f"{p99:.1f}"])
    return aligned(["client", "connections", "version", "pairs per second", "µs of processor each", "p99, ms"], body)


def main() -> None:
    """Compare, and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sources", type=Path, nargs="+", required=True, help="the folders src of some checkouts")
    parser.add_argument("--dim", type=int, default=384)
    parser.add_argument("--arms", type=int, default=100, help="K, the items named in each request")
    parser.add_argument("--connections", type=int, nargs="+", default=[1, 8, 32])
    parser.add_argument("--seconds", type=float, default=4.0, help="for each measurement")
    parser.add_argument("--repeats", type=int, default=3, help="of which the median is shown")
    asked = parser.parse_args()
    world = World(asked.dim, asked.arms)
    print(f"d = {asked.dim}, K = {asked.arms} of {world.items:,} items, SQLite, client and service on {machine()}.\n")
    print(compare(asked.sources, asked.connections, asked.seconds, asked.repeats, world))


if __name__ == "__main__":
    main()
