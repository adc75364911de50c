"""The traffic that is replayed: a catalogue, queries, and the reward that each item earns for each query."""

from __future__ import annotations

import base64
import json
import secrets
import time
from collections.abc import Callable, Generator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from benchmarks.serve.wire import Answer, Script, Step, request

POLICY, CATALOGUE = "load", "load"


@dataclass
class World:
    """Items and queries around a few topics in d dimensions; an item earns more, the closer it is to the query.

    Parameters
    ----------
    dim
        d.
    offered
        K, the ids named in each request.
    items
        Items in the catalogue.
    queries
        Different queries; they come again and again.
    topics
        Dimensions that matter.
    """

    dim: int = 384
    offered: int = 100
    items: int = 1000
    queries: int = 500
    topics: int = 8
    seed: int = 0
    ids: list[str] = field(init=False)
    vectors: NDArray[np.float32] = field(init=False)
    bodies: list[tuple[bytes, list[str]]] = field(init=False)
    chances: dict[str, NDArray[np.float64]] = field(init=False)

    def __post_init__(self) -> None:
        rng = np.random.default_rng(self.seed)
        axes = rng.standard_normal((self.topics, self.dim)) / self.dim**0.5

        def cloud(count: int) -> NDArray[np.float64]:
            # A large common mean, as sentence embeddings have it.
            around: NDArray[np.float64] = rng.standard_normal((count, self.topics)) @ axes / self.topics**0.5
            around += 1.0 / self.dim**0.5
            return around

        items, queries = cloud(self.items), cloud(self.queries)
        self.vectors = items.astype("<f4")
        self.ids = [f"item-{i:05d}" for i in range(self.items)]
        mean = items.mean(axis=0)
        match = (queries - mean) @ (items - mean).T
        chance = 1.0 / (1.0 + np.exp(-6.0 * match))
        self.chances = {name: chance[:, i] for i, name in enumerate(self.ids)}
        self.bodies = []
        for query in queries.astype("<f4"):
            offered = [self.ids[i] for i in rng.choice(self.items, size=self.offered, replace=False)]
            text = json.dumps({"query": base64.b64encode(query.tobytes()).decode(), "items": offered})
            self.bodies.append((text[:-1].encode(), offered))


@dataclass
class Record:
    """Latencies in seconds by kind of request, and what went wrong."""

    decide: list[float] = field(default_factory=list)
    reward: list[float] = field(default_factory=list)
    empty: list[float] = field(default_factory=list)
    earned: float = 0.0
    pairs: int = 0
    refused: dict[int, int] = field(default_factory=dict)

    def refuse(self, status: int) -> None:
        """Count an answer that was not what was asked for."""
        self.refused[status] = self.refused.get(status, 0) + 1


class Traffic:
    """Scripts of requests against one policy with a catalogue."""

    def __init__(self, world: World, record: Record, policy: str = POLICY, seed: int = 0) -> None:
        self.world, self.record = world, record
        self._decide, self._reward = f"/v1/policies/{policy}/decide", f"/v1/policies/{policy}/reward"
        self._rng = np.random.default_rng(seed)

    def _pick(self) -> tuple[int, bytes]:
        which = int(self._rng.integers(self.world.queries))
        return which, self.world.bodies[which][0] + b',"request":"' + secrets.token_hex(8).encode() + b'"}'

    def _earned(self, which: int, item: str) -> float:
        return float(self._rng.random() < self.world.chances[item][which])

    def _timed(self, content: bytes, kept: list[float], due: float | None = None) -> Generator[Step, Answer, bytes]:
        """Send a request, keep how long it took, and return the body of the answer; nothing where it was refused."""
        # Timed from when it was due: a service that falls behind must not look better for it.
        start = time.perf_counter() if due is None else due
        answer = yield content
        if answer.status != 200:
            self.record.refuse(answer.status)
            return b""
        kept.append(answer.at - start)
        return answer.body

    def pairs(self, until: Callable[[], bool], pace: Callable[[], float] | None = None) -> Script:
        """Decide, then reward, again and again; with a pace, each pair at its own moment and timed from it."""
        record = self.record
        while not until():
            due = pace() if pace is not None else None
            if due is not None and due > time.perf_counter():
                yield due
            which, body = self._pick()
            said = yield from self._timed(request(self._decide, body), record.decide, due)
            if not said:
                continue
            made = json.loads(said)
            earned = self._earned(which, made["item"])
            body = b'{"decision":"%s","reward":%.1f}' % (made["decision"].encode(), earned)
            if (yield from self._timed(request(self._reward, body), record.reward)):
                record.earned += earned
                record.pairs += 1

    def batches(self, size: int, until: Callable[[], bool]) -> Script:
        """Do the same with the batch forms."""
        record = self.record
        while not until():
            picked = [self._pick() for _ in range(size)]
            body = b'{"requests":[' + b",".join(body for _, body in picked) + b"]}"
            said = yield from self._timed(request(f"{self._decide}/batch", body), record.decide)
            if not said:
                continue
            made = json.loads(said)["decisions"]
            earned = [self._earned(which, one["item"]) for (which, _), one in zip(picked, made, strict=True)]
            pairs = [{"decision": one["decision"], "reward": r} for one, r in zip(made, earned, strict=True)]
            body = json.dumps({"rewards": pairs}).encode()
            if (yield from self._timed(request(f"{self._reward}/batch", body), record.reward)):
                record.earned += sum(earned)
                record.pairs += size

    def empty(self, until: Callable[[], bool], pace: Callable[[], float] | None = None) -> Script:
        """Ask for nothing, as often as it goes or at a pace: the floor of the server itself."""
        content = request("/v1/empty", b"{}")
        while not until():
            if pace is not None and (due := pace()) > time.perf_counter():
                yield due
            yield from self._timed(content, self.record.empty)
