"""Merging: replicas of one part of a policy, and the sums that a single process would have."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, NoReturn, TypeVar

import numpy as np

from eigenbandits import linalg
from eigenbandits.component import Component
from eigenbandits.inputs import Array

Part = TypeVar("Part", bound=Component)
Inner = TypeVar("Inner", bound=Component)


@dataclass(frozen=True, eq=False)
class Shift:
    """The linear map T from a replica's lifted rows (x − c′, κ′) to ours (x − c, κ): [[I, (c′ − c)/κ′], [0, κ/κ′]].

    Parameters
    ----------
    offset
        c′ − c, or None if the two are equal.
    theirs, ours
        κ′ and κ, or 0 if lifted rows have no intercept coordinate.
    score
        If rows end with a score: the factor and then the offset that map it to ours.

    Examples
    --------
    >>> Shift(np.array([1.0]), theirs=2.0, ours=4.0).rows(np.array([[5.0, 2.0]])).tolist()
    [[6.0, 4.0]]
    >>> Shift(np.array([1.0]), theirs=2.0, ours=4.0, score=(3.0, 1.0)).rows(np.array([[5.0, 2.0, 7.0]])).tolist()
    [[6.0, 4.0, 22.0]]
    """

    offset: Array | None = None
    theirs: float = 0.0
    ours: float = 0.0
    score: tuple[float, float] | None = None

    @property
    def same(self) -> bool:
        """Whether T is the identity."""
        return self.offset is None and self.theirs == self.ours and self.score in (None, (1.0, 0.0))

    def rows(self, rows: Array) -> Array:
        """Return the rows (n, D) as ours."""
        if self.same:
            return rows
        moved = rows.copy()
        intercept = -1
        if self.score is not None:
            factor, added = self.score
            intercept = -2
            moved[:, -1] = factor * rows[:, -1] + (added * rows[:, intercept] / self.theirs if added else 0.0)
        if self.offset is not None:
            moved[:, :intercept] += np.multiply.outer(rows[:, intercept] / self.theirs, self.offset)
        if self.theirs != self.ours:
            moved[:, intercept] *= self.ours / self.theirs
        return moved

    def vector(self, vector: Array) -> Array:
        """Return T times a vector."""
        moved: Array = self.rows(vector[None])[0]
        return moved

    def gram(self, half: Array) -> Array:
        """Return T G Tᵀ for a symmetric G given by its lower half."""
        if self.same:
            return half
        full = half.copy(order="F")
        linalg.mirror(full)
        return self.rows(np.ascontiguousarray(self.rows(np.ascontiguousarray(full)).T))

    def square_norm(self) -> float:
        """Return ‖T‖₂²."""
        if self.same:
            return 1.0
        # Apart from ones, T has the singular values of its part along the offset, the intercept and the score.
        slope = 0.0 if self.offset is None else float(np.linalg.norm(self.offset)) / self.theirs
        factor, added = self.score or (1.0, 0.0)
        kept, given = (self.ours / self.theirs, added / self.theirs) if self.theirs else (1.0, 0.0)
        plane = np.array([[1.0, slope, 0.0], [0.0, kept, 0.0], [0.0, given, factor]])
        return float(np.linalg.norm(plane, 2)) ** 2

    def longest(self, norm: float) -> float:
        """Return the largest norm that our row can have if theirs has this one."""
        if self.same or norm == 0.0:
            return norm
        if self.score is not None:
            return math.sqrt(self.square_norm()) * norm
        distance = 0.0 if self.offset is None else float(np.linalg.norm(self.offset))
        return math.hypot(math.sqrt(max(norm**2 - self.theirs**2, 0.0)) + distance, self.ours)


@dataclass(frozen=True, eq=False)
class Replica(Generic[Part]):
    """One replica's part in a merge.

    Attributes
    ----------
    part
        The part, which is only read.
    weight
        1 for each replica, and 1 − m for the snapshot that m of them started from, so that it counts once.
    shift
        The map from the replica's lifted rows to ours.
    """

    part: Part
    weight: int = 1
    shift: Shift = Shift()

    def inside(self, part: Inner) -> Replica[Inner]:
        """Return the same replica's entry for a component of this part."""
        return Replica(part, self.weight, self.shift)


def total(replicas: Sequence[Replica[Any]], name: str) -> Any:
    """Return the sum of an attribute of the parts, a number or an array."""
    return sum(replica.weight * getattr(replica.part, name) for replica in replicas)


def count(replicas: Sequence[Replica[Any]], name: str) -> int:
    """Return the sum of a count that only grows; refuse a replica whose count is below the snapshot's."""
    least = max((getattr(replica.part, name) for replica in replicas if replica.weight < 0), default=0)
    if any(getattr(replica.part, name) < least for replica in replicas):
        raise ValueError("a replica has seen less than base, so it did not start from base; leave base out.")
    return int(total(replicas, name))


def added(replicas: Sequence[Replica[Any]]) -> list[Replica[Any]]:
    """Return the replicas without the snapshot."""
    return [replica for replica in replicas if replica.weight > 0]


def refuse_base(replicas: Sequence[Replica[Any]], what: str) -> None:
    """Raise an error if there is a snapshot, for statistics that cannot be subtracted."""
    if any(replica.weight < 0 for replica in replicas):
        raise ValueError(f"{what} is a summary that base cannot be subtracted from; leave base out.")


def sum_of_halves(replicas: Sequence[Replica[Any]], name: str = "gram") -> Array:
    """Return the lower half of Σ T G Tᵀ over the parts' symmetric sums G."""
    total_half: Array | None = None
    for replica in replicas:
        half = replica.shift.gram(getattr(replica.part, name).copied())
        if replica.weight != 1:
            half = replica.weight * half
        total_half = np.asfortranarray(half) if total_half is None else total_half + half
    assert total_half is not None
    return np.asfortranarray(total_half)


def refuse_unknown(part: Component) -> None:
    """Raise an error if a part has state that the class defining its `merge` does not know."""
    owner = next(kind for kind in type(part).__mro__ if "merge" in vars(kind))
    if not set(part._state_names) <= set(getattr(owner, "_state_names", ())):
        raise ValueError(f"{type(part).__name__} has state but no method merge(); define one that adds it up.")


def differing(first: Any, second: Any) -> str | None:
    """Describe how the arguments of two parts differ, except for seeds; return None if they are the same."""
    if type(first) is not type(second):
        return f"{type(second).__name__} instead of {type(first).__name__}"
    others = second.params()
    for name, value in first.params().items():
        other = others[name]
        if name == "seed":
            continue
        if isinstance(value, Component) and isinstance(other, Component):
            inner = differing(value, other)
            if inner is not None:
                return inner
        elif not _equal(value, other):
            if np.ndim(value) or np.ndim(other):
                return f"another {name}"
            return f"{name}={other!r} instead of {name}={value!r}"
    return None


def _equal(first: Any, second: Any) -> bool:
    if first is None or second is None:
        return first is second
    return bool(np.array_equal(first, second)) if not isinstance(first, str) else first == second


def refuse_faded() -> NoReturn:
    """Raise the error that explains why replicas with a memory cannot be merged."""
    raise ValueError(
        "replicas with a memory cannot be merged: the remaining weight of a reward depends on those that came after it "
        "in one order; merge policies with memory=None, or learn from one log."
    )
