"""Seen from outside: health, readiness, status, metrics and the page."""

from __future__ import annotations

import mimetypes
import time
from pathlib import Path

from fastapi import APIRouter, Response
from prometheus_client import CONTENT_TYPE_LATEST

import eigenbandits
from eigenbandits.serve import models
from eigenbandits.serve.context import Context, may_fail
from eigenbandits.serve.errors import Refusal

PAGE = Path(__file__).resolve().parent.parent / "page"
# The page loads nothing from elsewhere and may be shown in no frame.
_HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-cache",
}


_BROKEN = (
    "The policy {!r} cannot be rebuilt: its log was pruned and no snapshot is whole. Restore a backup or delete it."
)


def router(context: Context) -> APIRouter:
    """Return the routes."""
    routes = APIRouter(tags=["service"])
    engine = context.engine
    begun = time.monotonic()

    @routes.get("/health")
    async def health() -> models.Health:
        """Say that the process is alive."""
        return models.Health(status="ok")

    @routes.get("/ready", responses={503: {"model": models.Ready, "description": "Not now."}})
    async def ready(response: Response) -> models.Ready:
        """Say whether the service decides and learns."""
        reasons = list(engine.reasons)
        response.status_code = 503 if reasons else 200
        return models.Ready(ready=not reasons, reasons=reasons)

    @routes.get("/v1/status", responses=may_fail())
    async def status() -> models.Status:
        """Return how the service does."""
        hosted, reasons = list(engine.policies.values()), list(engine.reasons)
        return models.Status(
            version=eigenbandits.__version__,
            uptime_seconds=round(time.monotonic() - begun, 1),
            ready=not reasons,
            reasons=reasons,
            warnings=[_BROKEN.format(name) for name in engine.broken],
            policies=len(hosted),
            pending=sum(one.head.pending for one in hosted),
            latency=engine.metrics.latency(time.perf_counter()),
            batch=engine.metrics.batches(),
        )

    @routes.post("/v1/empty", responses=may_fail())
    async def empty() -> dict[str, str]:
        """Do nothing: what the way through the service costs, to compare other requests with."""
        return {}

    @routes.get(
        "/metrics",
        response_class=Response,
        responses=may_fail() | {200: {"content": {"text/plain": {"schema": {"type": "string"}}}}},
    )
    async def metrics() -> Response:
        """Return the metrics for Prometheus."""
        engine.metrics.broken.set(len(engine.broken))
        return Response(engine.metrics.page(engine.policies.values()), media_type=CONTENT_TYPE_LATEST)

    files = {path.name: path.read_bytes() for path in PAGE.iterdir() if path.is_file()}

    @routes.get("/", include_in_schema=False)
    async def page() -> Response:
        return await part("index.html")

    @routes.get("/page/{name:path}", include_in_schema=False)
    async def part(name: str) -> Response:
        if name not in files:
            raise Refusal(404, "unknown_path", "There is nothing here.")
        media = mimetypes.guess_type(name)[0] or "application/octet-stream"
        return Response(files[name], media_type=media, headers=_HEADERS)

    return routes
