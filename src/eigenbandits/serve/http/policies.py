"""Policies: create, edit, list, inspect, export and delete them."""

import dataclasses
import itertools
import time
from collections.abc import Generator
from contextlib import closing
from typing import Any
from urllib.parse import quote

import numpy as np
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from eigenbandits.policy import files
from eigenbandits.serve import export
from eigenbandits.serve.errors import Refusal, StorageError, invalid, unavailable
from eigenbandits.serve.http import lift, models
from eigenbandits.serve.http.endpoint import BINARY, PARQUET, json_response
from eigenbandits.serve.http.gateway import Gateway
from eigenbandits.serve.storage.journal import BUCKET, Journal
from eigenbandits.serve.storage.schema import BASELINE, POLICY, ChooserRow
from eigenbandits.serve.writer.hosted_policy import HostedPolicy
from eigenbandits.serve.writer.policy_spec import PolicySpec


class _InPieces(StreamingResponse):
    """A response whose pieces are made in a thread, one at a time, until the caller has all of them or leaves."""

    def __init__(self, first: bytes, others: Generator[bytes], **more: Any) -> None:
        super().__init__(itertools.chain([first], others), **more)
        self._others = others

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the response."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._others.close()


class PolicyHandlers:
    """Handlers of the endpoints under /v1/policies."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._writer = gateway.writer

    async def create_policy(self, body: models.NewPolicy) -> Response:
        """Create a policy; repeating the same request returns 200."""
        if body.clone_of is None:
            given = body.model_dump(exclude_none=True, exclude={"name", "parameters"})
            spec = PolicySpec(**given, parameters=body.parameters)
        else:
            spec = self._cloned(body.clone_of, body)
        # Invalid parameters are refused here, before they reach the writer.
        spec.check()
        for name in () if self._writer.alone else spec.alone:
            message = f"Deciders do not support a {name}; run the service without --deciders."
            raise Refusal(409, "not_with_deciders", message, name)
        spec.make()
        summary, new = await self._gateway.write(self._gateway.administration.create_policy, body.name, spec)
        return json_response(self._info(summary), 201 if new else 200)

    def _cloned(self, of: str, body: models.NewPolicy) -> PolicySpec:
        """Return the settings of a clone: those of the other policy, except for the fields that were sent."""
        source = self._gateway.policy(of).spec
        for name in ("algorithm", "parameters", "catalogue", "dim", "budget"):
            if name in body.model_fields_set:
                raise invalid(f"{name} and clone_of were sent; a clone has the {name} of {of!r}, so omit {name}.", name)
        clone = dataclasses.replace(source, **body.model_dump(exclude_unset=True, exclude={"name"}))
        if clone.guard != source.guard and not (
            clone.guard and source.guard and clone.guard | {"shadow": None} == source.guard | {"shadow": None}
        ):
            raise invalid(f"A clone has the guard of {of!r}; only shadow may differ.", "guard")
        return clone

    async def list_policies(self) -> models.Policies:
        """List all policies."""
        infos = [self._info(hosted.summary()) for hosted in self._gateway.registry.policies.values()]
        return models.Policies(policies=infos)

    async def get_policy(self, name: str) -> models.PolicyInfo:
        """Return one policy."""
        return self._info(self._gateway.policy(name).summary())

    async def edit_policy(self, name: str, body: models.PolicyChanges) -> models.PolicyInfo:
        """Change the time to live, the default reward or the reward bounds; this also applies to pending decisions."""
        changes = body.model_dump(include=body.model_fields_set)
        return self._info(await self._gateway.write(self._gateway.administration.edit_policy, name, changes))

    async def delete_policy(self, name: str) -> None:
        """Delete a policy and its log."""
        await self._gateway.write(self._gateway.administration.delete_policy, name)

    async def get_diagnostics(self, name: str) -> models.Diagnostics:
        """Return what a policy knows about itself: rank, spectrum, noise, prior, warnings, a summary."""

        def diagnose(journal: Journal) -> dict[str, Any]:
            return self._gateway.policy(name).policy.diagnostics().as_dict()

        return models.Diagnostics(policy=name, diagnostics=_plain(await self._gateway.write(diagnose)))

    async def get_history(self, name: str, query: models.HistoryQuery) -> models.History:
        """Return decisions and rewards over time."""
        hosted = self._gateway.policy(name)
        now = self._writer.clock.now()
        rows = await self._gateway.read(lambda journal: journal.history(hosted.id, now - query.seconds, now))
        buckets = [models.Bucket.model_validate(row, from_attributes=True) for row in rows]
        return models.History(bucket_seconds=BUCKET, buckets=buckets)

    async def get_lift(self, name: str) -> models.Lift:
        """Return how much more the policy earns than its holdout's baseline, with an always-valid interval."""
        hosted = self._gateway.policy(name)
        rows = await self._gateway.read(lambda journal: journal.choosers(hosted.id))
        own, other = (rows.get(one, ChooserRow(hosted.id, one, 0, 0.0, 0.0)) for one in (POLICY, BASELINE))
        return models.Lift(**lift.compared(own, other))

    async def export_log(self, name: str, query: models.ExportQuery) -> Response:
        """Return the log as Parquet, with propensities; `offpolicy.Log.read` reads it directly."""
        hosted = self._gateway.policy(name)
        if query.columns == "compact" and hosted.catalogue is None:
            raise invalid("A policy without a catalogue has no compact export; expected 'log' or 'all'.", "columns")
        # The first piece, so that whatever can be refused is refused, and then the others, each made in a thread.
        pieces = self._export(hosted, query)
        first = await run_in_threadpool(next, pieces)
        named = {"content-disposition": f'attachment; filename="{quote(name)}.parquet"'}
        return _InPieces(first, pieces, media_type=PARQUET, headers=named)

    def _export(self, hosted: HostedPolicy, query: models.ExportQuery) -> Generator[bytes]:
        span = export.Span(query.after, query.through, query.since, query.until)
        try:
            # A connection of its own, since this may take a long time.
            with closing(self._writer.database.connect()) as connection:
                journal = Journal(connection)
                if query.columns == "compact":
                    yield from export.compact(journal, hosted, query.rewarded, span)
                else:
                    yield from export.whole(journal, hosted, query.columns == "all", query.rewarded, span)
        except StorageError as error:
            raise unavailable("its storage is not available or full") from error

    async def get_snapshot(self, name: str) -> Response:
        """Return the policy in its current state, as a file for `eigenbandits.load`."""

        def save(journal: Journal) -> tuple[bytes, int]:
            hosted = self._gateway.policy(name)
            return files.to_bytes(hosted.policy), hosted.head.position

        content, position = await self._gateway.write(save)
        return Response(content, media_type=BINARY, headers={"x-log-position": str(position)})

    def _info(self, summary: dict[str, Any]) -> models.PolicyInfo:
        return policy_info(self._gateway, summary)


def policy_info(gateway: Gateway, summary: dict[str, Any]) -> models.PolicyInfo:
    """Return a policy's public description."""
    return models.PolicyInfo(**summary, latency=gateway.metrics.latency(time.perf_counter(), summary["name"]))


def _plain(value: Any) -> Any:
    """Return a value made of numbers, strings, lists and dictionaries; numbers that are not finite become null."""
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
