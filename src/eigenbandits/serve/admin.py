"""What administrators change: policies, catalogues, items and keys; each change is a task of the writer."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eigenbandits.serve import vectors
from eigenbandits.serve.catalogue import Catalogue
from eigenbandits.serve.engine import Engine
from eigenbandits.serve.errors import Refusal, invalid, unknown
from eigenbandits.serve.hosted import Hosted
from eigenbandits.serve.journal import Journal
from eigenbandits.serve.keys import new_key
from eigenbandits.serve.specs import Spec

# How many items, those that were replaced or removed counted in, a catalogue may have had for each that it may have:
# they are kept for the decisions that were offered them.
_SLOTS_PER_ITEM = 4
# What a task does to memory once its transaction is on disk, and the answer that it gives.
Afterwards = Callable[[], Any]


class Admin:
    """The tasks; each method runs in the writer's thread, inside a transaction."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._settings = engine.settings

    # Policies

    def create_policy(self, journal: Journal, name: str, spec: Spec) -> Afterwards:
        """Add a policy; answered by its summary and whether it is new."""
        engine = self._engine
        for hosted in engine.policies.values():
            if hosted.name == name:
                if spec.same_wish(hosted.spec):
                    return lambda: (hosted.summary(), False)
                message = f"There is another policy {name!r} already; choose another name or delete it first."
                raise Refusal(409, "policy_exists", message, "name")
        if name in engine.broken:
            raise Refusal(409, "policy_exists", f"There is a policy {name!r} that cannot be rebuilt; delete it first.")
        if len(engine.policies) >= self._settings.max_policies:
            message = f"There are {self._settings.max_policies} policies, as many as this service takes; delete one."
            raise Refusal(409, "too_many_policies", message)
        catalogue = None if spec.catalogue is None else self.catalogue(spec.catalogue)
        now = engine.clock.now()
        hosted = Hosted(journal.new_id(), name, spec.seeded(), now, catalogue=catalogue)
        journal.add_policy(hosted.id, name, hosted.spec.to_text(), now)

        def publish() -> tuple[dict[str, Any], bool]:
            engine.publish(engine.policies | {hosted.id: hosted})
            return hosted.summary(), True

        return publish

    def delete_policy(self, journal: Journal, name: str) -> Afterwards:
        """Delete a policy with its log."""
        engine = self._engine
        gone = engine.broken[name] if name in engine.broken else engine.named(name).id
        journal.drop_policy(gone)

        def publish() -> None:
            engine.broken.pop(name, None)
            engine.publish({id_: one for id_, one in engine.policies.items() if id_ != gone})
            engine.database.drop_snapshots(journal.connection, gone)
            engine.forget(gone, name)

        return publish

    # Catalogues

    def catalogue(self, name: str) -> Catalogue:
        """Return a catalogue by its name."""
        found = self._engine.catalogues.get(name)
        if found is None:
            raise unknown("catalogue", name[:100])
        return found

    def create_catalogue(
        self, journal: Journal, name: str, ids: list[str], array: NDArray[np.float32], center: str, mean: Any
    ) -> Afterwards:
        """Add a catalogue; answered by its summary and whether it is new."""
        engine, dim = self._engine, array.shape[1]
        if mean is not None:
            middle = vectors.vector(mean, dim, self._settings, "mean")
        elif center == "none":
            middle = np.zeros(dim, dtype=np.float32)
        elif len(ids) < 2:
            message = "The mean of less than two items says nothing; send more items, their mean, or center 'none'."
            raise invalid(message, "mean")
        else:
            middle = array.mean(axis=0, dtype=np.float64).astype(np.float32)
        digest = _digest(ids, array, center, middle)
        known = engine.catalogues.get(name)
        if known is not None:
            if known.digest == digest:
                return lambda: (known.summary(), False)
            message = f"There is another catalogue {name!r} already; change its items, or delete it first."
            raise Refusal(409, "catalogue_exists", message, "name")
        if len(engine.catalogues) >= self._settings.max_catalogues:
            message = (
                f"There are {self._settings.max_catalogues} catalogues, as many as this service takes; delete one."
            )
            raise Refusal(409, "too_many_catalogues", message)
        now = engine.clock.now()
        made = Catalogue(journal.new_id(), name, dim, center, middle, digest, now)
        journal.add_catalogue(made)
        self._insert(journal, made, ids, array, made.version)
        made.put(ids, array, made.version)

        def publish() -> tuple[dict[str, Any], bool]:
            engine.catalogues = engine.catalogues | {name: made}
            return made.summary(), True

        return publish

    def put_items(self, journal: Journal, name: str, ids: list[str], array: NDArray[np.float32]) -> Afterwards:
        """Add items to a catalogue or replace them."""
        found = self.catalogue(name)
        version = found.version + 1
        held = found.held(ids)
        if len(found.slot_of) + len(ids) - len(held) > self._settings.max_items:
            message = f"The catalogue would have more than {self._settings.max_items} items; delete some first."
            raise Refusal(409, "too_many_items", message, "ids")
        if len(found.names) + len(ids) > _SLOTS_PER_ITEM * self._settings.max_items:
            message = "Too many items of this catalogue were replaced or removed over time; create a new catalogue."
            raise Refusal(409, "too_many_items", message, "ids")
        self._insert(journal, found, ids, array, version)
        journal.remove_items(found.id, version, held)

        def publish() -> dict[str, int]:
            found.put(ids, array, version)
            return {"items": len(found.slot_of), "version": version}

        return publish

    def delete_items(self, journal: Journal, name: str, ids: Sequence[str]) -> Afterwards:
        """Remove items from a catalogue; decisions that were offered them can still be rewarded."""
        found = self.catalogue(name)
        for id_ in ids:
            if id_ not in found.slot_of:
                raise unknown("item", id_[:100])
        version = found.version + 1
        journal.remove_items(found.id, version, found.held(ids))

        def publish() -> dict[str, int]:
            found.take(ids, version)
            return {"items": len(found.slot_of), "version": version}

        return publish

    def delete_catalogue(self, journal: Journal, name: str) -> Afterwards:
        """Delete a catalogue that no policy uses."""
        engine, found = self._engine, self.catalogue(name)
        # By the rows: a policy that could not be rebuilt needs its catalogue, too.
        for _, user, spec, _, _ in journal.policies():
            if Spec.from_text(spec).catalogue == name:
                message = f"The policy {user!r} uses this catalogue; delete the policy first."
                raise Refusal(409, "catalogue_in_use", message)
        journal.drop_catalogue(found.id)

        def publish() -> None:
            engine.catalogues = {key: one for key, one in engine.catalogues.items() if key != name}

        return publish

    @staticmethod
    def _insert(
        journal: Journal, found: Catalogue, ids: Sequence[str], array: NDArray[np.float32], version: int
    ) -> None:
        start = len(found.names)
        journal.add_items(found.id, [(start + i, id_, version, array[i].tobytes()) for i, id_ in enumerate(ids)])

    # Keys

    def create_key(self, journal: Journal, name: str, scopes: Sequence[str]) -> Afterwards:
        """Add a key; answered by the key, for the only time."""
        key, text = new_key(name, scopes, self._engine.clock.now())
        if self._engine.keys.open and "admin" not in key.scopes:
            message = "The first key must have the scope admin: from then on nobody without a key can make another."
            raise invalid(message, "scopes")
        journal.add_key(key)
        keys = journal.keys()

        def publish() -> dict[str, Any]:
            self._engine.keys.replace(keys)
            return {
                "id": key.id,
                "name": name,
                "scopes": list(key.scopes),
                "created_at": key.created_at,
                "key": text,
            }

        return publish

    def revoke_key(self, journal: Journal, id_: str) -> Afterwards:
        """Revoke a key, at once."""
        if not journal.revoke_key(id_, self._engine.clock.now()):
            raise unknown("key", id_[:100])
        keys = journal.keys()
        return lambda: self._engine.keys.replace(keys)


def _digest(ids: Sequence[str], array: NDArray[np.float32], center: str, mean: NDArray[np.float32]) -> str:
    digest = hashlib.sha256()
    for part in (*ids, center):
        digest.update(part.encode() + b"\0")
    digest.update(array.tobytes())
    digest.update(mean.tobytes())
    return digest.hexdigest()
