"""Administration: the tasks that create and delete policies, catalogues, items and keys."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eigenbandits.serve.errors import Refusal, invalid, unknown
from eigenbandits.serve.keys import new_key
from eigenbandits.serve.storage import schema
from eigenbandits.serve.storage.journal import Journal
from eigenbandits.serve.writer.catalogue import Catalogue
from eigenbandits.serve.writer.hosted_policy import HostedPolicy
from eigenbandits.serve.writer.policy_spec import PolicySpec
from eigenbandits.serve.writer.writer import Writer

# Slots of a catalogue for each item that it may have: those of replaced and removed items are kept for the decisions
# that were offered them.
_SLOTS_PER_ITEM = 4
# What a task does to memory once its transaction is on disk; returns the result of the task.
Publish = Callable[[], Any]


class Administration:
    """The tasks; each method runs in the writer's thread, inside a transaction."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self._registry = writer.registry
        self._settings = writer.settings

    # Policies

    def create_policy(self, journal: Journal, name: str, spec: PolicySpec) -> Publish:
        """Add a policy; the result is its summary and whether it is new."""
        registry = self._registry
        if registry.has_policy(name):
            known = registry.policy(name)
            if spec.same_request(known.spec):
                return lambda: (known.summary(), False)
            message = f"There is another policy {name!r} already; choose another name or delete it first."
            raise Refusal(409, "policy_exists", message, "name")
        if name in registry.broken:
            raise Refusal(409, "policy_exists", f"There is a policy {name!r} that cannot be rebuilt; delete it first.")
        self._refuse_too_many("policies", len(registry.policies))
        catalogue = None if spec.catalogue is None else registry.catalogue(spec.catalogue)
        now = self._writer.clock.now()
        row = schema.PolicyRow(
            id=journal.new_id(), name=name, spec=spec.seeded().to_text(), created_at=now, last_at=now
        )
        journal.add(schema.POLICIES, [row])
        hosted = HostedPolicy(row, catalogue)

        def publish() -> tuple[dict[str, Any], bool]:
            registry.publish([*registry.policies.values(), hosted])
            return hosted.summary(), True

        return publish

    def delete_policy(self, journal: Journal, name: str) -> Publish:
        """Delete a policy with its log."""
        registry = self._registry
        gone = registry.broken[name].id if name in registry.broken else registry.policy(name).id
        journal.drop_policy(gone)

        def publish() -> None:
            registry.broken.pop(name, None)
            registry.publish([one for one in registry.policies.values() if one.id != gone])
            self._writer.database.drop_snapshots(journal.connection, gone)
            self._writer.forget(gone, name)

        return publish

    # Catalogues

    def create_catalogue(
        self,
        journal: Journal,
        name: str,
        ids: list[str],
        array: NDArray[np.float32],
        center: str,
        mean: NDArray[np.float32] | None,
    ) -> Publish:
        """Add a catalogue; the result is its summary and whether it is new."""
        registry, dim = self._registry, array.shape[1]
        if mean is None and center != "none":
            if len(ids) < 2:
                message = "The mean of fewer than two items says nothing; send more items, a mean, or center 'none'."
                raise invalid(message, "mean")
            mean = array.mean(axis=0, dtype=np.float64).astype(np.float32)
        elif mean is None:
            mean = np.zeros(dim, dtype=np.float32)
        digest = _digest(ids, array, center, mean)
        known = registry.catalogues.get(name)
        if known is not None:
            if known.digest == digest:
                return lambda: (known.summary(), False)
            message = f"There is another catalogue {name!r} already; change its items, or delete it first."
            raise Refusal(409, "catalogue_exists", message, "name")
        self._refuse_too_many("catalogues", len(registry.catalogues))
        now = self._writer.clock.now()
        row = schema.CatalogueRow(journal.new_id(), name, dim, center, mean.tobytes(), digest, 1, now)
        journal.add(schema.CATALOGUES, [row])
        created = Catalogue.of(row)
        self._insert(journal, created, ids, array, created.version)
        created.put(ids, array, created.version)

        def publish() -> tuple[dict[str, Any], bool]:
            registry.catalogues = registry.catalogues | {name: created}
            return created.summary(), True

        return publish

    def put_items(self, journal: Journal, name: str, ids: list[str], array: NDArray[np.float32]) -> Publish:
        """Add items to a catalogue or replace them."""
        found = self._registry.catalogue(name)
        version = found.version + 1
        held = found.held(ids)
        if len(found.slot_of) + len(ids) - len(held) > self._settings.max_items:
            message = f"The catalogue would have more than {self._settings.max_items} items; delete some first."
            raise Refusal(409, "too_many_items", message, "ids")
        if len(found.names) + len(ids) > _SLOTS_PER_ITEM * self._settings.max_items:
            message = "Too many items of this catalogue have been replaced or removed; create a new catalogue."
            raise Refusal(409, "too_many_items", message, "ids")
        self._insert(journal, found, ids, array, version)
        journal.remove_items(found.id, version, held)

        def publish() -> dict[str, int]:
            found.put(ids, array, version)
            return {"items": len(found.slot_of), "version": version}

        return publish

    def delete_items(self, journal: Journal, name: str, ids: Sequence[str]) -> Publish:
        """Remove items from a catalogue; decisions that were offered them can still be rewarded."""
        found = self._registry.catalogue(name)
        for id_ in ids:
            if id_ not in found.slot_of:
                raise unknown("item", id_[:100])
        version = found.version + 1
        journal.remove_items(found.id, version, found.held(ids))

        def publish() -> dict[str, int]:
            found.remove(ids, version)
            return {"items": len(found.slot_of), "version": version}

        return publish

    def delete_catalogue(self, journal: Journal, name: str) -> Publish:
        """Delete a catalogue that no policy uses."""
        registry, found = self._registry, self._registry.catalogue(name)
        # By the rows: a policy that could not be rebuilt needs its catalogue, too.
        for row in journal.policies():
            if _catalogue_of(row) == name:
                message = f"The policy {row.name!r} uses this catalogue; delete the policy first."
                raise Refusal(409, "catalogue_in_use", message)
        journal.drop_catalogue(found.id)

        def publish() -> None:
            registry.catalogues = {key: one for key, one in registry.catalogues.items() if key != name}

        return publish

    @staticmethod
    def _insert(
        journal: Journal, found: Catalogue, ids: Sequence[str], array: NDArray[np.float32], version: int
    ) -> None:
        start = len(found.names)
        rows = [
            schema.ItemRow(found.id, start + i, id_, version, None, array[i].tobytes()) for i, id_ in enumerate(ids)
        ]
        journal.add(schema.ITEMS, rows)

    def _refuse_too_many(self, what: str, count: int) -> None:
        most = getattr(self._settings, f"max_{what}")
        if count >= most:
            raise Refusal(409, f"too_many_{what}", f"There are {most} {what}, the most that are allowed; delete one.")

    # Keys

    def create_key(self, journal: Journal, name: str, scopes: Sequence[str], policies: Sequence[str] | None) -> Publish:
        """Add a key; the result is its row and the key itself, for the only time."""
        row, text = new_key(name, scopes, self._writer.clock.now(), policies)
        if self._registry.keys.open and "admin" not in scopes:
            message = "The first key must have the scope admin: from then on nobody without a key can create another."
            raise invalid(message, "scopes")
        journal.add(schema.KEYS, [row])
        keys = journal.keys()

        def publish() -> tuple[schema.KeyRow, str]:
            self._registry.keys.replace(keys)
            return row, text

        return publish

    def revoke_key(self, journal: Journal, id_: str) -> Publish:
        """Revoke a key, effective immediately."""
        if not journal.revoke_key(id_, self._writer.clock.now()):
            raise unknown("key", id_[:100])
        keys = journal.keys()
        return lambda: self._registry.keys.replace(keys)


def _catalogue_of(row: schema.PolicyRow) -> str | None:
    """Return the catalogue of a policy, which may be of another version of the library."""
    with suppress(ValueError):
        found = json.loads(row.spec)
        return found.get("catalogue") if isinstance(found, dict) else None
    return None


def _digest(ids: Sequence[str], array: NDArray[np.float32], center: str, mean: NDArray[np.float32]) -> str:
    digest = hashlib.sha256()
    for part in (*ids, center):
        digest.update(part.encode() + b"\0")
    digest.update(array.tobytes())
    digest.update(mean.tobytes())
    return digest.hexdigest()
