"""Policies from the disk: the last snapshot that is whole, and the log after it."""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import Iterator
from itertools import chain
from typing import Any

from eigenbandits import files
from eigenbandits.policy import Policy
from eigenbandits.serve.catalogue import Catalogue
from eigenbandits.serve.hosted import Hosted, Unrepeatable
from eigenbandits.serve.journal import Head, Journal, PolicyRow
from eigenbandits.serve.logs import tell
from eigenbandits.serve.specs import Spec
from eigenbandits.serve.storage.base import Database

_MAGIC = b"eigenbandits-snapshot-1\n"


def pack(spec: Spec, state: dict[str, Any]) -> bytes:
    """Return the snapshot of a policy, with a checksum, from a copy of its state; may run in any thread."""
    policy = spec.make()
    policy.restore(state)
    content = files.to_bytes(policy)
    return _MAGIC + hashlib.sha256(content).digest() + content


def unpack(snapshot: bytes) -> bytes:
    """Return the policy's bytes; raise ValueError where the snapshot is not whole."""
    start = len(_MAGIC) + 32
    digest, content = snapshot[len(_MAGIC) : start], snapshot[start:]
    if not snapshot.startswith(_MAGIC) or hashlib.sha256(content).digest() != digest:
        raise ValueError("the snapshot is cut short or damaged")
    return content


def load(
    database: Database,
    journal: Journal,
    row: PolicyRow,
    catalogues: dict[str, Catalogue],
    from_log_alone: bool = False,
) -> Hosted:
    """Return a policy in the very state that its log leads to.

    Parameters
    ----------
    row
        Id, name, spec, time of creation and head, as `Journal.policies` gives them.
    from_log_alone
        Leave the snapshots aside and go through the whole log.
    """
    id_, name, text, created_at, head = row
    spec = Spec.from_text(text)
    if spec.catalogue is not None and spec.catalogue not in catalogues:
        raise Unrepeatable(f"policy {name!r} cannot be rebuilt: its catalogue {spec.catalogue!r} is gone")
    catalogue = None if spec.catalogue is None else catalogues[spec.catalogue]
    starts: Iterator[tuple[int, Policy | None]] = iter([(0, None)])
    if not from_log_alone:
        starts = chain(_snapshots(database, journal, id_, head), starts)
    for position, policy in starts:
        begun = time.perf_counter()
        hosted = Hosted(id_, name, spec, created_at, head=head, catalogue=catalogue, policy=policy)
        hosted.snapshot_position = position
        try:
            different = hosted.replay(journal, position)
        except Unrepeatable as error:
            if policy is None:
                raise Unrepeatable(f"policy {name!r} cannot be rebuilt: {error}, and no snapshot is whole") from error
            continue
        seconds = round(time.perf_counter() - begun, 3)
        level = logging.WARNING if different else logging.INFO
        tell(
            "policy loaded",
            level,
            policy=name,
            snapshot=position,
            position=head.position,
            seconds=seconds,
            different_choices=different,
        )
        return hosted
    raise AssertionError("the log from its start is always the last thing tried")


def _snapshots(database: Database, journal: Journal, id_: int, head: Head) -> Iterator[tuple[int, Policy]]:
    """Give those snapshots of a policy, newest first, that are whole and not ahead of the log."""
    for position, snapshot in database.snapshots(journal.connection, id_):
        try:
            if position > head.position:
                raise ValueError("the snapshot is ahead of the log")
            yield position, files.from_bytes(unpack(snapshot))
        except ValueError as error:
            tell("snapshot left aside", logging.WARNING, policy=id_, position=position, reason=str(error))
