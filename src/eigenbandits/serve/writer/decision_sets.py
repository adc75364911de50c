"""Decision sets: vectors that came with a request, or items of a catalogue."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eigenbandits.serve.writer.catalogue import Catalogue, Slots, Vectors


@dataclass(frozen=True, eq=False)
class InlineSet:
    """A set whose vectors came with the request; `chosen_only` where the log has kept only the chosen row."""

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

    def item(self, catalogue: Catalogue | None, index: int) -> None:
        """Return None: these actions have no ids."""

    def pruned(self, index: int) -> InlineSet:
        """Return the set with only the chosen row."""
        return self if self.chosen_only else InlineSet(self.array[index : index + 1], True)


@dataclass(frozen=True, eq=False)
class CatalogueSet:
    """A query, or none, and the slots of some items or, as of a version of the catalogue, of all."""

    query: Vectors | None
    slots: Slots | None
    version: int = 0
    # Nothing of it is ever pruned: it is small.
    chosen_only = False

    def _slots(self, catalogue: Catalogue | None) -> tuple[Catalogue, Slots]:
        assert catalogue is not None
        return catalogue, catalogue.slots_at(self.version) if self.slots is None else self.slots

    def size(self, catalogue: Catalogue | None) -> int:
        """Return K."""
        return len(self._slots(catalogue)[1])

    def actions(self, catalogue: Catalogue | None) -> NDArray[Any]:
        """Return the vectors (K, d)."""
        catalogue, slots = self._slots(catalogue)
        return catalogue.actions(self.query, slots)

    def row(self, catalogue: Catalogue | None, index: int) -> NDArray[Any]:
        """Return one of the vectors."""
        catalogue, slots = self._slots(catalogue)
        return np.asarray(catalogue.actions(self.query, slots[index : index + 1])[0])

    def item(self, catalogue: Catalogue | None, index: int) -> str:
        """Return the id of one of the items."""
        catalogue, slots = self._slots(catalogue)
        return catalogue.names[int(slots[index])]

    def pruned(self, index: int) -> CatalogueSet:
        """Return the set itself."""
        return self


DecisionSet = InlineSet | CatalogueSet
