"""What the sizes of the service's pieces of work rest on: `python -m benchmarks.serve.pieces`.

While requests wait, an upload's vectors are prepared `_PIECE` numbers at a time (writer/catalogue.py) and its items
inserted `_ITEMS_AT_ONCE` at a time (writer/administration.py): as many as take no longer than a batch of requests may,
the writer's `BUDGET`. SQLite's log starts over from `LARGE_WAL` bytes on, and the commit that does so truncates the
file to `KEPT_WAL` (storage/checkpoints.py).
"""

from __future__ import annotations

import sqlite3
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from unittest import mock

import numpy as np

from eigenbandits.lab.reporting.tables import aligned
from eigenbandits.serve.storage import schema
from eigenbandits.serve.storage.checkpoints import KEPT_WAL, LARGE_WAL
from eigenbandits.serve.storage.journal import Journal
from eigenbandits.serve.storage.schema import CatalogueRow
from eigenbandits.serve.storage.sqlite import SqliteDatabase
from eigenbandits.serve.writer import administration, catalogue
from eigenbandits.serve.writer.catalogue import Catalogue
from eigenbandits.serve.writer.writer import BUDGET

_DIMS = (384, 1536)
# Numbers of the upload: more than the allocator hands out again without asking the operating system.
_PREPARED = 16_000_000


def marks(taken: Sequence[float]) -> str:
    """Return the median and the largest of some times, in milliseconds."""
    return f"{1e3 * np.median(taken):.1f} / {1e3 * max(taken):.1f}"


def seconds(action: Callable[[], object]) -> float:
    """Return how long an action takes."""
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def preparing(numbers: int, dim: int) -> str:
    """Measure the steps in which an upload is prepared: new memory is filled with vectors less their mean."""
    vectors, mean = np.ones((_PREPARED // dim, dim), dtype=np.float32), np.ones(dim, dtype=np.float32)
    row = CatalogueRow(1, "items", dim, "both", mean.tobytes(), "", 1, 0.0)
    with mock.patch.object(catalogue, "_PIECE", numbers):
        steps = Catalogue.of(row).prepare(vectors)
        return marks([seconds(lambda: next(steps)) for _ in range(len(vectors) // (numbers // dim))])


def inserting(folder: Path, items: int, dim: int) -> str:
    """Measure a transaction that inserts items."""
    database = SqliteDatabase(folder / f"{items}-{dim}")
    vector = np.ones(dim, dtype=np.float32).tobytes()
    with closing(database.connect()) as connection:
        taken = []
        for repeat in range(20):
            rows = [schema.ItemRow(repeat, i, f"item-{i:05d}", 1, None, vector) for i in range(items)]
            start = time.perf_counter()
            with connection.transaction():
                Journal(connection).add(schema.ITEMS, rows)
            taken.append(time.perf_counter() - start)
        return marks(taken)


def starting_over(folder: Path, size: int, kept: int) -> str:
    """Measure the first commit after a checkpoint of a log of this size."""
    with closing(sqlite3.connect(folder / f"{size}-{kept}", isolation_level=None)) as database:
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("PRAGMA wal_autocheckpoint = 0")
        database.execute(f"PRAGMA journal_size_limit = {kept}")
        database.execute("CREATE TABLE rows (content BLOB)")
        taken = []
        for _ in range(5):
            database.execute("INSERT INTO rows VALUES (zeroblob(?))", (size,))
            database.execute("DELETE FROM rows")
            database.execute("PRAGMA wal_checkpoint(PASSIVE)")
            taken.append(seconds(lambda: database.execute("INSERT INTO rows VALUES (zeroblob(100))")))
        return marks(taken)


def main() -> None:
    """Print the tables."""
    sizes = [catalogue._PIECE * 2**i // 4 for i in range(5)]
    body = [[f"{size:,}", *(preparing(size, dim) for dim in _DIMS)] for size in sizes]
    heads = [f"d = {dim}" for dim in _DIMS]
    print("Milliseconds: median / largest of several\n")
    print(f"_PIECE = {catalogue._PIECE:,}; BUDGET = {1e3 * BUDGET:g} ms")
    print(aligned(["numbers prepared", *heads], body))
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        counts = [administration._ITEMS_AT_ONCE * 2**i // 4 for i in range(5)]
        body = [[f"{count:,}", *(inserting(folder, count, dim) for dim in _DIMS)] for count in counts]
        print(f"\n_ITEMS_AT_ONCE = {administration._ITEMS_AT_ONCE}")
        print(aligned(["items inserted", *heads], body))
        body = []
        for size in (LARGE_WAL, KEPT_WAL // 2, 2 * KEPT_WAL, 4 * KEPT_WAL):
            cells = [starting_over(folder, size, kept) for kept in (KEPT_WAL, 8 * KEPT_WAL)]
            body.append([f"{size // 2**20} MiB", *cells])
        print(f"\nLARGE_WAL = {LARGE_WAL // 2**20} MiB, KEPT_WAL = {KEPT_WAL // 2**20} MiB")
        print(aligned(["log that starts over", "truncated to KEPT_WAL", "kept as it is"], body))


if __name__ == "__main__":
    main()
