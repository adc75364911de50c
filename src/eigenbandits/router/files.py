"""Routers on disk: plain arrays and a JSON header, no pickle, written atomically."""

from os import PathLike
from pathlib import Path
from typing import Any

from eigenbandits import files
from eigenbandits.files import Arrays

FORMAT, VERSION = "eigenbandits-router", 4


def write(path: str | PathLike[str], header: dict[str, Any], arrays: Arrays) -> None:
    """Write a header and its arrays to a file."""
    files.write_whole(path, files.pack({"format": FORMAT, "version": VERSION, **header}, arrays))


def read(path: str | PathLike[str]) -> tuple[dict[str, Any], Arrays]:
    """Return the header and the arrays that `write` wrote."""
    header, arrays, version = files.unpack(Path(path).read_bytes(), str(path), FORMAT, "router")
    if version != VERSION:
        raise ValueError(
            f"{path} has format version {version}, and this eigenbandits reads version {VERSION}; make a new router, "
            "and give it the logged answers with learn_log()."
        )
    return header, arrays
