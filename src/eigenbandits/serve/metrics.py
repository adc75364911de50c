"""Metrics: counters for Prometheus, and latencies of recent requests for the service's own page."""

from collections import deque
from collections.abc import Mapping
from typing import Any

import numpy as np
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest

_SECONDS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
# Percentiles cover the last minute, up to this many requests for all policies together and for each policy.
_RECENT_SECONDS, _RECENT, _RECENT_EACH = 60.0, 20_000, 2_000


class Metrics:
    """The metrics of one server, in a registry of its own, so that two servers in one process do not mix."""

    def __init__(self) -> None:
        self.collectors = CollectorRegistry()
        ProcessCollector(registry=self.collectors)
        self.requests = self._counter("requests", "Requests answered.", "endpoint", "status")
        self.request_seconds = self._histogram("request_seconds", "Time from request to answer.", "endpoint")
        self.decisions = self._counter("decisions", "Decisions made.", "policy")
        self.rewards = self._counter("rewards", "Rewards, by outcome.", "policy", "outcome")
        self.pending = self._gauge("pending_decisions", "Decisions that wait for their reward.", "policy")
        self.reward_mean = self._gauge(
            "reward_mean",
            "Mean of the last 1,000 rewards, including defaults.",
            "policy",
        )
        self.rank = self._gauge("rank", "Rank of the subspace.", "policy")
        self.batch_size = self._histogram("batch_size", "Requests that shared a batch.", "kind", sizes=_SIZES)
        self.commit_seconds = self._histogram("commit_seconds", "Time for a transaction to reach the disk.")
        self.checkpoint_seconds = self._histogram("checkpoint_seconds", "Time that commits waited for a checkpoint.")
        self.choose_seconds = self._histogram("choose_seconds", "Time to choose for one batch of one policy.")
        self.learn_seconds = self._histogram("learn_seconds", "Time to learn from one batch of one policy.")
        self.queue_length = self._gauge("queue_length", "Requests that wait for the writer.")
        self.snapshot_seconds = self._histogram("snapshot_seconds", "Time the writer spent on a snapshot.")
        self.snapshot_age = self._gauge("snapshot_age_seconds", "Age of the oldest of the policies' snapshots.")
        self.storage_errors = self._counter("storage_errors", "Failures of the database or the disk.")
        self.clock_jumps = self._counter("clock_jumps", "Jumps of the wall clock.")
        self.broken = self._gauge("broken_policies", "Policies that could not be rebuilt and were left out.")
        self.ready = self._gauge("ready", "1 while the service can decide and learn.")
        self._children: dict[tuple[str, int], tuple[Counter, Histogram]] = {}
        # Time and duration of recent responses by endpoint and policy; "" stands for all policies together.
        self._recent: dict[tuple[str, str], deque[tuple[float, float]]] = {}
        self._batch_sizes = {kind: self.batch_size.labels(kind) for kind in ("decide", "reward")}
        self._batches: dict[str, deque[int]] = {kind: deque(maxlen=1000) for kind in ("decide", "reward")}

    def _counter(self, name: str, text: str, *labels: str) -> Counter:
        return Counter(f"eigenbandits_{name}_total", text, labels, registry=self.collectors)

    def _gauge(self, name: str, text: str, *labels: str) -> Gauge:
        return Gauge(f"eigenbandits_{name}", text, labels, registry=self.collectors)

    def _histogram(self, name: str, text: str, *labels: str, sizes: tuple[float, ...] = _SECONDS) -> Histogram:
        return Histogram(f"eigenbandits_{name}", text, labels, registry=self.collectors, buckets=sizes)

    def count_request(self, endpoint: str, status: int, seconds: float, now: float, policy: str = "") -> None:
        """Count one request, including its policy if it has one."""
        counters = self._children.get((endpoint, status))
        if counters is None:
            # Finding a labeled counter takes longer than counting.
            counters = self.requests.labels(endpoint, str(status)), self.request_seconds.labels(endpoint)
            self._children[endpoint, status] = counters
        counters[0].inc()
        counters[1].observe(seconds)
        # Only successful requests, so that names made up by callers cannot fill the memory.
        if status == 200 and endpoint in ("decide", "reward"):
            for name, most in (("", _RECENT), (policy, _RECENT_EACH)):
                self._recent.setdefault((endpoint, name), deque(maxlen=most)).append((now, seconds))

    def count_batch(self, kind: str, size: int) -> None:
        """Count the requests of one kind in one transaction."""
        if size:
            self._batch_sizes[kind].observe(size)
            self._batches[kind].append(size)

    def count_rewards(self, policy: str, counts: Mapping[str, int]) -> None:
        """Count rewards by their outcome."""
        for outcome, count in counts.items():
            if count:
                self.rewards.labels(policy, outcome).inc(count)

    def batches(self) -> dict[str, float | None]:
        """Return the mean size of recent batches."""
        return {
            f"{kind}_mean": round(sum(sizes) / len(sizes), 2) if sizes else None
            for kind, sizes in self._batches.items()
        }

    def latency(self, now: float, policy: str = "") -> dict[str, Any]:
        """Return percentiles of the response time over the last minute, for one policy or for all of them."""
        latency: dict[str, Any] = {}
        for endpoint in ("decide", "reward"):
            answers = list(self._recent.get((endpoint, policy), ()))
            times = [seconds for then, seconds in answers if now - then <= _RECENT_SECONDS]
            percentiles = np.percentile(times, (50, 90, 99)).tolist() if times else [None] * 3
            names = ("p50_ms", "p90_ms", "p99_ms")
            milliseconds = [None if value is None else round(1000.0 * value, 3) for value in percentiles]
            latency[endpoint] = {"count": len(times)} | dict(zip(names, milliseconds, strict=True))
        return latency

    def text(self) -> bytes:
        """Return the metrics in Prometheus' text format."""
        return generate_latest(self.collectors)

    def forget(self, name: str) -> None:
        """Drop the metrics of a deleted policy."""
        for labeled in (self.pending, self.reward_mean, self.rank, self.decisions, self.rewards):
            labeled.remove_by_labels({"policy": name})
        for endpoint in ("decide", "reward"):
            self._recent.pop((endpoint, name), None)
