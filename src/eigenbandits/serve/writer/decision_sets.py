"""Decision sets: vectors that came with a request, or items of a catalogue."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eigenbandits.serve.writer.catalogue import Catalogue, Slots, Vectors

# The ids of a catalogue's items by slot, at least of those that are asked for.
Names = Sequence[str] | Mapping[int, str]


def _equal(one: NDArray[Any], other: NDArray[Any]) -> bool:
    # In single precision: the same vectors may be sent first as a list and then as bytes.
    return np.array_equal(one.astype(np.float32), other.astype(np.float32))


def _same(one: NDArray[Any] | None, other: NDArray[Any] | None) -> bool:
    return one is other if one is None or other is None else np.array_equal(one, other, equal_nan=True)


@dataclass(frozen=True, slots=True)
class Logged:
    """A choice made by another system: the row, and the probability with which it was chosen, if known."""

    index: int
    propensity: float | None = None


@dataclass(frozen=True, eq=False)
class Options:
    """What a request contains besides the actions.

    Attributes
    ----------
    excluded
        The rows that may not be chosen; None if all may be.
    scores
        A ranker's score of each row; None without a ranker.
    count
        The number of rows to choose, as a list; 0 for a single choice.
    costs
        The cost of each row, NaN if unknown; None if no cost is known.
    logged
        The choice, if another system has already made it. The log stores it in the decision's row, not here.
    """

    excluded: Slots | None = None
    scores: NDArray[np.float64] | None = None
    count: int = 0
    costs: NDArray[np.float64] | None = None
    logged: Logged | None = None

    def allowed(self, size: int) -> NDArray[np.intp] | None:
        """Return the rows of a set that may be chosen; None for all."""
        return None if self.excluded is None else np.delete(np.arange(size), self.excluded)

    def score(self, index: int) -> list[float] | None:
        """Return the score of one row."""
        return None if self.scores is None else [float(self.scores[index])]

    def pruned(self, index: int) -> Options:
        """Return the options that the chosen row still needs."""
        return Options() if self.scores is None else Options(scores=self.scores[index : index + 1])

    def repeats(self, other: Options) -> bool:
        """Return whether these are the options of the same request, repeated; rows may have moved in the meantime."""
        return self.count == other.count and _same(self.scores, other.scores) and _same(self.costs, other.costs)


PLAIN = Options()


@dataclass(frozen=True, eq=False)
class ListMember:
    """A further row of a list; the set is stored with the list's first decision, `offset` numbers before it."""

    offset: int


@dataclass(frozen=True, eq=False)
class InlineSet:
    """A set whose vectors came with the request; `chosen_only` if the log has kept only the chosen row."""

    array: NDArray[Any]
    chosen_only: bool = False
    options: Options = PLAIN

    def size(self, catalogue: Catalogue | None) -> int:
        """Return K."""
        return len(self.array)

    def numbers(self, catalogue: Catalogue | None) -> int:
        """Return the approximate number of values in all vectors."""
        return self.array.size

    def actions(self, catalogue: Catalogue | None) -> NDArray[Any]:
        """Return the vectors (K, d)."""
        return self.array

    def row(self, catalogue: Catalogue | None, index: int) -> NDArray[Any]:
        """Return one of the vectors."""
        return np.asarray(self.array[0 if self.chosen_only else index])

    def item(self, catalogue: Catalogue | None, index: int) -> None:
        """Return None, since these actions have no ids."""

    def repeats(self, other: DecisionSet, index: int, names: Names) -> bool:
        """Return whether this is the same request's set, repeated, as far as the stored part of the other can tell."""
        if not isinstance(other, InlineSet):
            return False
        if not other.chosen_only and not self.options.repeats(other.options):
            return False
        if other.chosen_only:
            return index < len(self.array) and _equal(self.array[index], other.array[0])
        return _equal(self.array, other.array)

    def pruned(self, index: int) -> InlineSet:
        """Return the set reduced to the chosen row."""
        # The other rows of a list are learned from the same set.
        if self.chosen_only or self.options.count:
            return self
        return InlineSet(self.array[index : index + 1], True, self.options.pruned(index))


@dataclass(frozen=True, eq=False)
class CatalogueSet:
    """A query, or none, and the slots of the items; without slots, all items in a version of the catalogue."""

    query: Vectors | None
    slots: Slots | None
    version: int = 0
    options: Options = PLAIN
    # It is small, so nothing of it is ever pruned.
    chosen_only = False

    def _slots(self, catalogue: Catalogue | None) -> tuple[Catalogue, Slots]:
        assert catalogue is not None
        return catalogue, catalogue.slots_at(self.version) if self.slots is None else self.slots

    def size(self, catalogue: Catalogue | None) -> int:
        """Return K."""
        return len(self._slots(catalogue)[1])

    def numbers(self, catalogue: Catalogue | None) -> int:
        """Return the approximate number of values in all vectors."""
        assert catalogue is not None
        return catalogue.dim * len(catalogue.slot_of if self.slots is None else self.slots)

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

    def repeats(self, other: DecisionSet, index: int, names: Names) -> bool:
        """Return whether this is the same request's set, repeated; items may have been replaced in the meantime."""
        if not isinstance(other, CatalogueSet) or (self.query is None) != (other.query is None):
            return False
        if not self.options.repeats(other.options):
            return False
        if self.query is not None and other.query is not None and not np.array_equal(self.query, other.query):
            return False
        if self.slots is None or other.slots is None:
            return self.slots is other.slots
        return [names[slot] for slot in self.slots] == [names[slot] for slot in other.slots]

    def pruned(self, index: int) -> CatalogueSet:
        """Return the set itself."""
        return self


DecisionSet = InlineSet | CatalogueSet
