"""Logs on disk: .npz and Parquet files with the entries of a log, and the dsjson of Vowpal Wabbit."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

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


def _read_parquet(path: Path) -> dict[str, Any]:
    need("lab", "pyarrow", what="Parquet")
    import pyarrow.parquet as pq

    table = pq.read_table(path)
    found = {name: table[name].to_numpy() for name in table.column_names if name != "actions"}
    if "actions" in table.column_names:
        found["actions"] = [np.array(rows, dtype=np.float64) for rows in table["actions"].to_pylist()]
    return found


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
