"""Administration: the tasks that create, change and delete policies, catalogues, items and keys."""

import copy
import dataclasses
import hashlib
import json
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eigenbandits.policy import Policy, files
from eigenbandits.serve.errors import Refusal, invalid, unavailable, unknown
from eigenbandits.serve.keys import new_key
from eigenbandits.serve.storage import schema
from eigenbandits.serve.storage.journal import Journal
from eigenbandits.serve.writer.batch import parts
from eigenbandits.serve.writer.catalogue import Catalogue
from eigenbandits.serve.writer.outcomes import different_request
from eigenbandits.serve.writer.policy_spec import PolicySpec
from eigenbandits.serve.writer.writer import Writer
from eigenbandits.wrappers.guarded import Guarded

# Slots per item that a catalogue may have: the slots of replaced and removed items are kept for decisions that were
# offered them.
_SLOTS_PER_ITEM = 4
# Items written in one transaction, for which all requests wait: about as long as for a batch of requests, if d = 1536.
# `python -m benchmarks.serve.pieces` prints how long.
_ITEMS_AT_ONCE = 200
# A function that applies a task's effects to memory once its transaction is on disk, and returns the task's result.
Publish = Callable[[], Any]
# A task that takes several transactions.
Steps = Generator[None, None, Publish]


class Administration:
    """The administrative tasks; each method runs in the writer's thread, inside a transaction."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self._registry = writer.registry
        self._settings = writer.settings

    # Policies

    def create_policy(self, journal: Journal, name: str, spec: PolicySpec, state: bytes | None = None) -> Publish:
        """Add a policy, with an initial state if one is given; the result is its summary and whether it is new.

        A clone without an initial state starts from the state of the other policy.
        """
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
        # Nothing is in flight: the state of the other policy is the one that its log leads to.
        if state is None and spec.clone_of is not None:
            state = _cloned(registry.policy(spec.clone_of).policy, spec)
        now = self._writer.clock.now()
        row = schema.PolicyRow(
            id=journal.new_id(), name=name, spec=spec.seeded().to_text(), created_at=now, last_at=now
        )
        if state is not None:
            row.position = 1
            journal.add(schema.EVENTS, [schema.EventRow(row.id, 1, schema.CLONE, state)])
        journal.add(schema.POLICIES, [row])
        hosted = self._writer.host(row, catalogue, None if state is None else files.from_bytes(state))

        def publish() -> tuple[dict[str, Any], bool]:
            registry.publish([*registry.policies.values(), hosted])
            return hosted.summary(), True

        return publish

    def edit_policy(self, journal: Journal, name: str, changes: Mapping[str, Any]) -> Publish:
        """Change settings that the policy's state does not depend on; the result is its summary."""
        hosted = self._registry.policy(name)
        spec = dataclasses.replace(hosted.spec, **changes)
        spec.check()
        journal.change_spec(hosted.id, spec.to_text())

        def publish() -> dict[str, Any]:
            hosted.spec, hosted.head.spec = spec, spec.to_text()
            self._writer.recheck_expiry(hosted.id)
            return hosted.summary()

        return publish

    def merge_policy(self, journal: Journal, name: str, content: bytes, request: str) -> Publish:
        """Add what a policy's replicas have learned, once per request id; the result says whether it is new."""
        hosted = self._registry.policy(name)
        digest = hashlib.sha256(content).hexdigest()
        known = journal.note_merge(hosted.id, request, digest)
        if known is not None:
            if known != digest:
                raise different_request()
            return lambda: False
        try:
            merged = hosted.merged(content)
        except ValueError as error:
            raise invalid(f"The policies cannot be merged: {error}", "replicas") from error
        # The state changes only through this event, as in a replay.
        head = dataclasses.replace(hosted.head, position=hosted.head.position + 1)
        journal.add(schema.EVENTS, [schema.EventRow(hosted.id, head.position, schema.MERGE, content)])
        journal.move_heads([head])

        def publish() -> bool:
            hosted.policy, hosted.head = merged, head
            # Such an event is large, and a snapshot after it spares the next start the merge.
            hosted.since_snapshot += self._settings.snapshot_events
            return True

        return publish

    def delete_policy(self, journal: Journal, name: str) -> Publish:
        """Delete a policy; the rows of its log are removed later, a batch at a time."""
        registry = self._registry
        deleted = registry.broken[name].id if name in registry.broken else registry.policy(name).id
        journal.drop_policy(deleted)

        def publish() -> None:
            registry.broken.pop(name, None)
            registry.publish([one for one in registry.policies.values() if one.id != deleted])
            self._writer.database.drop_snapshots(journal.connection, deleted)
            self._writer.forget(deleted, name)
            self._writer.discard("policy", deleted)

        return publish

    # Catalogues

    def create_catalogue(self, journal: Journal, created: Catalogue, vectors: NDArray[np.float32]) -> Steps:
        """Add a catalogue that is not visible yet, with its items' vectors; it becomes visible after the last step.

        The result is its summary and whether it is new.
        """
        registry = self._registry
        if (known := self._known_catalogue(created)) is not None:
            return partial(_as_it_is, known)
        created.id, created.created_at = journal.new_id(), self._writer.clock.now()
        # Until the last step these rows count as garbage, in case it is never reached.
        journal.add_garbage("catalogue", created.id)
        done = False
        try:
            for part in _parts(len(vectors)):
                self._insert(journal, created.id, 0, created.names, vectors, 1, part)
                yield
            if (known := self._known_catalogue(created)) is not None:
                return partial(_as_it_is, known)
            journal.add(schema.CATALOGUES, [created.row()])
            journal.keep_garbage("catalogue", created.id)
            done = True
        finally:
            if not done:
                self._writer.discard("catalogue", created.id)

        def publish() -> tuple[dict[str, Any], bool]:
            registry.catalogues = registry.catalogues | {created.name: created}
            return created.summary(), True

        return publish

    def _known_catalogue(self, created: Catalogue) -> Catalogue | None:
        """Return the catalogue of this name if it is identical; refuse if it is different or there are too many."""
        known = self._registry.catalogues.get(created.name)
        if known is None:
            self._refuse_too_many("catalogues", len(self._registry.catalogues))
        elif known.digest != created.digest:
            message = f"There is another catalogue {created.name!r} already; change its items, or delete it first."
            raise Refusal(409, "catalogue_exists", message, "name")
        return known

    def put_items(self, journal: Journal, name: str, ids: list[str], array: NDArray[np.float32]) -> Steps:
        """Add items to a catalogue or replace them; all of them become visible after the last step."""
        catalogue = self._registry.catalogue(name)
        replaced = catalogue.held(ids)
        if len(catalogue.slot_of) + len(ids) - len(replaced) > self._settings.max_items:
            message = f"The catalogue would have more than {self._settings.max_items} items; delete some first."
            raise Refusal(409, "too_many_items", message, "ids")
        if len(catalogue.names) + len(ids) > _SLOTS_PER_ITEM * self._settings.max_items:
            message = "Too many items of this catalogue have been replaced or removed; create a new catalogue."
            raise Refusal(409, "too_many_items", message, "ids")
        self._refuse_if_busy(catalogue)
        version, start = catalogue.version + 1, len(catalogue.names)
        catalogue.busy = True
        try:
            yield from catalogue.prepare(array)
            for part in _parts(len(ids)):
                self._insert(journal, catalogue.id, start, ids, array, version, part)
                yield
            for part in _parts(len(replaced)):
                journal.remove_items(catalogue.id, version, replaced[part])
                yield
            journal.move_catalogue(catalogue.id, version)
        except BaseException:
            # A refusal, or the end of the service. The rows belong to a version that the catalogue never reaches.
            self._writer.discard_items(catalogue)
            raise
        finally:
            catalogue.busy = False

        def publish() -> dict[str, int]:
            catalogue.put(ids, version)
            return {"items": len(catalogue.slot_of), "version": version}

        return publish

    def delete_items(self, journal: Journal, name: str, ids: Sequence[str]) -> Publish:
        """Remove items from a catalogue; decisions that were offered them can still be rewarded."""
        catalogue = self._registry.catalogue(name)
        self._refuse_if_busy(catalogue)
        for id_ in ids:
            if id_ not in catalogue.slot_of:
                raise unknown("item", id_[:100])
        version = catalogue.version + 1
        journal.remove_items(catalogue.id, version, catalogue.held(ids))
        journal.move_catalogue(catalogue.id, version)

        def publish() -> dict[str, int]:
            catalogue.remove(ids, version)
            return {"items": len(catalogue.slot_of), "version": version}

        return publish

    def delete_catalogue(self, journal: Journal, name: str) -> Publish:
        """Delete a catalogue that no policy uses; the rows of its items are removed later, a batch at a time."""
        registry, catalogue = self._registry, self._registry.catalogue(name)
        self._refuse_if_busy(catalogue)
        # Checked in the rows, since a policy that could not be rebuilt needs its catalogue, too.
        for row in journal.policies():
            if _catalogue_of(row) == name:
                message = f"The policy {row.name!r} uses this catalogue; delete the policy first."
                raise Refusal(409, "catalogue_in_use", message)
        journal.drop_catalogue(catalogue.id)

        def publish() -> None:
            registry.catalogues = {key: one for key, one in registry.catalogues.items() if key != name}
            self._writer.discard("catalogue", catalogue.id)

        return publish

    @staticmethod
    def _refuse_if_busy(catalogue: Catalogue) -> None:
        if catalogue.busy:
            raise unavailable("items are being added to this catalogue")

    @staticmethod
    def _insert(
        journal: Journal,
        catalogue: int,
        start: int,
        ids: Sequence[str],
        array: NDArray[np.float32],
        version: int,
        part: slice,
    ) -> None:
        rows = [
            schema.ItemRow(catalogue, start + i, ids[i], version, None, array[i].tobytes())
            for i in range(part.start, part.stop)
        ]
        journal.add(schema.ITEMS, rows)

    def _refuse_too_many(self, what: str, count: int) -> None:
        most = getattr(self._settings, f"max_{what}")
        if count >= most:
            raise Refusal(409, f"too_many_{what}", f"There are already {most} {what}, the maximum; delete one.")

    # Keys

    def create_key(self, journal: Journal, name: str, scopes: Sequence[str], policies: Sequence[str] | None) -> Publish:
        """Add a key; the result is its row and the key itself, which is shown only once."""
        row, text = new_key(name, scopes, self._writer.clock.now(), policies)
        if self._registry.keys.open and "admin" not in scopes:
            message = "The first key must have the scope admin; without it, nobody could create another key."
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


def _cloned(policy: Policy, spec: PolicySpec) -> bytes:
    """Return the initial state of a clone, whose guard may leave shadow mode or return to it."""
    if isinstance(policy, Guarded) and spec.guard is not None and policy.shadow != spec.guard.get("shadow", False):
        clone = spec.make()
        clone.restore(copy.deepcopy(policy.state()))
        policy = clone
    return files.to_bytes(policy)


def _catalogue_of(row: schema.PolicyRow) -> str | None:
    """Return the catalogue that a policy's spec names; the spec may be from another version of the library."""
    with suppress(ValueError):
        fields = json.loads(row.spec)
        return fields.get("catalogue") if isinstance(fields, dict) else None
    return None


def _as_it_is(known: Catalogue) -> tuple[dict[str, Any], bool]:
    return known.summary(), False


def _parts(count: int) -> Iterator[slice]:
    return parts([1.0] * count, _ITEMS_AT_ONCE)
