"""Where a log is stored, cut into shards that are read in batches: Parquet files, Arrow datasets, Dask data frames."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from eigenbandits import extras
from eigenbandits.fitting.columns import Columns, LogRows

# Rows of one shard, about: enough that merging costs nothing compared with learning.
SHARD = 1 << 20
# Numbers of the vectors in one batch, about: 16 MB in double precision.
NUMBERS = 1 << 21


class Shard(ABC):
    """A part of a log, read in batches."""

    @abstractmethod
    def tables(self, names: Sequence[str], rows: int) -> Iterator[Any]:
        """Yield the columns as Arrow tables or batches of at most this many rows."""

    def blocks(self, columns: Columns, rows: int) -> Iterator[LogRows]:
        """Yield them as arrays; an error says where in the log it occurred."""
        start = 0
        for table in self.tables(columns.names, rows):
            if not table.num_rows:
                continue
            try:
                yield columns.block(table)
            except ValueError as error:
                raise ValueError(f"{self}, from row {start:,}: {error}.") from None
            start += table.num_rows


class Fragments(Shard):
    """Consecutive pieces of an Arrow dataset: row groups of Parquet files, or whole files of another kind."""

    def __init__(self, fragments: Sequence[Any]) -> None:
        self.fragments = list(fragments)

    def __str__(self) -> str:
        """Name the first file, and its row groups."""
        first = self.fragments[0]
        groups = getattr(first, "row_groups", None)
        path = getattr(first, "path", "") or "the table"
        return f"{path} (row group {groups[0].id})" if groups else path

    def tables(self, names: Sequence[str], rows: int) -> Iterator[Any]:
        """Yield the batches of one fragment after the other, with little more than one of them in memory."""
        for fragment in self.fragments:
            yield from fragment.to_batches(
                columns=list(names), batch_size=rows, batch_readahead=1, fragment_readahead=1, use_threads=False
            )


class Partition(Shard):
    """One partition of a Dask data frame, or what it holds."""

    def __init__(self, frame: Any, number: int) -> None:
        self.frame = frame
        self.number = number

    def __str__(self) -> str:
        """Name the partition."""
        return f"partition {self.number}"

    def tables(self, names: Sequence[str], rows: int) -> Iterator[Any]:
        """Yield slices of the partition."""
        import pyarrow as pa

        table = pa.Table.from_pandas(self.frame[list(names)], preserve_index=False)
        for start in range(0, table.num_rows, rows):
            yield table.slice(start, rows)


def is_dask(data: Any) -> bool:
    """Return whether this is a Dask data frame."""
    return type(data).__module__.split(".")[0] in ("dask", "dask_expr") and hasattr(data, "to_delayed")


def open_dataset(data: Any) -> Any:
    """Return an Arrow dataset from what users pass: a path or a pattern, several paths, a table or a dataset."""
    extras.need("lab", "pyarrow", what="Learning from a log")
    import pyarrow as pa
    import pyarrow.dataset as ds

    if isinstance(data, ds.Dataset):
        return data
    if isinstance(data, pa.Table):
        return ds.dataset(data)
    try:
        if isinstance(data, str | PathLike):
            path = Path(data)
            pattern = any(sign in path.name for sign in "*?[") and not path.exists()
            found = sorted(map(str, path.parent.glob(path.name))) if pattern else fspath(data)
            if not found:
                raise FileNotFoundError(fspath(data))
            return ds.dataset(found, format="parquet")
        if isinstance(data, list | tuple) and data and all(isinstance(one, str | PathLike) for one in data):
            return ds.dataset([fspath(one) for one in data], format="parquet")
    except FileNotFoundError:
        raise FileNotFoundError(f"there is no log at {data}; expected a Parquet file, or a folder of them.") from None
    except (pa.ArrowInvalid, OSError) as error:
        raise ValueError(f"{data} cannot be read as Parquet, or is cut short ({str(error).splitlines()[0]}).") from None
    raise ValueError(
        f"data is a {type(data).__name__}; expected a path of Parquet files, an Arrow dataset or table, or a Dask data "
        "frame. Pass arrays to policy.learn_many()."
    )


def shards_of(dataset: Any) -> list[Fragments]:
    """Return a dataset in shards of about a million rows; the same ones wherever and however often it is read."""
    shards: list[list[Any]] = []
    filled = SHARD
    for fragment in dataset.get_fragments():
        split = getattr(fragment, "split_by_row_group", None)
        for piece in [fragment] if split is None else split():
            rows = sum(group.num_rows for group in piece.row_groups) if split is not None else SHARD
            if filled + rows > SHARD or split is None:
                shards.append([])
                filled = 0
            shards[-1].append(piece)
            filled += rows
    return [Fragments(pieces) for pieces in shards]
