"""The state of the service: health, readiness, status and metrics."""

import time

from prometheus_client import CONTENT_TYPE_LATEST
from starlette.requests import Request
from starlette.responses import Response

import eigenbandits
from eigenbandits.serve.http import models
from eigenbandits.serve.http.endpoint import JSON
from eigenbandits.serve.http.gateway import Gateway

_BROKEN = "The policy {!r} cannot be rebuilt: {}. Restore a backup or delete it."


class StatusHandlers:
    """Handlers of the endpoints that report the state of the service."""

    def __init__(self, gateway: Gateway) -> None:
        self._writer = gateway.writer
        self._registry = gateway.registry
        self._started = time.monotonic()

    async def health(self) -> models.Health:
        """Report that the process is alive."""
        return models.Health(status="ok")

    async def ready(self) -> Response:
        """Report whether the service can decide and learn."""
        reasons = list(self._writer.reasons)
        readiness = models.Ready(ready=not reasons, reasons=reasons, belief_age=self._writer.belief_age)
        return Response(readiness.model_dump_json(exclude_none=True), 503 if reasons else 200, media_type=JSON)

    async def get_status(self) -> models.Status:
        """Return readiness, uptime, warnings, latency and batch sizes."""
        hosted, reasons, metrics = list(self._registry.policies.values()), self._writer.reasons, self._writer.metrics
        return models.Status(
            version=eigenbandits.__version__,
            uptime_seconds=round(time.monotonic() - self._started, 1),
            ready=not reasons,
            reasons=reasons,
            belief_age=self._writer.belief_age,
            warnings=[_BROKEN.format(name, one.reason) for name, one in self._registry.broken.items()],
            policies=len(hosted),
            pending=sum(one.head.pending for one in hosted),
            latency=metrics.latency(time.perf_counter()),
            batch=metrics.batches(),
        )

    async def metrics(self) -> Response:
        """Return the metrics for Prometheus."""
        metrics = self._writer.metrics
        metrics.broken.set(len(self._registry.broken))
        for hosted in self._registry.policies.values():
            metrics.pending.labels(hosted.name).set(hosted.head.pending)
            if hosted.recent:
                metrics.reward_mean.labels(hosted.name).set(sum(hosted.recent) / len(hosted.recent))
            directions = getattr(hosted.policy.subspace, "directions", None)
            if directions is not None:
                metrics.rank.labels(hosted.name).set(directions.shape[1])
        return Response(metrics.text(), media_type=CONTENT_TYPE_LATEST)

    async def empty(self, request: Request) -> bytes:
        """Do nothing, to measure the cost of passing through the service."""
        return b"{}"
