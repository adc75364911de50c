"""Policies: create, list, look at, export, delete."""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from fastapi import APIRouter, Query, Response
from fastapi.responses import FileResponse
from starlette.background import BackgroundTask

from eigenbandits import files
from eigenbandits.serve import export, models
from eigenbandits.serve.context import Context, may_fail
from eigenbandits.serve.errors import StorageError, unavailable
from eigenbandits.serve.journal import BUCKET, Journal
from eigenbandits.serve.specs import Spec

_PARQUET = "application/vnd.apache.parquet"
_BINARY = {"content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}}


def router(context: Context) -> APIRouter:
    """Return the routes."""
    routes = APIRouter(prefix="/v1/policies", tags=["policies"])
    engine = context.engine

    def told(summary: dict[str, Any]) -> models.PolicyInfo:
        latency = engine.metrics.latency(time.perf_counter(), summary["name"])
        return models.PolicyInfo(**summary, latency=latency)

    @routes.post("", status_code=201, responses=may_fail(404, 409) | {200: {"model": models.PolicyInfo}})
    async def create_policy(body: models.NewPolicy, response: Response) -> models.PolicyInfo:
        """Create a policy; the very same again is answered with 200."""
        given = body.model_dump(exclude_none=True, exclude={"name", "parameters"})
        spec = Spec(**given, parameters=body.parameters)
        # Wrong parameters are refused here, before the writer is bothered.
        spec.make()
        summary, new = await context.run(context.admin.create_policy, body.name, spec)
        response.status_code = 201 if new else 200
        return told(summary)

    @routes.get("", responses=may_fail())
    async def list_policies() -> models.Policies:
        """List all policies."""
        return models.Policies(policies=[told(hosted.summary()) for hosted in engine.policies.values()])

    @routes.get("/{name}", responses=may_fail(404))
    async def get_policy(name: str) -> models.PolicyInfo:
        """Return one policy."""
        return told(engine.named(name).summary())

    @routes.delete("/{name}", status_code=204, responses=may_fail(404))
    async def delete_policy(name: str) -> None:
        """Delete a policy and its log."""
        await context.run(context.admin.delete_policy, name)

    @routes.get("/{name}/diagnostics", responses=may_fail(404))
    async def diagnostics(name: str) -> models.Diagnostics:
        """Return what a policy knows about itself: rank, spectrum, noise, prior, warnings, a summary."""

        def look(journal: Journal) -> dict[str, Any]:
            return engine.named(name).policy.diagnostics().as_dict()

        return models.Diagnostics(policy=name, diagnostics=_plain(await context.run(look)))

    @routes.get("/{name}/history", responses=may_fail(404))
    async def history(
        name: str, seconds: Annotated[float, Query(ge=1, le=1e9, allow_inf_nan=False)] = 3600.0
    ) -> models.History:
        """Return decisions and rewards over time."""
        hosted = engine.named(name)
        since = engine.clock.now() - seconds
        rows = await context.read(lambda journal: journal.history(hosted.id, since))
        names = ("start", "decisions", "rewards", "reward_sum", "defaults")
        buckets = [models.Bucket(**dict(zip(names, row, strict=True))) for row in rows]
        return models.History(bucket_seconds=BUCKET, buckets=buckets)

    @routes.get(
        "/{name}/export",
        response_class=FileResponse,
        responses=may_fail(404) | {200: {"content": {_PARQUET: {"schema": {"type": "string", "format": "binary"}}}}},
    )
    def export_log(name: str, columns: Literal["log", "all"] = "log", rewarded: bool = True) -> FileResponse:
        """Return the log as Parquet, with propensities; `environments.Log.read` takes it as it is."""
        hosted = engine.named(name)
        handle, path = tempfile.mkstemp(prefix="export-", suffix=".parquet")
        os.close(handle)
        try:
            # A connection of its own: this may take long.
            connection = engine.database.connect()
            try:
                export.write(Journal(connection), hosted, Path(path), columns == "all", rewarded)
            finally:
                connection.close()
        except BaseException as error:
            Path(path).unlink(missing_ok=True)
            if isinstance(error, StorageError | OSError):
                raise unavailable("its storage is not there or full") from error
            raise
        remove = BackgroundTask(Path(path).unlink, missing_ok=True)
        return FileResponse(path, media_type=_PARQUET, filename=f"{name}.parquet", background=remove)

    @routes.get("/{name}/snapshot", response_class=Response, responses=may_fail(404) | {200: _BINARY})
    async def snapshot(name: str) -> Response:
        """Return the policy as it is now, as a file for `eigenbandits.load`."""

        def look(journal: Journal) -> tuple[bytes, int]:
            hosted = engine.named(name)
            return files.to_bytes(hosted.policy), hosted.head.position

        content, position = await context.run(look)
        headers = {"x-log-position": str(position)}
        return Response(content, media_type="application/octet-stream", headers=headers)

    return routes


def _plain(value: Any) -> Any:
    """Return numbers, words, lists and dictionaries only; what is not finite becomes null."""
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, np.generic):
        return _plain(value.item())
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value
