"""Fetch a public dataset: its checksums are verified, and files are complete or absent."""

from __future__ import annotations

import gzip
import hashlib
import tarfile
import tempfile
from os import PathLike
from pathlib import Path
from time import monotonic

from eigenbandits.extras import need
from eigenbandits.lab.downloads.download import Echo, Resumed
from eigenbandits.lab.downloads.sources import Packed, Source
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
    need("images", "pooch", what=f"Fetching {source.title}")
    folder.mkdir(parents=True, exist_ok=True)
    packed = [file for file in source.packed if file.name.removesuffix(".gz") in wrong or len(source.packed) == 1]
    size = sum(file.size for file in packed)
    echo(
        f"{source.title}: {size / 1e6:.1f} MB into {folder}; "
        f"about {max(1.0, 8 * size / _USUAL_BITS_PER_SECOND):.0f} s at {_USUAL_BITS_PER_SECOND / 1e6:.0f} Mbit/s."
    )
    started = monotonic()
    for file in packed:
        fetched = _retrieved(source, file, folder, echo)
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
            content = (folder / name).read_bytes()
        else:
            with gzip.open(folder / f"{name}.gz") as file:
                content = file.read()
    except (OSError, EOFError, ValueError):
        return False
    return hashlib.md5(content, usedforsecurity=False).hexdigest() == source.files[name]


def _retrieved(source: Source, file: Packed, folder: Path, echo: Echo) -> Path:
    import pooch

    pooch.get_logger().setLevel("WARNING")
    target = folder / file.name
    for place, address in enumerate(source.addresses, start=1):
        echo(f"{file.name}: {file.size / 1e6:.1f} MB from {address}")
        try:
            pooch.retrieve(
                address + file.name,
                f"md5:{file.md5}",
                file.name,
                folder,
                downloader=Resumed(target, lambda line: echo(f"{file.name}: {line}")),
            )
            return target
        except DataError:
            if place == len(source.addresses):
                raise
        except ValueError as error:
            # pooch has removed the file.
            if place == len(source.addresses):
                raise DataError(
                    f"{address}{file.name} does not have the checksum {file.md5}: it arrived damaged, or was changed; "
                    "try again, or use a folder of your own with --data."
                ) from error
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
