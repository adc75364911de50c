"""Routers on disk: plain arrays and a JSON header, no pickle, written whole or not at all."""

from __future__ import annotations

import io
import json
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from eigenbandits import files

FORMAT, VERSION = "eigenbandits-router", 1
Arrays = dict[str, np.ndarray[Any, Any]]


def write(path: str | PathLike[str], header: dict[str, Any], arrays: Arrays) -> None:
    """Write a header and its arrays to a file."""
    text = json.dumps({"format": FORMAT, "version": VERSION, **header}).encode()
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, header=np.frombuffer(text, dtype=np.uint8), **arrays)
    files.write_whole(path, buffer.getvalue())


def read(path: str | PathLike[str]) -> tuple[dict[str, Any], Arrays]:
    """Return the header and the arrays that `write` wrote."""
    content = Path(path).read_bytes()
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as archive:
            arrays = {key: archive[key] for key in archive.files}
        header = json.loads(arrays.pop("header").tobytes())
        if header["format"] != FORMAT:
            raise KeyError(header["format"])
        version = int(header["version"])
    except Exception as error:  # damage makes the readers of zip files and of arrays raise nearly anything
        raise ValueError(f"{path} is not a saved router, or is cut short or damaged.") from error
    if version != VERSION:
        raise ValueError(f"{path} has format version {version}; this eigenbandits reads version {VERSION}.")
    return header, arrays
