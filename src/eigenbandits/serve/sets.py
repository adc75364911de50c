"""Decision sets as they travel: asked for by a request, kept in the log, formed again when the log is read.

With a set the log keeps what the policy's belief said of the decision, where it learns from that (`Decision.forecast`).
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eigenbandits.serve.catalogue import Catalogue, Slots, Vectors

Forecast = NDArray[np.float64]

_HEAD = struct.Struct("<BIIq")
_INLINE32, _INLINE64, _PICKED, _ALL, _CHOSEN32, _CHOSEN64 = range(1, 7)


@dataclass(frozen=True, eq=False)
class Inline:
    """A set whose vectors came with the request; `chosen_only` where the log has kept only the row chosen."""

    array: NDArray[Any]
    chosen_only: bool = False

    def size(self, catalogue: Catalogue | None) -> int:
        """Return K."""
        return len(self.array)

    def actions(self, catalogue: Catalogue | None) -> NDArray[Any]:
        """Return the vectors (K, d)."""
        return self.array

    def row(self, catalogue: Catalogue | None, index: int) -> NDArray[Any]:
        """Return one of the vectors."""
        return np.asarray(self.array[0 if self.chosen_only else index])

    def pruned(self, index: int) -> Inline:
        """Return what is left when only the row chosen is kept."""
        return self if self.chosen_only else Inline(self.array[index : index + 1], True)

    def encode(self) -> bytes:
        """Return the set as bytes."""
        single = self.array.dtype == np.float32
        form = (_CHOSEN32 if single else _CHOSEN64) if self.chosen_only else (_INLINE32 if single else _INLINE64)
        return _HEAD.pack(form, *self.array.shape, 0) + self.array.tobytes()


@dataclass(frozen=True, eq=False)
class Picked:
    """A set formed from a catalogue: by a query or none, and the slots of some items or, as of a version, of all."""

    query: Vectors | None
    slots: Slots | None
    version: int = 0

    def _slots(self, catalogue: Catalogue | None) -> Slots:
        assert catalogue is not None
        return catalogue.slots_at(self.version) if self.slots is None else self.slots

    def size(self, catalogue: Catalogue | None) -> int:
        """Return K."""
        return len(self._slots(catalogue))

    def actions(self, catalogue: Catalogue | None) -> NDArray[Any]:
        """Return the vectors (K, d)."""
        assert catalogue is not None
        return catalogue.actions(self.query, self._slots(catalogue))

    def row(self, catalogue: Catalogue | None, index: int) -> NDArray[Any]:
        """Return one of the vectors."""
        assert catalogue is not None
        return np.asarray(catalogue.actions(self.query, self._slots(catalogue)[index : index + 1])[0])

    def item(self, catalogue: Catalogue, index: int) -> str:
        """Return the id of one of the items."""
        return catalogue.names[int(self._slots(catalogue)[index])]

    def pruned(self, index: int) -> Picked:
        """Return the set itself: it is small already."""
        return self

    def encode(self) -> bytes:
        """Return the set as bytes."""
        query = b"" if self.query is None else self.query.tobytes()
        slots = b"" if self.slots is None else self.slots.tobytes()
        form = _ALL if self.slots is None else _PICKED
        return _HEAD.pack(form, len(slots) // 4, len(query) // 4, self.version) + query + slots


AskedSet = Inline | Picked


def encode(asked: AskedSet, forecast: Forecast | None = None) -> bytes:
    """Return a set as bytes, and behind it the forecast of the decision that was made in it."""
    return asked.encode() if forecast is None else asked.encode() + forecast.tobytes()


def decode(content: bytes) -> tuple[AskedSet, Forecast | None]:
    """Return the set and the forecast that `encode` wrote.

    A set says how long it is, so that whatever follows it is the forecast; a log from before there were forecasts has
    nothing there.
    """
    form, count, dim, version = _HEAD.unpack_from(content)
    asked: AskedSet
    if form in (_PICKED, _ALL):
        query = np.frombuffer(content, "<f4", dim, _HEAD.size) if dim else None
        slots = np.frombuffer(content, "<i4", count, _HEAD.size + 4 * dim) if form == _PICKED else None
        asked, end = Picked(query, slots, version), _HEAD.size + 4 * (dim + count)
    else:
        kind = "<f4" if form in (_INLINE32, _CHOSEN32) else "<f8"
        array = np.frombuffer(content, kind, count * dim, _HEAD.size).reshape(count, dim)
        asked, end = Inline(array, form in (_CHOSEN32, _CHOSEN64)), _HEAD.size + array.nbytes
    # A copy of its own, since bytes are aligned to nothing, and arithmetic may differ in the last bit with that.
    return asked, np.array(np.frombuffer(content, "<f8", offset=end)) if end < len(content) else None
