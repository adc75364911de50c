"""Fetch a public dataset: checked by its checksums, and there whole or not at all."""

from __future__ import annotations

import gzip
import hashlib
import tarfile
import tempfile
from collections.abc import Iterable
from os import PathLike
from pathlib import Path
from time import monotonic

from eigenbandits.datasets.base import DataError
from eigenbandits.datasets.download import Resumed, Tell
from eigenbandits.datasets.places import data_folder
from eigenbandits.datasets.sources import SOURCES, Packed, Source
from eigenbandits.extras import need

# What a home connection brings, for an honest guess of the time before anything is measured.
_USUAL_BITS_PER_SECOND = 50e6


def fetch(source: Source, to: str | PathLike[str] | None, tell: Tell) -> Path:
    """Fetch what is missing of a dataset, and return the folder in which its files lie.

    Parameters
    ----------
    source
        Which one.
    to
        The folder of the data; what `data_folder` says unless given.
    tell
        Is told in lines what is done, how big it is, and how long it takes.
    """
    folder = data_folder(to) / source.folder
    wrong = [name for name in source.files if not is_right(folder, name, source)]
    if not wrong:
        tell(f"{source.title} is in {folder} already, and its checksums are right.")
        return folder
    need("images", "pooch", what=f"Fetching {source.title}")
    folder.mkdir(parents=True, exist_ok=True)
    packed = [file for file in source.packed if file.name.removesuffix(".gz") in wrong or len(source.packed) == 1]
    size = sum(file.size for file in packed)
    tell(
        f"{source.title}: {size / 1e6:.1f} MB into {folder}; "
        f"about {max(1.0, 8 * size / _USUAL_BITS_PER_SECOND):.0f} s at {_USUAL_BITS_PER_SECOND / 1e6:.0f} Mbit/s."
    )
    started = monotonic()
    for file in packed:
        fetched = _retrieved(source, file, folder, tell)
        if fetched.name.endswith(".tar.gz"):
            _unpack(fetched, folder, source)
    for name in source.files:
        if not is_right(folder, name, source):
            raise DataError(f"{name} in {folder} has a wrong checksum; delete it and fetch it again.")
    tell(f"{source.title}: done in {monotonic() - started:.0f} s, all checksums right.")
    return folder


def is_right(folder: Path, name: str, source: Source) -> bool:
    """Tell whether a file, plain or gzipped, is there and has the right content."""
    try:
        if (folder / name).is_file():
            content = (folder / name).read_bytes()
        else:
            with gzip.open(folder / f"{name}.gz") as file:
                content = file.read()
    except (OSError, EOFError, ValueError):
        return False
    return hashlib.md5(content, usedforsecurity=False).hexdigest() == source.files[name]


def known(name: str, others: Iterable[str] = ()) -> Source:
    """Return a dataset that can be fetched, by its name; a refusal also tells what others can."""
    if name not in SOURCES:
        raise DataError(f"there is no dataset {name!r} to fetch; expected one of {', '.join([*SOURCES, *others])}.")
    return SOURCES[name]


def _retrieved(source: Source, file: Packed, folder: Path, tell: Tell) -> Path:
    import pooch

    pooch.get_logger().setLevel("WARNING")
    target = folder / file.name
    for place, address in enumerate(source.addresses, start=1):
        tell(f"{file.name}: {file.size / 1e6:.1f} MB from {address}")
        try:
            pooch.retrieve(
                address + file.name,
                f"md5:{file.md5}",
                file.name,
                folder,
                downloader=Resumed(target, lambda line: tell(f"{file.name}: {line}")),
            )
            return target
        except DataError:
            if place == len(source.addresses):
                raise
        except ValueError as error:
            # pooch has removed what came.
            if place == len(source.addresses):
                raise DataError(
                    f"{address}{file.name} has another checksum than {file.md5}: it came damaged, or was changed; "
                    "try again, or give a folder of yours with --data."
                ) from error
    raise AssertionError("a source has at least one address")


def _unpack(archive: Path, folder: Path, source: Source) -> None:
    """Put the members of an archive in their place, one whole file after the other, and remove the archive."""
    with tempfile.TemporaryDirectory(dir=folder) as unpacked, tarfile.open(archive) as opened:
        for member in opened.getmembers():
            name = Path(member.name).name
            if member.isfile() and name in source.files:
                opened.extract(member, unpacked, filter="data")
                (Path(unpacked) / member.name).replace(folder / name)
    archive.unlink()
