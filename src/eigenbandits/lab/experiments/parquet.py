"""Tables as Parquet bytes: the file of one cell, and the tables of all cells."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eigenbandits.extras import need

if TYPE_CHECKING:
    import pyarrow as pa

KEYS = ("experiment", "policy", "environment", "seed", "round")
_FIRST = ("regret", "reward")
_META = b"eigenbandits"


class DamagedFileError(ValueError):
    """A file of results that is truncated or changed; its text says which."""


def write_cell(columns: Mapping[str, list[Any]], made: Mapping[str, Any]) -> bytes:
    """Return the file of one cell; everything except the round is a real number or missing."""
    import pyarrow as pa

    types = {name: pa.int64() if name == "round" else pa.float64() for name in columns}
    table = pa.table({name: pa.array(values, types[name]) for name, values in columns.items()})
    return to_bytes(table, made)


def to_bytes(table: pa.Table, made: Mapping[str, Any]) -> bytes:
    """Return a table as the bytes of a Parquet file, with a note of how it was made; equal tables give equal bytes."""
    import pyarrow.parquet as pq

    text = json.dumps(made, sort_keys=True).encode()
    content = io.BytesIO()
    pq.write_table(table.replace_schema_metadata({_META: text}), content, compression="zstd", write_page_checksum=True)
    return content.getvalue()


def read(path: Path) -> tuple[pa.Table, dict[str, Any]]:
    """Return a table and its note, with all checksums verified."""
    need("lab", "pyarrow", what="Reading results")
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.ParquetFile(path, page_checksum_verification=True).read()
        made = json.loads((table.schema.metadata or {})[_META])
    except FileNotFoundError:
        raise
    except (pa.ArrowException, OSError, ValueError, KeyError) as error:
        raise DamagedFileError(f"{path} is truncated, damaged or not written by this lab ({_short(error)})") from error
    return table.replace_schema_metadata(None), made


def looks_whole(path: Path) -> bool:
    """Return, within microseconds, whether a file has the end of a Parquet file."""
    size = path.stat().st_size
    if size < 12:
        return False
    with path.open("rb") as file:
        file.seek(-8, io.SEEK_END)
        end = file.read(8)
    return end[4:] == b"PAR1" and int.from_bytes(end[:4], "little") <= size - 12


def split(table: pa.Table) -> tuple[pa.Table, pa.Table]:
    """Return the columns that repeat bit for bit, and the times, which never do; both with keys and the same rows."""
    names = table.column_names
    times = time_columns(names)
    found = [*KEYS, *_FIRST, *sorted(set(names) - {*KEYS, *_FIRST, *times})]
    return table.select(found), table.select([*KEYS, *times])


def time_columns(names: Iterable[str]) -> list[str]:
    """Return the columns that a clock measured, which never repeat: their names start with "seconds".

    Examples
    --------
    >>> time_columns(["regret", "seconds", "seconds_median"])
    ['seconds', 'seconds_median']
    """
    return sorted(name for name in names if name.startswith("seconds"))


def _short(error: Exception) -> str:
    return str(error).splitlines()[0].rstrip(".") if str(error) else type(error).__name__
