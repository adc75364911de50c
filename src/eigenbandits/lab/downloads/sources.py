"""A public dataset: where it is fetched from, its size, and its checksums."""

from __future__ import annotations

from dataclasses import dataclass


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
