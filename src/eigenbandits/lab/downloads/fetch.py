"""Fetch a public dataset: its checksums are verified, and files are complete or absent."""

from __future__ import annotations

import gzip
import hashlib
import tarfile
import tempfile
from os import PathLike
from pathlib import Path
from time import monotonic

from eigenbandits.lab.downloads.download import Echo, download
from eigenbandits.lab.downloads.sources import PackedFile, Source
from eigenbandits.lab.errors import DataError
from eigenbandits.lab.folders import data_folder

# The speed of a home connection, for an estimate of the time before anything is measured.
_USUAL_BITS_PER_SECOND = 50e6


def fetch(source: Source, to: str | PathLike[str] | None, echo: Echo) -> Path:
    """Fetch the missing files of a dataset into the folder of the data, and return their folder."""
    folder = data_folder(to) / source.folder
    wrong = [name for name in source.files if not is_right(folder, name, source)]
    if not wrong:
        echo(f"{source.title} is already in {folder}, and its checksums match.")
        return folder
    folder.mkdir(parents=True, exist_ok=True)
    packed = [file for file in source.packed if file.name.removesuffix(".gz") in wrong or len(source.packed) == 1]
    size = sum(file.size for file in packed)
    echo(
        f"{source.title}: {size / 1e6:.1f} MB into {folder}; "
        f"about {max(1.0, 8 * size / _USUAL_BITS_PER_SECOND):.0f} s at {_USUAL_BITS_PER_SECOND / 1e6:.0f} Mbit/s."
    )
    started = monotonic()
    for file in packed:
        fetched = _retrieve(source, file, folder, echo)
        if fetched.name.endswith(".tar.gz"):
            _unpack(fetched, folder, source)
    for name in source.files:
        if not is_right(folder, name, source):
            raise DataError(f"{name} in {folder} has a wrong checksum; delete it and fetch it again.")
    echo(f"{source.title}: done in {monotonic() - started:.0f} s, all checksums match.")
    return folder


def is_right(folder: Path, name: str, source: Source) -> bool:
    """Return whether a file, plain or gzipped, exists with the right content."""
    try:
        if (folder / name).is_file():
            return _md5((folder / name).read_bytes()) == source.files[name]
        with gzip.open(folder / f"{name}.gz") as file:
            return _md5(file.read()) == source.files[name]
    except (OSError, EOFError, ValueError):
        return False


def _md5(content: bytes) -> str:
    return hashlib.md5(content, usedforsecurity=False).hexdigest()


def _retrieve(source: Source, file: PackedFile, folder: Path, echo: Echo) -> Path:
    """Fetch one file from the first address that has it."""
    target = folder / file.name
    part = target.with_name(f"{file.name}.part")
    for number, address in enumerate(source.addresses, start=1):
        echo(f"{file.name}: {file.size / 1e6:.1f} MB from {address}")
        try:
            download(address + file.name, part, lambda line: echo(f"{file.name}: {line}"))
            if _md5(part.read_bytes()) != file.md5:
                part.unlink()
                raise DataError(
                    f"{address}{file.name} does not have the checksum {file.md5}: it arrived damaged, or was changed; "
                    "try again, or use a folder of your own with --data."
                )
            return part.replace(target)
        except DataError:
            if number == len(source.addresses):
                raise
    raise AssertionError("a source has at least one address")


def _unpack(archive: Path, folder: Path, source: Source) -> None:
    """Move the members of an archive into the folder, one whole file after the other, and remove the archive."""
    with tempfile.TemporaryDirectory(dir=folder) as unpacked, tarfile.open(archive) as opened:
        for member in opened.getmembers():
            name = Path(member.name).name
            if member.isfile() and name in source.files:
                opened.extract(member, unpacked, filter="data")
                (Path(unpacked) / member.name).replace(folder / name)
    archive.unlink()
