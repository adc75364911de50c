"""The options of a request to decide, besides the actions: read and checked."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eigenbandits.serve.errors import invalid
from eigenbandits.serve.http import vectors
from eigenbandits.serve.writer.catalogue import Catalogue
from eigenbandits.serve.writer.decision_sets import CatalogueSet, DecisionSet, Logged, Options

# The maximum length of a list.
_LONGEST = 1000


def read_options(entry: dict[str, Any], decision_set: DecisionSet, catalogue: Catalogue | None) -> Options:
    """Return the options of an entry."""
    size = decision_set.size(catalogue)
    ids = None
    if catalogue is not None and (entry.get("allowed") is not None or entry.get("exclude") is not None):
        ids = _ids(decision_set, catalogue)
    out: set[int] = set()
    if entry.get("allowed") is not None:
        out |= set(range(size)) - _rows(entry["allowed"], "allowed", size, ids, strict=True)
    if entry.get("exclude") is not None:
        out |= _rows(entry["exclude"], "exclude", size, ids, strict=False)
    if len(out) == size:
        raise invalid("allowed and exclude leave no action to choose from; expected at least one.", "exclude")
    scores = _numbers(entry, "scores", size, catalogue, vectors.number)
    count = entry.get("count")
    if count is not None and not 1 <= whole(count, "count") <= min(size - len(out), _LONGEST):
        message = f"count is {count}; expected at most {min(size - len(out), _LONGEST)}, the actions to choose from."
        raise invalid(message, "count")
    excluded = np.array(sorted(out), dtype=np.int32) if out else None
    costs = _numbers(entry, "costs", size, catalogue, _cost_or_nan)
    return Options(excluded, scores, 0 if count is None else int(count), costs, _logged(entry, decision_set, catalogue))


def _numbers(
    entry: dict[str, Any], field: str, size: int, catalogue: Catalogue | None, read: Callable[[Any, str], float]
) -> NDArray[np.float64] | None:
    """Return a field with one number for each row."""
    values = entry.get(field)
    if values is None:
        return None
    if type(values) is not list or len(values) != size:
        raise invalid(f"{field} is not a list of {size} numbers, one for each action or item.", field)
    if catalogue is not None and entry.get("items") is None:
        raise invalid(f"{field} are in the order of items; send items with them.", field)
    return np.array([read(one, field) for one in values])


def _cost_or_nan(value: Any, field: str) -> float:
    return math.nan if value is None else least_zero(value, field)


def least_zero(value: Any, field: str) -> float:
    """Return a number of at least 0."""
    cost = vectors.number(value, field)
    if cost < 0.0:
        raise invalid(f"{field} holds {cost:g}; expected at least 0.", field)
    return cost


def _logged(entry: dict[str, Any], decision_set: DecisionSet, catalogue: Catalogue | None) -> Logged | None:
    """Return the choice of an imported decision: a row, or the id of an item if there is a catalogue."""
    index, item = entry.get("index"), entry.get("item")
    if index is None and item is None:
        return None
    if index is not None and item is not None:
        raise invalid("Both index and item were sent; expected only one: the chosen row or the chosen item.", "index")
    size = decision_set.size(catalogue)
    if item is not None:
        if catalogue is None:
            raise invalid("A policy without a catalogue has no items; send the row that was chosen as index.", "item")
        (index,) = _rows([item], "item", size, _ids(decision_set, catalogue), strict=True)
    if type(index) is not int or not 0 <= index < size:
        raise invalid(f"index is not a row number; expected one from 0 to {size - 1}.", "index")
    propensity = entry.get("propensity")
    if propensity is not None and not 0.0 < vectors.number(propensity, "propensity") <= 1.0:
        raise invalid(f"propensity is {propensity}; expected a probability above 0 and at most 1.", "propensity")
    return Logged(index, None if propensity is None else float(propensity))


def _ids(decision_set: DecisionSet, catalogue: Catalogue) -> dict[str, int]:
    """Return the rows of a set by the ids of their items."""
    assert isinstance(decision_set, CatalogueSet)
    slots = catalogue.slots_at(decision_set.version) if decision_set.slots is None else decision_set.slots
    return {catalogue.names[slot]: row for row, slot in enumerate(slots.tolist())}


def _rows(value: Any, field: str, size: int, ids: dict[str, int] | None, strict: bool) -> set[int]:
    """Return rows by number or by item id; ids that are not offered are refused if `strict`, otherwise ignored."""
    if type(value) is not list or (ids is None and not all(type(one) is int and 0 <= one < size for one in value)):
        raise invalid(
            f"{field} is not a list of {'item ids' if ids is not None else f'rows from 0 to {size - 1}'}.", field
        )
    if ids is None:
        return set(value)
    invalid_id = next((one for one in value if type(one) is not str or (strict and one not in ids)), None)
    if invalid_id is not None:
        message = f"{field} contains {str(invalid_id)[:100]!r}, which is not among the items offered."
        raise invalid(message, field, "unknown_item")
    return {ids[one] for one in value if one in ids}


def whole(value: Any, field: str) -> int:
    """Return a positive whole number, from JSON or from the query."""
    text = str(value) if type(value) in (int, str) else ""
    if not text.isdecimal() or not 1 <= len(text) <= 9 or int(text) < 1:
        raise invalid(f"{field} is missing or is not a positive whole number.", field)
    return int(text)
