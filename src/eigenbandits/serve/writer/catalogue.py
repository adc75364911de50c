"""Catalogues: items uploaded once, from which decision sets are formed as query ⊙ item."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eigenbandits.serve.errors import invalid
from eigenbandits.serve.storage.schema import CatalogueRow, ItemRow

Vectors = NDArray[np.float32]
Slots = NDArray[np.int32]

# The removal version of an item that has not been removed.
NEVER = np.iinfo(np.int64).max
# Numbers written in one step, during which requests wait; each step waits for the disk once, so small ones would make
# uploads slow. `python -m benchmarks.serve.pieces` prints what a step takes.
_PIECE = 1_000_000


@dataclass(eq=False)
class Catalogue:
    """Items in slots. A slot's vector never changes, so a query and a list of slots determine a decision set.

    An item that is replaced gets a new slot; a removed item keeps its slot for the decisions that it was part of.

    Attributes
    ----------
    center
        "both" subtracts the mean from the query and the items before they are multiplied, "items" from the items
        only, "none" from neither.
    mean
        The mean of the first items. It never changes, so that an item keeps its meaning for the policies.
    version
        The number of changes so far.
    """

    id: int
    name: str
    dim: int
    center: str
    mean: Vectors
    digest: str
    created_at: float
    version: int = 1
    slot_of: dict[str, int] = field(default_factory=dict)
    names: list[str] = field(default_factory=list)
    centered: Vectors = field(default_factory=lambda: np.zeros((0, 0), dtype=np.float32))
    added: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    removed: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    # Whether items are being added in several steps.
    busy: bool = False
    _sorted: tuple[dict[str, int], list[str]] | None = None

    @classmethod
    def of(cls, row: CatalogueRow) -> Catalogue:
        """Return the catalogue that a database row describes, without its items."""
        mean = np.frombuffer(row.mean, dtype="<f4")
        return cls(row.id, row.name, row.dim, row.center, mean, row.digest, row.created_at, row.version)

    @classmethod
    def new(cls, name: str, ids: Sequence[str], vectors: Vectors, center: str, mean: Vectors | None) -> Catalogue:
        """Return a catalogue that is not in the database yet and has no id. May run in any thread."""
        if mean is None and center != "none":
            if len(ids) < 2:
                message = "The mean of fewer than two items is meaningless; send more items, a mean, or center 'none'."
                raise invalid(message, "mean")
            mean = vectors.mean(axis=0, dtype=np.float64).astype(np.float32)
        elif mean is None:
            mean = np.zeros(vectors.shape[1], dtype=np.float32)
        digest = hashlib.sha256()
        for start in range(0, len(ids), 1000):
            digest.update(b"".join(id_.encode() + b"\0" for id_ in ids[start : start + 1000]))
        digest.update(center.encode() + b"\0")
        digest.update(vectors.data)
        digest.update(mean.data)
        catalogue = cls(0, name, vectors.shape[1], center, mean, digest.hexdigest(), 0.0)
        for _ in catalogue.prepare(vectors):
            pass
        catalogue.put(ids, 1)
        return catalogue

    def row(self) -> CatalogueRow:
        """Return the catalogue's database row."""
        return CatalogueRow(
            self.id, self.name, self.dim, self.center, self.mean.tobytes(), self.digest, self.version, self.created_at
        )

    def slots_of(self, ids: Sequence[Any]) -> Slots:
        """Return the slots of the items with these ids."""
        try:
            return np.fromiter(map(self.slot_of.__getitem__, ids), dtype=np.int32, count=len(ids))
        except (KeyError, TypeError) as error:
            unknown = next(id_ for id_ in ids if not isinstance(id_, str) or id_ not in self.slot_of)
            message = f"The catalogue has no item {str(unknown)[:100]!r}; add it or leave it out."
            raise invalid(message, "items", "unknown_item") from error

    def slots_at(self, version: int) -> Slots:
        """Return the slots of all items in a version of the catalogue."""
        count = len(self.names)
        present = (self.added[:count] <= version) & (self.removed[:count] > version)
        return np.flatnonzero(present).astype(np.int32)

    def actions(self, query: Vectors | None, slots: Slots) -> Vectors:
        """Return the decision set (K, d) of a query and the items in these slots."""
        factor = None if query is None else query - self.mean if self.center == "both" else query
        if len(slots) > 1 and int(slots[-1]) - int(slots[0]) == len(slots) - 1 and bool((slots[1:] > slots[:-1]).all()):
            # Consecutive slots, as when all items are offered: multiply them in place, without a copy first.
            block = self.centered[slots[0] : slots[-1] + 1]
            return block.copy() if factor is None else np.multiply(block, factor)
        items: Vectors = self.centered[slots]
        if factor is not None:
            items *= factor
        return items

    def prepare(self, vectors: Vectors) -> Iterator[None]:
        """Write the vectors of new items into the next slots, step by step; `put` then makes the items visible."""
        start = len(self.names)
        room, size = self._room_for(start + len(vectors)), max(1, _PIECE // max(self.dim, 1))
        if room > len(self.added):
            # New arrays, since other threads read the old ones.
            centered = np.zeros((room, self.dim), dtype=np.float32)
            for at in range(0, start, size):
                centered[at : min(at + size, start)] = self.centered[at : min(at + size, start)]
                yield
            self.centered = centered
            self.added, self.removed = _grown(self.added, room), _grown(self.removed, room)
        for at in range(0, len(vectors), size):
            part = vectors[at : at + size]
            self.centered[start + at : start + at + len(part)] = part if self.center == "none" else part - self.mean
            yield

    def put(self, ids: Sequence[str], version: int) -> None:
        """Add or replace, as of a version, the items whose vectors were prepared last."""
        start, count = len(self.names), len(ids)
        self.added[start : start + count] = version
        self.removed[start : start + count] = NEVER
        self.removed[self.held(ids)] = version
        self.names.extend(ids)
        # A new dictionary, since other threads read this one.
        self.slot_of = self.slot_of | {id_: start + i for i, id_ in enumerate(ids)}
        self.version = version

    def remove(self, ids: Sequence[str], version: int) -> None:
        """Remove items as of a version."""
        self.removed[self.held(ids)] = version
        removed_ids = set(ids)
        self.slot_of = {id_: slot for id_, slot in self.slot_of.items() if id_ not in removed_ids}
        self.version = version

    def sorted_ids(self) -> list[str]:
        """Return the ids of all items in sorted order, which is computed once per version."""
        if self._sorted is None or self._sorted[0] is not self.slot_of:
            self._sorted = self.slot_of, sorted(self.slot_of)
        return self._sorted[1]

    def held(self, ids: Sequence[str]) -> list[int]:
        """Return the slots of those ids that exist."""
        return [self.slot_of[id_] for id_ in ids if id_ in self.slot_of]

    def follow(self, removed: Sequence[tuple[int, int]], rows: Sequence[ItemRow], version: int) -> None:
        """Apply changes made by another process: removed slots with their versions, and the rows of new items."""
        slot_of = dict(self.slot_of)
        for slot, removal in removed:
            self.removed[slot] = removal
            if slot_of.get(self.names[slot]) == slot:
                del slot_of[self.names[slot]]
        # A new dictionary, since other threads read the old one.
        self.slot_of = slot_of
        self.version = version
        for row in rows:
            self.load(row)

    def load(self, row: ItemRow) -> None:
        """Fill the next slot from the database."""
        slot, vector = row.slot, np.frombuffer(row.vector, dtype="<f4")
        self._make_room(slot + 1)
        self.centered[slot] = vector if self.center == "none" else vector - self.mean
        # A later version belongs to an upload that is in progress or was interrupted.
        removed = NEVER if row.removed is None or row.removed > self.version else row.removed
        self.added[slot], self.removed[slot] = row.added, removed
        self.names.append(row.item)
        if removed == NEVER:
            self.slot_of[row.item] = slot

    def _room_for(self, count: int) -> int:
        room = len(self.added)
        return room if count <= room else max(count, 2 * room)

    def _make_room(self, count: int) -> None:
        room = self._room_for(count)
        if room > len(self.added):
            self.centered = _grown(self.centered.reshape(-1, self.dim), room)
            self.added, self.removed = _grown(self.added, room), _grown(self.removed, room)

    def summary(self) -> dict[str, Any]:
        """Return the catalogue's public description."""
        return {
            "name": self.name,
            "dim": self.dim,
            "items": len(self.slot_of),
            "version": self.version,
            "center": self.center,
            "created_at": self.created_at,
        }


def _grown(array: NDArray[Any], room: int) -> NDArray[Any]:
    fresh = np.zeros((room, *array.shape[1:]), dtype=array.dtype)
    fresh[: len(array)] = array
    return fresh
