"""Policies on disk: one file, without pickle, written atomically and read back bit for bit."""

from __future__ import annotations

import json
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from eigenbandits.files import Arrays, decode, encode, pack, unpack, write_whole
from eigenbandits.policy.layout import Layout

if TYPE_CHECKING:
    from eigenbandits.policy import Policy

FORMAT = "eigenbandits-policy"
VERSION = 4
# The earliest version that is read: files of version 3 name classes without their modules.
EARLIEST = 3
# Attributes that policies did not have when the first of these files were written; they stay as in a new policy.
ADDED = {"encoder", "relative", "blank", "block", "drawn", "repeats", "mean", "least_growth", "errors", "credit"}
# The names that attributes had when the first of these files were written.
FORMER = {"basis": "reading", "censoring": "bounds", "proved": "bounds"}


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


def from_bytes(content: bytes, name: str = "these bytes", earliest: int = EARLIEST) -> Policy:
    """Return the policy from bytes that `to_bytes` of this version returned, or of any since the earliest."""
    header, arrays, version = unpack(content, name, FORMAT, "policy")
    if version > VERSION:
        raise ValueError(
            f"{name} has format version {version}; this eigenbandits reads up to {VERSION}. Upgrade to read it."
        )
    if version < earliest:
        raise ValueError(
            f"{name} has format version {version}; this eigenbandits reads {earliest} and later. "
            "Make a new policy and let it learn from the log with learn_many()."
        )
    if version == 3:
        # Quotes inside strings are escaped, so this is nothing but a key.
        header = json.loads(json.dumps(header).replace('"$component": "', '"$component": "eigenbandits.policy:'))
    try:
        policy = decode(header["policy"], arrays)
        # The base of every policy; policies themselves import this module.
        if not isinstance(policy, Layout):
            raise TypeError("not a policy")
        policy.restore(_completed(decode(header["state"], arrays), policy.state()))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{name} cannot be read as a policy: {error}.") from error
    return cast("Policy", policy)


def _completed(state: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """Return a state with its present names, and with the attributes added since as they are in a new policy."""
    state = {name: state[FORMER[name]] for name in new.keys() & FORMER if FORMER[name] in state} | state
    state = {name: new[name] for name in new.keys() & ADDED} | state
    inner = {
        name: value for name, value in new.items() if isinstance(value, dict) and isinstance(state.get(name), dict)
    }
    return state | {name: _completed(state[name], value) for name, value in inner.items()}


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
