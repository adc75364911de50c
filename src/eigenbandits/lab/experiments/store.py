"""The folder of an experiment: one file per finished cell, and the tables assembled from them."""

from __future__ import annotations

import errno
import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eigenbandits.files import write_whole
from eigenbandits.lab.errors import LabError
from eigenbandits.lab.experiments import parquet

if TYPE_CHECKING:
    import pyarrow as pa

RESULTS, TIMING, SETTINGS = "results.parquet", "timing.parquet", "experiment.json"


class Store:
    """A folder of results, created when something is first written."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.cells = folder / "cells"
        self.data = folder / "data"
        self.failures = folder / "failures"

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep a second run out of the folder; the lock ends with this process in any case."""
        try:
            self.cells.mkdir(parents=True, exist_ok=True)
            lock = (self.folder / ".lock").open("w")
        except OSError as error:
            raise self._cannot_write(error) from error
        with lock:
            _lock(lock, self.folder)
            for left in self.cells.glob(".*"):
                left.unlink()  # partly written by a run that was killed
            yield

    def path(self, hash_: str) -> Path:
        """Return the file of a cell."""
        return self.cells / f"{hash_}.parquet"

    def present(self, hashes: Iterable[str]) -> tuple[set[str], list[str]]:
        """Return the finished cells, and notes about damaged files, which are set aside."""
        there, notes = set(), []
        with suppress(FileNotFoundError):
            there = {entry.name.removesuffix(".parquet") for entry in os.scandir(self.cells)}
        found = {hash_ for hash_ in hashes if hash_ in there}
        for hash_ in sorted(found):
            if not parquet.looks_whole(self.path(hash_)):
                found.discard(hash_)
                notes.append(self.set_aside(hash_))
        return found, notes

    def set_aside(self, hash_: str) -> str:
        """Rename the damaged file of a cell, so that the cell is run again, and return a sentence about it."""
        path = self.path(hash_)
        path.replace(path.with_suffix(".damaged"))
        return f"{path} is truncated or damaged; it is kept as {path.stem}.damaged, and its cell is run again."

    def write(self, path: Path, content: bytes) -> None:
        """Write a file whole or not at all; a full disk is reported in one sentence."""
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(path, content)
        except OSError as error:
            raise self._cannot_write(error) from error

    def keep_failure(self, hash_: str, name: str, trace: str) -> str:
        """Write the traceback of a failed cell, for the author of its policy, and return text that names the file."""
        if not trace:
            return ""
        path = self.failures / f"{hash_}.txt"
        self.write(path, f"{name}\n\n{trace}".encode())
        return f"; see {path}"

    def forget_failure(self, hash_: str) -> None:
        """Remove the traceback of a cell that has succeeded now."""
        (self.failures / f"{hash_}.txt").unlink(missing_ok=True)

    def others(self, hashes: Iterable[str]) -> int:
        """Return how many cells exist besides these: results of other settings, which are kept."""
        wanted = {f"{hash_}.parquet" for hash_ in hashes}
        return sum(path.name not in wanted for path in self.cells.glob("*.parquet"))

    def made_by(self, hashes: Iterable[str]) -> dict[str, str]:
        """Return for each cell the state of the code that made it."""
        import pyarrow.parquet as pq

        made = {}
        for hash_ in hashes:
            note = pq.read_metadata(self.path(hash_)).metadata or {}
            made[hash_] = str(json.loads(note.get(b"eigenbandits", b"{}")).get("code"))
        return made

    def stamp(self, rows: Sequence[Mapping[str, Any]]) -> str | None:
        """Return a hash that changes whenever a cell, a label or a table does; None if one of them is missing."""
        found = hashlib.sha256()
        try:
            for row in rows:
                stat = self.path(row["hash"]).stat()
                found.update(json.dumps([*row.values(), stat.st_size, stat.st_mtime_ns]).encode())
            for name in (RESULTS, TIMING):
                found.update((self.folder / name).read_bytes())
        except OSError:
            return None
        return found.hexdigest()

    def assemble(self, rows: Sequence[Mapping[str, Any]]) -> tuple[dict[str, bytes], list[str]]:
        """Return the tables of all cells as bytes, or the damaged cells; `rows` holds the labels and hash of each."""
        import pyarrow as pa

        tables: list[pa.Table] = []
        damaged = []
        for row in rows:
            try:
                table, _ = parquet.read(self.path(row["hash"]))
                tables.append(_labeled(table, row))
            except parquet.DamagedFileError:
                damaged.append(row["hash"])
        if damaged:
            return {}, damaged
        whole = pa.concat_tables(tables, promote_options="default").combine_chunks()
        found, times = parquet.split(whole)
        made = {"cells": [row["hash"] for row in rows]}
        return {RESULTS: parquet.to_bytes(found, made), TIMING: parquet.to_bytes(times, made)}, []

    def settings(self) -> dict[str, Any]:
        """Return what is stored with the results: settings, versions, machine; empty if missing or damaged."""
        try:
            return dict(json.loads((self.folder / SETTINGS).read_text()))
        except (OSError, ValueError):
            return {}

    def _cannot_write(self, error: OSError) -> LabError:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            return LabError(
                f"the disk of {self.folder} is full; all finished cells are kept: free some space and run it again."
            )
        return LabError(f"{self.folder} cannot be written to ({error.strerror}); choose another folder with --out.")


def _labeled(table: pa.Table, row: Mapping[str, Any]) -> pa.Table:
    import pyarrow as pa

    count = table.num_rows
    types = {"seed": pa.int64()}
    for place, name in enumerate(("experiment", "policy", "environment", "seed")):
        values = pa.repeat(pa.scalar(row[name], types.get(name, pa.string())), count)
        table = table.add_column(place, name, values)
    return table


def _lock(file: Any, folder: Path) -> None:
    try:
        import fcntl
    except ImportError:  # no such locks on this system
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise LabError(f"another run is using {folder}; wait for it, or choose another folder with --out.") from None
