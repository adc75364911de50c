"""The same load by wrk, which Debian packages: `python -m benchmarks.serve.wrk --help`.

A generator in C takes less of the cores that it shares with the service than the one in Python.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.serve.load import PARAMETERS, for_seconds, machine, prepare
from benchmarks.serve.process import Service, service
from benchmarks.serve.traffic import POLICY, Record, Traffic, World
from benchmarks.serve.wire import play
from eigenbandits.lab.reporting.tables import aligned

_EMPTY = """
wrk.method, wrk.path, wrk.body = "POST", "/v1/empty", "{}"
wrk.headers["Content-Type"] = "application/json"
"""
# Every answer to a decision is followed, on whichever connection is free next, by its reward.
_PAIRS = """
local headers = {["Content-Type"] = "application/json"}
local bodies, waiting, sent = {}, {}, 0
for line in io.lines("BODIES") do bodies[#bodies + 1] = line end
function request()
  local decision = table.remove(waiting, 1)
  if decision then
    local body = string.format('{"decision":"%s","reward":%d}', decision, math.random(0, 1))
    return wrk.format("POST", "/v1/policies/POLICY/reward", headers, body)
  end
  sent = sent + 1
  local body = string.format('%s,"request":"SEED-%d"}', bodies[math.random(#bodies)], sent)
  return wrk.format("POST", "/v1/policies/POLICY/decide", headers, body)
end
function response(status, _, body)
  local decision = not body:find('"status"', 1, true) and body:match('"decision":"([^"]+)"')
  if decision then waiting[#waiting + 1] = decision end
end
"""


@dataclass(frozen=True)
class Run:
    """The results of one run: requests per second, and the 50th and 99th percentile of their milliseconds."""

    rate: float
    middle: float
    p99: float
    refused: int


def run(url: str, connections: int, seconds: float, script: Path) -> Run:
    """Run wrk with one thread."""
    command = ["wrk", "-t1", f"-c{connections}", f"-d{seconds:g}s", "--latency", "-s", str(script), url]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    refused = re.search(r"Non-2xx or 3xx responses: (\d+)", said)
    rate = re.search(r"Requests/sec:\s+([\d.]+)", said)
    assert rate is not None, said
    return Run(float(rate[1]), _milliseconds(said, 50), _milliseconds(said, 99), int(refused[1]) if refused else 0)


def _milliseconds(said: str, share: int) -> float:
    found = re.search(rf"^\s+{share}%\s+([\d.]+)(us|ms|s)$", said, re.MULTILINE)
    assert found is not None, said
    return float(found[1]) * {"us": 1e-3, "ms": 1.0, "s": 1e3}[found[2]]


def measure(
    running: Service, plain: Service, world: World, folder: Path, seconds: float, connections: Sequence[int]
) -> list[list[str]]:
    """Return the rows of the table."""
    bodies, empty, pairs = folder / "bodies", folder / "empty.lua", folder / "pairs.lua"
    bodies.write_bytes(b"\n".join(body for body, _ in world.bodies))
    empty.write_text(_EMPTY)
    rows = []
    for count in connections:
        fixed, floor = run(plain.url, count, seconds, empty), run(running.url, count, seconds, empty)
        pairs.write_text(_PAIRS.replace("BODIES", str(bodies)).replace("POLICY", POLICY).replace("SEED", str(count)))
        found = run(running.url, count, seconds, pairs)
        rates, pairs_rate = [fixed.rate, floor.rate], found.rate / 2.0
        cells = [f"{rate:,.0f}" for rate in [*rates, pairs_rate]] + [f"{found.middle:.1f} / {found.p99:.1f}"]
        rows.append([str(count), *cells, *(f"{pairs_rate / rate:.3f}" for rate in rates)])
        print(*rows[-1], f"{fixed.refused + floor.refused + found.refused} refused", sep="  ", flush=True)
    return rows


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=8.0, help="for each run")
    parser.add_argument("--connections", type=int, nargs="+", default=[1, 8, 16, 24, 32])
    parser.add_argument("--options", nargs="*", default=[], help="more options of the service, without the dashes")
    asked = parser.parse_args()
    world, options = World(), [f"--{option}" for option in asked.options]
    with (
        tempfile.TemporaryDirectory() as place,
        service(Path(place) / "plain", program=["-m", "benchmarks.serve.plain"]) as plain,
        service(Path(place) / "data", *options) as running,
    ):
        prepare(running.url, world, PARAMETERS)
        time.sleep(1.0)
        play(running.address, [Traffic(world, Record()).pairs(for_seconds(4.0)) for _ in range(8)])
        rows = measure(running, plain, world, Path(place), asked.seconds, asked.connections)
    head = [
        "connections",
        "plain Starlette\nper second",
        "empty requests\nper second",
        "pairs\nper second",
        "ms of\na request",
        "pairs over\nplain Starlette",
        "pairs over\nempty requests",
    ]
    print(f"\nd = {world.dim}, K = {world.offered} of {world.items:,} items, EigenUCB {json.dumps(PARAMETERS)}")
    print(f"Options: {' '.join(asked.options) or 'none'}; wrk and service on {machine()}.\n")
    print(aligned(head, rows))
    print(
        "\nms: median / 99th percentile. A pair is two requests, a decision and its reward. Plain Starlette: an empty"
    )
    print("handler under uvicorn, in one process; empty requests: one of the service, in all of its processes.")


if __name__ == "__main__":
    main()
