"""Files: components and arrays without pickle, and files that are written atomically."""

import dataclasses
import errno
import io
import json
import os
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from eigenbandits.component import Component
from eigenbandits.theory import Structure

Arrays = dict[str, np.ndarray[Any, Any]]


def pack(header: Mapping[str, Any], arrays: Arrays) -> bytes:
    """Return a header and arrays as the bytes of an .npz file; the header must have a "format" and a "version"."""
    text = json.dumps(header, sort_keys=True).encode()
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, header=np.frombuffer(text, dtype=np.uint8), **arrays)
    return buffer.getvalue()


def unpack(content: bytes, name: str, kind: str, what: str) -> tuple[dict[str, Any], Arrays, int]:
    """Return the header, the arrays and the version from what `pack` returned; refuse any format other than `kind`."""
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as archive:
            arrays = {key: archive[key] for key in archive.files}
        header = json.loads(arrays.pop("header").tobytes())
        if header["format"] != kind:
            raise KeyError(header["format"])
        version = int(header["version"])
    except Exception as error:  # on damaged input, the zip and array readers raise almost anything
        raise ValueError(f"{name} is not a saved {what}, or is truncated or damaged.") from error
    return header, arrays, version


def write_whole(path: str | PathLike[str], content: bytes) -> None:
    """Write a file so that readers see either the old content or the new, never a part of it, even after a crash."""
    with open_whole(path) as file:
        file.write(content)


@contextmanager
def open_whole(path: str | PathLike[str]) -> Iterator[BinaryIO]:
    """Open a new file that replaces the old one when the block ends, unless it raises; see `write_whole`."""
    target = Path(path)
    # Opened like any other new file, so that it gets the user's default permissions.
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(8)}")
    if not target.parent.is_dir():
        reason = f"there is no such folder; make it before writing {target.name} to it"
        raise FileNotFoundError(errno.ENOENT, reason, str(target.parent))
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, "this is a folder; give the name of a file in it", str(target))
    try:
        with temporary.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def encode(value: Any, arrays: dict[str, np.ndarray[Any, Any]]) -> Any:
    """Return a JSON value in which arrays are replaced by their names in `arrays`."""
    if isinstance(value, Component):
        return {"$component": value.full_name(), "params": encode(value.params(), arrays)}
    if isinstance(value, Structure):
        return {"$structure": dataclasses.asdict(value)}
    if isinstance(value, np.ndarray):
        name = f"array{len(arrays)}"
        arrays[name] = value
        return {"$array": name}
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, dict):
        return {key: encode(item, arrays) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [encode(item, arrays) for item in value]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise TypeError(f"a parameter of type {type(value).__name__} cannot be saved; use numbers, strings or arrays")


def decode(value: Any, arrays: dict[str, np.ndarray[Any, Any]]) -> Any:
    """Return the value that `encode` was given."""
    if isinstance(value, list):
        return [decode(item, arrays) for item in value]
    if not isinstance(value, dict):
        return value
    if "$array" in value:
        return arrays[value["$array"]]
    if "$structure" in value:
        return Structure(**value["$structure"])
    if "$component" in value:
        return Component.named(value["$component"])(**decode(value["params"], arrays))
    return {key: decode(item, arrays) for key, item in value.items()}
