"""Catalogues: items uploaded once, from which decision sets are formed as query ⊙ item."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eigenbandits.serve.errors import invalid

Vectors = NDArray[np.float32]
Slots = NDArray[np.int32]

CENTERS = ("both", "items", "none")
# The version in which an item that is still there will be removed.
NEVER = np.iinfo(np.int64).max


@dataclass(eq=False)
class Catalogue:
    """Items in slots; a slot's vector never changes, so that a decision is told again by its query and its slots.

    Replacing an item takes a new slot. What is removed stays in its slot for the decisions that were offered it.

    Attributes
    ----------
    center
        "both" takes the mean off the query and the items before they are multiplied, "items" off the items only,
        "none" off neither.
    mean
        The mean of the items at the start. It stays, so that an item means the same to a policy tomorrow.
    version
        Counts the changes.
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
    centred: Vectors = field(default_factory=lambda: np.zeros((0, 0), dtype=np.float32))
    added: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    removed: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    _sorted: tuple[dict[str, int], list[str]] | None = None

    def slots_of(self, ids: Sequence[Any]) -> Slots:
        """Return the slots of items by their ids."""
        try:
            return np.fromiter(map(self.slot_of.__getitem__, ids), dtype=np.int32, count=len(ids))
        except (KeyError, TypeError) as error:
            wrong = next(id_ for id_ in ids if not isinstance(id_, str) or id_ not in self.slot_of)
            message = f"The catalogue has no item {str(wrong)[:100]!r}; add it or leave it out."
            raise invalid(message, "items", "unknown_item") from error

    def slots_at(self, version: int) -> Slots:
        """Return the slots of all the items that there were in a version."""
        count = len(self.names)
        there = (self.added[:count] <= version) & (self.removed[:count] > version)
        return np.flatnonzero(there).astype(np.int32)

    def actions(self, query: Vectors | None, slots: Slots) -> Vectors:
        """Return the decision set (K, d) of a query and some items."""
        items: Vectors = self.centred[slots]
        if query is not None:
            items *= query - self.mean if self.center == "both" else query
        return items

    def put(self, ids: Sequence[str], vectors: Vectors, version: int) -> None:
        """Add items or replace them, as of a version."""
        start, count = len(self.names), len(ids)
        self._make_room(start + count)
        self.centred[start : start + count] = vectors if self.center == "none" else vectors - self.mean
        self.added[start : start + count] = version
        self.removed[start : start + count] = NEVER
        self.removed[self.held(ids)] = version
        self.names.extend(ids)
        # A new dictionary: requests are read in another thread while this one changes.
        self.slot_of = self.slot_of | {id_: start + i for i, id_ in enumerate(ids)}
        self.version = version

    def take(self, ids: Sequence[str], version: int) -> None:
        """Remove items as of a version."""
        self.removed[self.held(ids)] = version
        gone = set(ids)
        self.slot_of = {id_: slot for id_, slot in self.slot_of.items() if id_ not in gone}
        self.version = version

    def sorted_ids(self) -> list[str]:
        """Return the ids of all items in their order; sorted once for each version."""
        if self._sorted is None or self._sorted[0] is not self.slot_of:
            self._sorted = self.slot_of, sorted(self.slot_of)
        return self._sorted[1]

    def held(self, ids: Sequence[str]) -> list[int]:
        """Return the slots of those of some items that there are."""
        return [self.slot_of[id_] for id_ in ids if id_ in self.slot_of]

    def load(self, slot: int, name: str, vector: Vectors, added: int, removed: int | None) -> None:
        """Fill the next slot from the database."""
        self._make_room(slot + 1)
        self.centred[slot] = vector if self.center == "none" else vector - self.mean
        self.added[slot], self.removed[slot] = added, NEVER if removed is None else removed
        self.names.append(name)
        if removed is None:
            self.slot_of[name] = slot

    def _make_room(self, count: int) -> None:
        room = len(self.added)
        if count <= room:
            return
        room = max(count, 2 * room)
        # New arrays: what reads the old ones meanwhile goes on reading them.
        self.centred = _grown(self.centred.reshape(-1, self.dim), room)
        self.added, self.removed = _grown(self.added, room), _grown(self.removed, room)

    def summary(self) -> dict[str, Any]:
        """Return what is worth telling."""
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
