"""What is known of a public dataset: where it is fetched from, its size, and its checksums."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Packed:
    """One file as it is offered for download.

    Attributes
    ----------
    name : str
        Its name.
    size : int
        Its length in bytes.
    md5 : str
        Its checksum.
    """

    name: str
    size: int
    md5: str


@dataclass(frozen=True)
class Source:
    """One dataset.

    Attributes
    ----------
    name, title : str
        Its name on the command line, and in text.
    folder : str
        The folder of its files, in the folder of the data.
    addresses : tuple of str
        Folders on the web that hold its files; a later one is tried if an earlier one does not answer.
    packed : tuple of Packed
        The files that are fetched.
    files : mapping
        The checksum of each file after unpacking.
    """

    name: str
    title: str
    folder: str
    addresses: tuple[str, ...]
    packed: tuple[Packed, ...]
    files: dict[str, str]

    @property
    def size(self) -> int:
        """Bytes to fetch in all."""
        return sum(file.size for file in self.packed)
