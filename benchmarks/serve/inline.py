"""Decisions whose vectors come with the request, in three forms: `python -m benchmarks.serve.inline --help`."""

from __future__ import annotations

import argparse
import base64
import json
import os
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.serve.load import PARAMETERS, Phase, for_seconds, machine, measure
from benchmarks.serve.process import service
from benchmarks.serve.traffic import POLICY, Record, Traffic, World
from benchmarks.serve.wire import Script, request
from eigenbandits.lab.reporting.tables import aligned
from eigenbandits.serve.client import Client

Vectors = NDArray[np.float32]
_PATH = f"/v1/policies/{POLICY}"


def decision_sets(world: World) -> list[Vectors]:
    """Return the sets of the world's requests, as its catalogue would form them."""
    mean, place = world.vectors.mean(axis=0), {name: i for i, name in enumerate(world.ids)}
    sets = []
    for body, offered in world.bodies:
        query = np.frombuffer(base64.b64decode(json.loads(body + b"}")["query"]), dtype="<f4")
        items = world.vectors[[place[name] for name in offered]]
        sets.append(np.ascontiguousarray((query - mean) * (items - mean), dtype="<f4"))
    return sets


def raw(vectors: Vectors) -> bytes:
    """Return a request with the bytes of the vectors as its body."""
    head = f"POST {_PATH}/decide?dim={vectors.shape[1]} HTTP/1.1\r\nHost: localhost\r\n"
    head += f"Content-Type: application/octet-stream\r\nContent-Length: {vectors.nbytes}\r\n\r\n"
    return head.encode() + vectors.tobytes()


def in_base64(vectors: Vectors) -> bytes:
    """Return a request with the vectors in base64, as the client sends them."""
    body = {"actions": base64.b64encode(vectors.tobytes()).decode(), "dim": vectors.shape[1]}
    return request(f"{_PATH}/decide", json.dumps(body).encode())


def listed(vectors: Vectors) -> bytes:
    """Return a request with the vectors as lists of numbers, with the digits that single precision needs."""
    return request(
        f"{_PATH}/decide", json.dumps({"actions": [list(map(float, map(str, v))) for v in vectors]}).encode()
    )


FORMS: dict[str, Callable[[Vectors], bytes]] = {"raw bytes": raw, "base64": in_base64, "lists of numbers": listed}


class Inline(Traffic):
    """Scripts of requests that bring their vectors with them."""

    def __init__(self, world: World, record: Record, requests: Sequence[bytes], seed: int) -> None:
        super().__init__(world, record, seed=seed)
        self._requests = requests

    def pairs(self, until: Callable[[], bool], pace: Callable[[], float] | None = None) -> Script:
        """Decide, then reward, again and again."""
        record = self.record
        while not until():
            which = int(self._rng.integers(len(self._requests)))
            said = yield from self._timed(self._requests[which], record.decide)
            if not said:
                continue
            made = json.loads(said)
            earned = self._earned(which, self.world.bodies[which][1][made["index"]])
            body = b'{"decision":"%s","reward":%.1f}' % (made["decision"].encode(), earned)
            if (yield from self._timed(request(self._reward, body), record.reward)):
                record.pairs += 1


def cells(phase: Phase, size: int, connections: int) -> list[str]:
    """Return one row of the table."""
    row = phase.rows()
    marks = [" / ".join(f"{row[f'{kind}_p{q}_ms']:.1f}" for q in (50, 95, 99)) for kind in ("decide", "reward")]
    spent = row["server_cpu_us"] + row["client_cpu_us"]
    floor = connections * spent / 1000.0 / min(connections, os.cpu_count() or 1)
    numbers = [f"{size / 1000:.0f}", str(connections), f"{row['per_second']:,.0f}"]
    return [phase.name, *numbers, *marks, f"{spent:,.0f}", f"{floor:.1f}", str(row["refused"])]


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=8.0, help="for each row")
    parser.add_argument("--connections", type=int, nargs="+", default=[1, 8])
    parser.add_argument("--options", nargs="*", default=[], help="more options of the service, without the dashes")
    asked = parser.parse_args()
    world, options, body = World(queries=100), [f"--{option}" for option in asked.options], []
    sets = decision_sets(world)
    for form, write in FORMS.items():
        requests = [write(vectors) for vectors in sets]
        with tempfile.TemporaryDirectory() as place, service(Path(place) / "data", *options) as running:
            with Client(running.url, timeout=60.0) as client:
                client.create_policy(POLICY, "EigenUCB", PARAMETERS, dim=world.dim)
            # The first time is to warm up: a young policy fits its shapes often.
            for turn, count in enumerate((8, *asked.connections)):
                record, until = Record(), for_seconds(asked.seconds)
                scripts = [Inline(world, record, requests, seed).pairs(until) for seed in range(count)]
                phase = measure(form, running, record, scripts)
                if turn:
                    body.append(cells(phase, len(requests[0]), count))
                    print(*body[-1], sep="  ", flush=True)
    head = ["form", "KB", "connections", "pairs per\nsecond", "decide, ms", "reward, ms"]
    head += ["µs of\na pair", "floor,\nms", "refused"]
    print(f"\nd = {world.dim}, K = {world.offered}, EigenUCB {json.dumps(PARAMETERS)}")
    print(f"Options: {' '.join(asked.options) or 'none'}; client and service on {machine()}.\n")
    print(aligned(head, body))
    print(
        "\nms: 50th, 95th and 99th percentile. µs of a pair: processor time of service and client. Floor: what a pair"
    )
    print("takes on average if all connections always wait for one, and all cores do nothing else.")


if __name__ == "__main__":
    main()
