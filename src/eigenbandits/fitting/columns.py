"""Columns of a log as arrays: vectors from a column of lists or from columns of numbers, rewards, decision sets."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


@dataclass(frozen=True)
class LogRows:
    """Consecutive rows of a log: the chosen vectors (n, d), their rewards (n,), and the sets (K, d) offered."""

    vectors: Array
    rewards: Array
    sets: list[Array] | None = None


@dataclass(frozen=True)
class Columns:
    """Which columns of a log hold what.

    `vector` is a column of lists of d numbers, or d columns of numbers, and is not read where `chosen` is given: the
    row in `offered`, a column of lists of vectors, from 0.
    """

    vector: str | Sequence[str]
    reward: str
    offered: str | None = None
    chosen: str | None = None

    def __post_init__(self) -> None:
        """Refuse what does not fit together."""
        if self.chosen is not None and self.offered is None:
            raise ValueError("chosen is given without offered; expected the column of the decision sets as well.")
        if not isinstance(self.vector, str) and not len(self.vector):
            raise ValueError("vector names no columns; expected a column of lists, or d columns of numbers.")

    @property
    def names(self) -> list[str]:
        """The columns to be read, each once."""
        vectors = [self.vector] if isinstance(self.vector, str) else list(self.vector)
        wanted = [*([] if self.chosen is not None else vectors), self.reward, self.offered, self.chosen]
        return list(dict.fromkeys(name for name in wanted if name is not None))

    def check(self, present: Sequence[str]) -> None:
        """Refuse a log that lacks a column."""
        missing = [name for name in self.names if name not in present]
        if missing:
            shown = ", ".join(list(present)[:12]) + (", …" if len(present) > 12 else "")
            raise ValueError(f"the log has no column {missing[0]!r}; it has {shown}. Name its columns by the options.")

    def block(self, batch: Any) -> LogRows:
        """Return a batch of an Arrow table, or the table, as arrays."""
        sets = None if self.offered is None else _sets(_whole(batch, self.offered), self.offered)
        rewards = _numbers(batch, self.reward)
        if self.chosen is not None:
            assert sets is not None
            return LogRows(_picked(sets, _numbers(batch, self.chosen), self.chosen), rewards, sets)
        if isinstance(self.vector, str):
            return LogRows(_vectors(_whole(batch, self.vector), self.vector), rewards, sets)
        return LogRows(np.column_stack([_numbers(batch, name) for name in self.vector]), rewards, sets)


def _whole(batch: Any, name: str) -> Any:
    """Return a column as one Arrow array without holes."""
    column = batch.column(name)
    column = column.combine_chunks() if hasattr(column, "combine_chunks") else column
    if hasattr(column, "storage"):
        column = column.storage
    if column.null_count:
        row = int(np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False))[0])
        raise ValueError(f"column {name!r} has no value in row {row}; leave such rows out")
    return column


def _numbers(batch: Any, name: str) -> Array:
    """Return a column of numbers."""
    found: Array = _whole(batch, name).to_numpy(zero_copy_only=False)
    if found.dtype.kind not in "fiub":
        raise ValueError(f"column {name!r} holds {found.dtype.name} values; expected numbers")
    return found


def _lengths(column: Any) -> tuple[Array, Any]:
    """Return how long each list of a column is, and the values of all of them."""
    import pyarrow as pa

    kind = column.type
    if pa.types.is_fixed_size_list(kind):
        return np.full(len(column), kind.list_size), column.flatten()
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return np.diff(column.offsets.to_numpy()), column.flatten()
    raise TypeError(str(kind))


def _vectors(column: Any, name: str) -> Array:
    """Return a column of lists as rows of one array."""
    try:
        lengths, values = _lengths(column)
    except TypeError as error:
        # By default Dask turns every object column of pandas into text.
        text = "; Dask keeps lists as they are under dask.config.set({'dataframe.convert-string': False})"
        hint = text if "string" in str(error) else ""
        raise ValueError(f"column {name!r} holds {error} values; expected lists of d numbers{hint}") from None
    width = int(lengths[0]) if len(lengths) else 0
    if (lengths != width).any():
        row = int(np.flatnonzero(lengths != width)[0])
        raise ValueError(f"column {name!r} has a vector of length {lengths[row]} in row {row}, after others of {width}")
    if values.null_count:
        raise ValueError(f"column {name!r} has vectors with a number missing; leave such rows out")
    found: Array = values.to_numpy(zero_copy_only=False)
    if found.dtype.kind not in "fiub":
        raise ValueError(f"column {name!r} holds lists of {found.dtype.name}; expected lists of numbers")
    return found.reshape(len(lengths), width)


def _sets(column: Any, name: str) -> list[Array]:
    """Return a column of lists of vectors as one array for each row."""
    try:
        sizes, vectors = _lengths(column)
        rows = _vectors(vectors, name)
    except TypeError as error:
        raise ValueError(f"column {name!r} holds {error} values; expected lists of vectors") from None
    return np.split(rows, np.cumsum(sizes)[:-1]) if len(sizes) else []


def _picked(sets: list[Array], chosen: Array, name: str) -> Array:
    """Return the vector of each set that was chosen."""
    sizes = np.array([len(one) for one in sets])
    wrong = np.flatnonzero((chosen != np.floor(chosen)) | (chosen < 0) | (chosen >= sizes))
    if len(wrong):
        row = int(wrong[0])
        raise ValueError(f"column {name!r} holds {chosen[row]} in row {row}, where {sizes[row]} were offered")
    return np.array([one[int(row)] for one, row in zip(sets, chosen, strict=True)])
