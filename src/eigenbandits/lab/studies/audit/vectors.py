"""Vectors from files and arrays: .npy, .npz and Parquet, never unpickled; decision sets (t, K, d) or rows (n, d)."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eigenbandits import inputs
from eigenbandits.extras import need
from eigenbandits.inputs import Array

SUFFIXES = (".npy", ".npz", ".parquet")
# Kept in memory as float64: 400 MB. Larger sets are sampled.
MOST_NUMBERS = 50_000_000
_SAMPLE_SEED = 0


@dataclass(frozen=True, eq=False)
class Vectors:
    """Finite vectors (n, d), read as decision sets or as a catalogue.

    `arms` is K where they came as decision sets, which are then K rows each, in order; None for a catalogue. `offered`
    is the number of vectors before sampling.
    """

    rows: Array
    arms: int | None
    offered: int

    @property
    def groups(self) -> int:
        """How many decision sets, or rows of a catalogue."""
        return len(self.rows) if self.arms is None else len(self.rows) // self.arms


def as_vectors(actions: Any, what: str = "actions") -> Vectors:
    """Return an (n, d) or (t, K, d) array as vectors, or raise an error that says why it cannot be."""
    array = np.asarray(actions)
    if array.ndim not in (2, 3):
        raise ValueError(f"{what} has shape {array.shape}; expected (n, d) vectors or (t, K, d) decision sets.")
    if 0 in array.shape:
        raise ValueError(f"{what} has shape {array.shape}, so it holds no numbers; expected at least one vector.")
    arms = None if array.ndim == 2 else int(array.shape[1])
    offered = len(array) * (arms or 1)
    per_group = array.size // len(array)
    most = max(1, MOST_NUMBERS // per_group)
    if len(array) > most:
        chosen = np.random.default_rng(_SAMPLE_SEED).choice(len(array), most, replace=False)
        array = array[np.sort(chosen)]
    return Vectors(inputs.as_actions(array.reshape(-1, array.shape[-1]), None, what=what), arms, offered)


def read(path: Path, name: str | None = None) -> Vectors:
    """Return the vectors of a .npy, .npz or .parquet file; `name` is the array or column, if the file has several."""
    if path.suffix not in SUFFIXES:
        raise ValueError(f"{path} ends in {path.suffix!r}; expected a file that ends in {', '.join(SUFFIXES)}.")
    if path.is_dir():
        raise ValueError(f"{path} is a folder; expected a file.")
    if not path.exists():
        raise ValueError(f"there is no file {path}; expected one of vectors.")
    try:
        array = _read_parquet(path, name) if path.suffix == ".parquet" else _read_numpy(path, name)
    except _NotFoundError as error:
        raise ValueError(f"{path} {error}") from None
    except Exception as error:  # damage makes the readers of these formats raise nearly anything
        if _is_pickle(path, error):
            raise ValueError(f"{path} holds Python objects, which are never unpickled; save plain numbers.") from None
        raise ValueError(f"{path} is not a {path.suffix} file of numbers, or is truncated or damaged.") from error
    return as_vectors(array, str(path))


class _NotFoundError(Exception):
    """An array that was not found; the text is the end of a sentence."""


def _is_pickle(path: Path, error: Exception) -> bool:
    """Distinguish objects in a NumPy file from other files, which NumPy also takes for pickles."""
    with path.open("rb") as file:
        known = file.read(6) in (b"\x93NUMPY", *(b"PK\x03\x04" + bytes([n, 0]) for n in range(256)))
    return known and isinstance(error, ValueError) and ("pickle" in str(error) or "Python objects" in str(error))


def _read_numpy(path: Path, name: str | None) -> NDArray[Any]:
    found = np.load(path, mmap_mode="r", allow_pickle=False)
    if isinstance(found, np.ndarray):
        if name is not None:
            raise _NotFoundError(f"holds one array without a name; leave out --array {name}.")
        return found
    with found as archive:
        return np.asarray(archive[_choose(archive.files, name, "array")])


def _read_parquet(path: Path, name: str | None) -> NDArray[Any]:
    need("lab", "pyarrow", what="Reading Parquet")
    import pyarrow.parquet as pq
    import pyarrow.types as types

    file = pq.ParquetFile(path)
    schema = file.schema_arrow

    def is_list(kind: Any) -> bool:
        return bool(types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind))

    lists = [field.name for field in schema if is_list(field.type)]
    if name is None and not lists:
        numbers = [f.name for f in schema if types.is_floating(f.type) or types.is_integer(f.type)]
        if not numbers:
            raise _NotFoundError("has no column of numbers or of lists of numbers.")
        table = file.read(columns=numbers)
        return np.column_stack([table[column].to_numpy() for column in numbers])
    column = file.read(columns=[_choose(lists, name, "column of vectors")]).column(0)
    try:
        return np.asarray(column.to_pylist(), dtype=np.float64)
    except (ValueError, TypeError):
        raise _NotFoundError("has vectors of different lengths, or gaps; expected as many numbers in each.") from None


def _choose(names: list[str], wanted: str | None, what: str) -> str:
    if wanted is not None and wanted not in names:
        raise _NotFoundError(f"has no {what} {wanted!r}; it has {', '.join(map(repr, names)) or 'none'}.")
    if wanted is None and len(names) != 1:
        raise _NotFoundError(f"has {len(names)} {what}s ({', '.join(names)}); choose one with --array NAME.")
    return names[0] if wanted is None else wanted
