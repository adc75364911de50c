"""Public datasets over HTTP: fetched once, checked by checksums, resumed where they stopped."""

import gzip
import hashlib
import tarfile
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from http.client import HTTPException, HTTPResponse
from os import PathLike
from pathlib import Path
from time import monotonic
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from eigenbandits.lab.errors import DataError
from eigenbandits.lab.folders import data_folder

Echo = Callable[[str], object]
_PIECE = 1 << 18
_TIMEOUT_SECONDS = 30.0
_PARTIAL, _PAST_THE_END = 206, 416
# The speed of a home connection, for an estimate of the time before anything is measured.
_USUAL_BITS_PER_SECOND = 50e6


@dataclass(frozen=True)
class PackedFile:
    """One file as it is offered for download: its name, its length in bytes, and its checksum."""

    name: str
    size: int
    md5: str


@dataclass(frozen=True)
class Source:
    """One dataset: its names on the command line and in text, and the folder of its files in the folder of the data.

    `addresses` are folders on the web that hold the `packed` files; a later one is tried if an earlier one does not
    answer. `files` has the checksum of each file after unpacking.
    """

    name: str
    title: str
    folder: str
    addresses: tuple[str, ...]
    packed: tuple[PackedFile, ...]
    files: dict[str, str]

    @property
    def size(self) -> int:
        """Bytes to fetch in all."""
        return sum(file.size for file in self.packed)


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
            _download(address + file.name, part, lambda line: echo(f"{file.name}: {line}"))
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


def _download(url: str, part: Path, echo: Echo) -> None:
    """Fetch the rest of a file, of which `part` may hold the beginning.

    At every tenth of the file it reports how much it has, and how long the rest will take.
    """
    have = part.stat().st_size if part.exists() else 0
    try:
        _fetch(url, part, have, echo)
    except HTTPError as error:
        if error.code != _PAST_THE_END or not have:
            raise DataError(f"{url} cannot be fetched: the server answered {error.code} ({error.reason}).") from error
        # The partial file is as long as the whole one or longer: start over.
        part.unlink()
        _download(url, part, echo)
    except (URLError, HTTPException, OSError) as error:
        reason = getattr(error, "reason", None) or error
        raise DataError(f"{url} cannot be fetched ({reason}); the same command continues from here.") from error


def _fetch(url: str, part: Path, have: int, echo: Echo) -> None:
    request = Request(url, headers={"Range": f"bytes={have}-"} if have else {})
    with urlopen(request, timeout=_TIMEOUT_SECONDS) as answer:
        resumed = answer.status == _PARTIAL
        have = have if resumed else 0
        with part.open("ab" if resumed else "wb") as file:
            _copy(answer, file.write, have, have + int(answer.headers.get("Content-Length") or 0), echo)


def _copy(answer: HTTPResponse, write: Callable[[bytes], int], have: int, total: int, echo: Echo) -> None:
    started, first = monotonic(), have
    while piece := answer.read(_PIECE):
        write(piece)
        before, have = have, have + len(piece)
        if have * 10 // max(total, 1) > before * 10 // max(total, 1) and have < total:
            left = (monotonic() - started) * (total - have) / (have - first)
            echo(f"{have / 1e6:.1f} of {total / 1e6:.1f} MB, {left:.0f} s left")
    if have < total:
        raise OSError(f"the connection ended after {have:,} of {total:,} bytes")
