"""Policies derived from other policies: for another encoder's vectors, or merged with replicas."""

import base64
import binascii
import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from eigenbandits.policy import files
from eigenbandits.policy.carryover import Translation
from eigenbandits.serve.errors import Refusal, invalid
from eigenbandits.serve.http import models, vectors
from eigenbandits.serve.http.endpoint import json_response
from eigenbandits.serve.http.gateway import Gateway
from eigenbandits.serve.http.policies import policy_info
from eigenbandits.serve.storage.journal import Journal
from eigenbandits.serve.writer.catalogue import Catalogue
from eigenbandits.serve.writer.decision_sets import CatalogueSet
from eigenbandits.serve.writer.event_codec import decode_decision, encode_replicas
from eigenbandits.serve.writer.hosted_policy import HostedPolicy

Array = NDArray[Any]
# The number of pairs of a query and an item that are enough to fit a map between encoders.
_MOST_PAIRS = 10_000


class CarryoverHandlers:
    """Handlers of translations and merges."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._settings = gateway.settings

    # Another encoder

    async def translate_policy(self, name: str, body: models.NewTranslation) -> Response:
        """Create a policy for another encoder's vectors that starts with what another policy has learned."""
        gateway, source = self._gateway, self._gateway.policy(name)
        if source.catalogue is None and body.catalogue is not None:
            raise invalid(f"The policy {name!r} has no catalogue; omit it, and send old_actions.", "catalogue")
        if source.catalogue is not None and body.catalogue is None:
            raise invalid(f"The policy {name!r} has a catalogue; send the catalogue with the new vectors.", "catalogue")
        old, new = await self._pairs(source, body)
        dim = new.shape[1] if body.catalogue is None else None
        spec = dataclasses.replace(source.spec, catalogue=body.catalogue, dim=dim, clone_of=name)
        if gateway.registry.has_policy(body.name) and spec == gateway.policy(body.name).spec:
            info = policy_info(gateway, gateway.policy(body.name).summary())
            return json_response(models.Translated(policy=info, translation=None), 200)
        before = await gateway.write(lambda journal: files.to_bytes(gateway.policy(name).policy))
        # In a thread, since this takes seconds and the writer has other work to do.
        state, translation = await run_in_threadpool(_translated, before, old, new)
        summary, _ = await gateway.write(gateway.administration.create_policy, body.name, spec, state)
        details = models.TranslationInfo(**dataclasses.asdict(translation), summary=translation.summary)
        return json_response(models.Translated(policy=policy_info(gateway, summary), translation=details), 201)

    async def _pairs(self, source: HostedPolicy, body: models.NewTranslation) -> tuple[Array, Array]:
        """Return the same actions as embedded by both encoders."""
        if source.catalogue is None:
            most = self._settings.max_items
            old = vectors.matrix(body.old_actions, source.dim, self._settings, "old_actions", most)
            new = vectors.matrix(body.new_actions, body.new_dim, self._settings, "new_actions", most)
            return _same_length(old, new, "actions")
        catalogue = self._gateway.registry.catalogue(str(body.catalogue))
        if catalogue is source.catalogue:
            raise invalid(
                "catalogue is the policy's current one; upload the new vectors as another catalogue.", "catalogue"
            )
        queries = None
        if body.old_queries is not None or body.new_queries is not None:
            limits = self._settings, self._settings.max_items, vectors.LARGEST_FACTOR
            old, new = (
                vectors.matrix(given, one.dim, limits[0], field, *limits[1:])
                for given, one, field in (
                    (body.old_queries, source.catalogue, "old_queries"),
                    (body.new_queries, catalogue, "new_queries"),
                )
            )
            queries = _same_length(old, new, "queries")
        elif await self._gateway.read(lambda journal: _has_queries(journal, source)):
            message = "The decisions of this policy have queries; send some queries as embedded by both encoders."
            raise invalid(message, "old_queries")
        return _products(source.catalogue, catalogue, queries)

    # Replicas

    async def merge_policy(self, name: str, body: models.Merge) -> models.Merged:
        """Add what replicas of a policy have learned, once per request id."""
        if not self._gateway.writer.alone:
            message = "Deciders cannot merge policies; run the service without --deciders."
            raise Refusal(409, "not_with_deciders", message)
        self._gateway.policy(name)
        parts = [_unpacked(text, f"replicas[{i}]") for i, text in enumerate(body.replicas)]
        base = b"" if body.base is None else _unpacked(body.base, "base")
        for i, part in enumerate(parts):
            await run_in_threadpool(_refuse_unreadable, part, f"replicas[{i}]")
        if base:
            await run_in_threadpool(_refuse_unreadable, base, "base")
        content, request = encode_replicas(parts, base), vectors.name(body.request, "request", 64)
        new = await self._gateway.write(self._gateway.administration.merge_policy, name, content, request)
        return models.Merged(status="merged" if new else "repeated")


def _translated(content: bytes, old: Array, new: Array) -> tuple[bytes, Translation]:
    policy = files.from_bytes(content)
    if policy.scoring.used:
        raise invalid("This policy has scores, which the service does not translate; translate its snapshot in Python.")
    try:
        translation = policy.translate(old, new)
    except ValueError as error:
        raise invalid(f"The policy cannot be translated: {error}") from error
    return files.to_bytes(policy), translation


def _same_length(old: Array, new: Array, what: str) -> tuple[Array, Array]:
    if len(old) != len(new):
        message = f"old_{what} has {len(old)} vectors and new_{what} {len(new)}; expected the same {what} in both."
        raise invalid(message, f"new_{what}")
    return old, new


def _products(old: Catalogue, new: Catalogue, queries: tuple[Array, Array] | None) -> tuple[Array, Array]:
    """Return the actions that both catalogues offer for the items that they share, and for the queries."""
    ids = [id_ for id_ in old.sorted_ids() if id_ in new.slot_of]
    if not ids:
        raise invalid("The two catalogues have no item in common; expected the same ids in both.", "catalogue")
    slots = [one.slots_of(ids) for one in (old, new)]
    rng = np.random.default_rng(len(ids))
    if queries is None:
        kept = rng.permutation(len(ids))[:_MOST_PAIRS]
        return old.actions(None, slots[0][kept]), new.actions(None, slots[1][kept])
    count = len(queries[0])
    pairs = rng.permutation(count * len(ids))[:_MOST_PAIRS]
    products = []
    for catalogue, shared, asked in zip((old, new), slots, queries, strict=True):
        items: Array = catalogue.actions(None, shared[pairs // count])
        # As in `Catalogue.actions`, but for many queries at once.
        mean = catalogue.mean if catalogue.center == "both" else np.float32(0.0)
        items *= asked[pairs % count].astype(np.float32) - mean
        products.append(items)
    return products[0], products[1]


def _has_queries(journal: Journal, hosted: HostedPolicy) -> bool:
    rows = journal.decisions(hosted.id, hosted.head.number, 1)
    offered = decode_decision(rows[0].content)[0] if rows else None
    return isinstance(offered, CatalogueSet) and offered.query is not None


def _unpacked(text: str, field: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise invalid(f"{field} is not base64; expected the bytes of a snapshot.", field) from error


def _refuse_unreadable(content: bytes, field: str) -> None:
    try:
        files.from_bytes(content)
    except ValueError as error:
        raise invalid(f"{field} cannot be read: {error}", field) from error
