"""What the service counts: for Prometheus, and the latency of the last requests for its own page."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest

if TYPE_CHECKING:
    from eigenbandits.serve.hosted import Hosted

_SECONDS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
# Percentiles are of the last minute, of so many requests at most: of all policies together, and of each.
_RECENT_SECONDS, _RECENT, _RECENT_EACH = 60.0, 20_000, 2_000


class Metrics:
    """The counters of one server, in a registry of its own, so that two servers in one process do not mix."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        self.requests = self._counter("requests", "Requests answered.", "endpoint", "status")
        self.request_seconds = self._histogram("request_seconds", "Time from request to answer.", "endpoint")
        self.decisions = self._counter("decisions", "Decisions made.", "policy")
        self.rewards = self._counter("rewards", "Rewards, by what became of them.", "policy", "outcome")
        self.pending = self._gauge("pending_decisions", "Decisions that wait for their reward.", "policy")
        self.reward_mean = self._gauge("reward_mean", "Mean of the last 1,000 rewards.", "policy")
        self.rank = self._gauge("rank", "Rank of the subspace.", "policy")
        self.batch_size = self._histogram("batch_size", "Requests that shared a transaction.", "kind", sizes=_SIZES)
        self.commit_seconds = self._histogram("commit_seconds", "Time for a transaction to reach the disk.")
        self.choose_seconds = self._histogram("choose_seconds", "Time to choose for one batch of one policy.")
        self.learn_seconds = self._histogram("learn_seconds", "Time to learn from one batch of one policy.")
        self.queue_length = self._gauge("queue_length", "Requests that wait for the writer.")
        self.snapshot_seconds = self._histogram("snapshot_seconds", "Time the writer spent on a snapshot.")
        self.snapshot_age = self._gauge("snapshot_age_seconds", "Age of the oldest of the policies' snapshots.")
        self.storage_errors = self._counter("storage_errors", "Times that the database or the disk failed.")
        self.clock_jumps = self._counter("clock_jumps", "Times that the wall clock jumped.")
        self.broken = self._gauge("broken_policies", "Policies that could not be rebuilt and were left out.")
        self.ready = self._gauge("ready", "1 while the service decides and learns.")
        self._children: dict[tuple[str, int], tuple[Counter, Histogram]] = {}
        # Time and duration of the last answers by endpoint and policy; "" stands for all policies together.
        self._latest: dict[tuple[str, str], deque[tuple[float, float]]] = {}
        self._batches: dict[str, deque[int]] = {kind: deque(maxlen=1000) for kind in ("decide", "reward")}

    def _counter(self, name: str, text: str, *labels: str) -> Counter:
        return Counter(f"eigenbandits_{name}_total", text, labels, registry=self.registry)

    def _gauge(self, name: str, text: str, *labels: str) -> Gauge:
        return Gauge(f"eigenbandits_{name}", text, labels, registry=self.registry)

    def _histogram(self, name: str, text: str, *labels: str, sizes: tuple[float, ...] = _SECONDS) -> Histogram:
        return Histogram(f"eigenbandits_{name}", text, labels, registry=self.registry, buckets=sizes)

    def count_request(self, endpoint: str, status: int, seconds: float, now: float, policy: str = "") -> None:
        """Count one answered request, of a policy where it was for one."""
        counters = self._children.get((endpoint, status))
        if counters is None:
            # Finding a labelled counter takes longer than counting.
            counters = self.requests.labels(endpoint, str(status)), self.request_seconds.labels(endpoint)
            self._children[endpoint, status] = counters
        counters[0].inc()
        counters[1].observe(seconds)
        # A name that somebody made up is none to be remembered.
        if status == 200 and endpoint in ("decide", "reward"):
            for name, most in (("", _RECENT), (policy, _RECENT_EACH)):
                self._latest.setdefault((endpoint, name), deque(maxlen=most)).append((now, seconds))

    def count_batch(self, kind: str, size: int) -> None:
        """Count the requests of one kind in one transaction."""
        if size:
            self.batch_size.labels(kind).observe(size)
            self._batches[kind].append(size)

    def count_rewards(self, hosted: Hosted, counts: dict[str, int], rewards: Iterable[float]) -> None:
        """Count what became of some rewards."""
        for outcome, count in counts.items():
            if count:
                self.rewards.labels(hosted.name, outcome).inc(count)
        hosted.recent.extend(rewards)

    def batches(self) -> dict[str, float | None]:
        """Return the mean size of the last batches."""
        return {
            f"{kind}_mean": round(sum(sizes) / len(sizes), 2) if sizes else None
            for kind, sizes in self._batches.items()
        }

    def latency(self, now: float, policy: str = "") -> dict[str, Any]:
        """Return percentiles of the time to answer over the last minute, of a policy or of all of them."""
        latency: dict[str, Any] = {}
        for endpoint in ("decide", "reward"):
            answers = list(self._latest.get((endpoint, policy), ()))
            times = [seconds for then, seconds in answers if now - then <= _RECENT_SECONDS]
            found = np.percentile(times, (50, 90, 99)).tolist() if times else [None] * 3
            names = ("p50_ms", "p90_ms", "p99_ms")
            milliseconds = [None if value is None else round(1000.0 * value, 3) for value in found]
            latency[endpoint] = {"count": len(times)} | dict(zip(names, milliseconds, strict=True))
        return latency

    def page(self, policies: Iterable[Hosted]) -> bytes:
        """Return the metrics in Prometheus' text format."""
        for hosted in policies:
            self.pending.labels(hosted.name).set(hosted.head.pending)
            if hosted.recent:
                self.reward_mean.labels(hosted.name).set(sum(hosted.recent) / len(hosted.recent))
            directions = getattr(hosted.policy.subspace, "directions", None)
            if directions is not None:
                self.rank.labels(hosted.name).set(directions.shape[1])
        return generate_latest(self.registry)

    def forget(self, name: str) -> None:
        """Drop the labels of a policy that was deleted."""
        for labelled in (self.pending, self.reward_mean, self.rank, self.decisions, self.rewards):
            labelled.remove_by_labels({"policy": name})
        for endpoint in ("decide", "reward"):
            self._latest.pop((endpoint, name), None)
