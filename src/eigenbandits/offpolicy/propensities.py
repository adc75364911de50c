"""The probabilities with which a policy chooses the rows of the decision sets of a log."""

import math
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import ArrayLike

from eigenbandits.inputs import Array
from eigenbandits.offpolicy.log import Log
from eigenbandits.policy import Policy, files

Target = Policy | Callable[[Array], ArrayLike] | ArrayLike


def target_probabilities(log: Log, target: Target) -> Iterator[Array]:
    """Yield for each event the probability (K,) with which the target would choose each row; see `estimate`."""
    if isinstance(target, Policy):
        # A copy: a randomized rule draws random numbers.
        target = files.from_bytes(files.to_bytes(target), "the policy").probabilities
    given = map(target, map(log.decision_set, range(len(log)))) if callable(target) else _in_rows(log, target)
    for event, one in enumerate(given):
        size = int(log.sizes[event])
        found = np.asarray(one, dtype=np.float64)
        if found.shape != (size,) or found.min() < 0.0 or not math.isclose(float(found.sum()), 1.0, abs_tol=1e-6):
            raise ValueError(f"target gives {found} at event {event}; expected {size} probabilities that add up to 1.")
        yield found


def _in_rows(log: Log, target: ArrayLike) -> Iterator[ArrayLike]:
    """Yield the rows of an array of probabilities, or certainty of the row that each entry names."""
    array = np.asarray(target)
    if len(array) != len(log):
        raise ValueError(f"target holds {len(array)} entries; expected {len(log)}, one for each event.")
    if array.ndim > 1:
        return iter(array)
    if array.dtype.kind not in "iu":
        raise ValueError(f"target holds {array.dtype.name} values; expected rows, which are whole numbers.")
    wrong = np.flatnonzero((array < 0) | (array >= log.sizes))
    if len(wrong):
        event = int(wrong[0])
        raise ValueError(
            f"target chooses row {array[event]} of {log.sizes[event]} at event {event}; expected a row of it."
        )
    return (np.arange(size) == row for size, row in zip(log.sizes, array, strict=True))
