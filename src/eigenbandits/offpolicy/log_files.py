"""Logs on disk: .npz and Parquet files with the entries of a log, and the dsjson of Vowpal Wabbit."""

from __future__ import annotations

import zipfile
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from eigenbandits.extras import need
from eigenbandits.files import open_whole
from eigenbandits.offpolicy import dsjson

if TYPE_CHECKING:
    from eigenbandits.offpolicy.log import Log


def read(path: Path, vectors: dsjson.Featurizer | None = None) -> dict[str, Any]:
    """Return the entries of a log in the format that the file's suffix names; see `Log.read`."""
    readers = {".npz": _read_npz, ".parquet": _read_parquet}
    if not path.exists():
        raise FileNotFoundError(f"there is no file {path}; expected a log in .npz, Parquet or dsjson form.")
    if path.suffix not in readers:
        return dsjson.read(path, vectors)
    try:
        return readers[path.suffix](path)
    except (ValueError, EOFError, OSError, zipfile.BadZipFile) as error:
        raise ValueError(f"{path} cannot be read as a log, or is cut short ({error}).") from error


def write(log: Log, path: Path) -> None:
    """Write a log in the format that the file's suffix names; see `Log.write`."""
    writers = {".npz": _write_npz, ".parquet": _write_parquet, ".dsjson": dsjson.write, ".json": dsjson.write}
    if path.suffix not in writers:
        raise ValueError(f"{path} ends in none of {', '.join(writers)}, which say how the log is to be written.")
    writers[path.suffix](log, path)


def _read_npz(path: Path) -> dict[str, Any]:
    with np.load(path, allow_pickle=False) as archive:
        found = {name: archive[name] for name in archive.files}
    if "sizes" in found:
        # Sets of different sizes lie one below the other.
        found["actions"] = np.split(found["actions"], np.cumsum(found.pop("sizes"))[:-1])
    return found


def _write_npz(log: Log, path: Path) -> None:
    entries = {"choices": log.chosen, "rewards": log.earned, "propensities": log.probabilities}
    if (log.sizes == log.sizes[0]).all():
        entries["actions"] = np.stack([log.decision_set(event) for event in range(len(log))])
    else:
        entries["actions"] = np.concatenate([log.decision_set(event) for event in range(len(log))])
        entries["sizes"] = log.sizes
    with open_whole(path) as file:
        np.savez_compressed(file, allow_pickle=False, **entries)


# Bytes of decision sets of a Parquet file that are held in memory.
_HELD = 2**28


class ParquetSets:
    """The decision sets of a Parquet file, read one group of rows at a time; those used last are held in memory.

    Parameters
    ----------
    path
        The file.
    """

    def __init__(self, path: Path) -> None:
        import pyarrow.parquet as pq

        self._path, self._file = path, pq.ParquetFile(path)
        metadata, column = self._file.metadata, self._file.schema_arrow.names.index("actions")
        groups = [metadata.row_group(group) for group in range(metadata.num_row_groups)]
        # The first event of each group, and the number of all events.
        self._starts = np.cumsum([0, *(group.num_rows for group in groups)])
        largest = 8 * max((group.column(column).num_values for group in groups), default=1)
        self._group = lru_cache(max(1, _HELD // largest))(self._read)

    def __reduce__(self) -> tuple[type[ParquetSets], tuple[Path]]:
        """Pickle the path alone, as for another process."""
        return ParquetSets, (self._path,)

    def __len__(self) -> int:
        """How many."""
        return int(self._starts[-1])

    def __getitem__(self, event: int) -> NDArray[np.floating]:
        """The decision set (K, d) of one event."""
        if not 0 <= event < len(self):
            raise IndexError(f"there are {len(self)} events; there is no event {event}.")
        group = int(np.searchsorted(self._starts, event, side="right")) - 1
        return self._group(group)[event - int(self._starts[group])]

    def _read(self, group: int) -> list[NDArray[np.floating]]:
        """Return the sets of a group, views of one array where all vectors have one length."""
        found: list[NDArray[np.floating]] = []
        for chunk in self._file.read_row_group(group, columns=["actions"])["actions"].chunks:
            vectors = chunk.flatten()
            numbers, lengths = vectors.flatten().to_numpy(), np.unique(vectors.value_lengths().to_numpy())
            if len(lengths) > 1:
                found += [np.array(rows, dtype=np.float64) for rows in chunk.to_pylist()]
            else:
                table = numbers.reshape(len(vectors), -1)
                found += np.split(table, np.cumsum(chunk.value_lengths().to_numpy())[:-1])
        return found


def _read_parquet(path: Path) -> dict[str, Any]:
    need("lab", "pyarrow", what="Parquet")
    import pyarrow.parquet as pq

    names = pq.read_schema(path).names
    table = pq.read_table(path, columns=[name for name in names if name != "actions"])
    found: dict[str, Any] = {name: table[name].to_numpy() for name in table.column_names}
    return found | ({"actions": ParquetSets(path)} if "actions" in names else {})


def _write_parquet(log: Log, path: Path) -> None:
    need("lab", "pyarrow", what="Parquet")
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = {
        "actions": pa.array(
            (list(log.decision_set(event)) for event in range(len(log))), type=pa.list_(pa.list_(pa.float64()))
        ),
        "choices": log.chosen,
        "rewards": log.earned,
        "propensities": log.probabilities,
    }
    with open_whole(path) as file:
        pq.write_table(pa.table(columns), file, compression="zstd")
