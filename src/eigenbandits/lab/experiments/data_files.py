"""The data files of an experiment: identified by their content, and mapped from disk."""

import hashlib
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eigenbandits.files import write_whole
from eigenbandits.lab.errors import LabError

SUFFIXES = (".npy", ".npz", ".parquet")


def is_data_file(value: object) -> bool:
    """Return whether a setting names a data file: a string or path that ends in .npy, .npz or .parquet."""
    return isinstance(value, str | Path) and str(value).endswith(SUFFIXES)


class DataFiles:
    """Content hashes of data files, cached in a folder, and arrays stored there; nothing is written until needed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._memory: dict[str, list[Any]] | None = None

    def reference(self, path: Path) -> dict[str, Any]:
        """Return the reference of a data file in a cell: its path, its size, and the hash of its content."""
        try:
            found = path.stat()
        except OSError:
            raise LabError(f"there is no data file {path}; give its path relative to the experiment's file.") from None
        known = self._known().get(str(path))
        stamp = [found.st_size, found.st_mtime_ns]
        if known is None or known[:2] != stamp:
            with path.open("rb") as file:
                known = [*stamp, hashlib.file_digest(file, "sha256").hexdigest()]
            self._remember(str(path), known)
        return {"path": str(path), "size": found.st_size, "sha256": known[2]}

    def keep(self, array: NDArray[Any]) -> dict[str, Any]:
        """Write an array from memory to a file named by its content, and return its reference."""
        content = io.BytesIO()
        np.save(content, np.asarray(array), allow_pickle=False)
        path = self.folder / f"{hashlib.sha256(content.getbuffer()).hexdigest()[:32]}.npy"
        if not path.exists() or path.stat().st_size != len(content.getbuffer()):
            self.folder.mkdir(parents=True, exist_ok=True)
            write_whole(path, content.getvalue())
        return self.reference(path)

    def _known(self) -> dict[str, list[Any]]:
        """Return the hashes of earlier runs: hashing gigabytes again would make a run with nothing to do slow."""
        if self._memory is None:
            try:
                self._memory = dict(json.loads((self.folder / ".hashes.json").read_text()))
            except (OSError, ValueError):
                self._memory = {}
        return self._memory

    def _remember(self, path: str, found: list[Any]) -> None:
        self._known()[path] = found
        self.folder.mkdir(parents=True, exist_ok=True)
        write_whole(self.folder / ".hashes.json", json.dumps(self._memory, indent=1).encode())


def check(reference: dict[str, Any]) -> Path:
    """Return the path of a data file, refusing one whose size has changed since the experiment was planned."""
    path = Path(reference["path"])
    if not path.exists() or path.stat().st_size != reference["size"]:
        raise LabError(
            f"the data file {path} does not exist, or is not the one that the experiment was planned with; "
            "put the same file at the same path on every machine."
        )
    return path
