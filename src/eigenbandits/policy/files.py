"""Policies on disk: one file, without pickle, written atomically and read back bit for bit."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, cast

from eigenbandits.files import Arrays, decode, encode, pack, unpack, write_whole
from eigenbandits.policy.layout import Layout

if TYPE_CHECKING:
    from eigenbandits.policy import Policy

FORMAT = "eigenbandits-policy"
VERSION = 4


def to_bytes(policy: Policy) -> bytes:
    """Return the policy as the contents of a file: a zip of plain arrays (.npz) and a JSON header."""
    arrays: Arrays = {}
    header = {
        "format": FORMAT,
        "version": VERSION,
        "policy": encode(policy, arrays),
        "state": encode(policy.state(), arrays),
    }
    return pack(header, arrays)


def from_bytes(content: bytes, name: str = "these bytes") -> Policy:
    """Return the policy from bytes that `to_bytes` returned."""
    header, arrays, version = unpack(content, name, FORMAT, "policy")
    if version > VERSION:
        raise ValueError(
            f"{name} has format version {version}; this eigenbandits reads up to {VERSION}. Upgrade to read it."
        )
    if version < VERSION:
        raise ValueError(
            f"{name} has format version {version}; this eigenbandits reads {VERSION}. "
            "Make a new policy and let it learn from the log with learn_many()."
        )
    try:
        policy = decode(header["policy"], arrays)
        # The base of every policy; policies themselves import this module.
        if not isinstance(policy, Layout):
            raise TypeError("not a policy")
        policy.restore(decode(header["state"], arrays))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{name} cannot be read as a policy: {error}.") from error
    return cast("Policy", policy)


def save(policy: Policy, path: str | PathLike[str]) -> None:
    """Write a policy to a file, atomically."""
    write_whole(path, to_bytes(policy))


def load(path: str | PathLike[str]) -> Policy:
    """Read a policy that `Policy.save` wrote; it continues bit for bit as the saved one would.

    Nothing in the file can run code: it holds plain arrays, and can name only classes that are already loaded.

    Raises
    ------
    ValueError
        If the file is not a saved policy, or is cut short or damaged.
    FileNotFoundError
        If the file does not exist.
    """
    return from_bytes(Path(path).read_bytes(), str(path))
