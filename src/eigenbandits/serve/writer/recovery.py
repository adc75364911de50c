"""Recovery: catalogues from the disk, and each policy from its last intact snapshot and the log after it."""

import hashlib
import logging
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, Literal

from eigenbandits.policy import Policy, files
from eigenbandits.serve.errors import DamagedError, Refusal, ReplayError, StorageError
from eigenbandits.serve.logs import log_event
from eigenbandits.serve.storage.base import Database
from eigenbandits.serve.storage.journal import Journal
from eigenbandits.serve.storage.schema import CatalogueRow, PolicyRow
from eigenbandits.serve.writer.catalogue import Catalogue
from eigenbandits.serve.writer.hosted_policy import HostedPolicy, Resumption
from eigenbandits.serve.writer.policy_spec import PolicySpec

Start = Literal["newest", "oldest", "log"]
_MAGIC = b"eigenbandits-snapshot-1\n"
# If the service was down for longer than this many seconds, by the wall clock, pending decisions get a new time to
# live: either nobody could send their rewards, or the clock is wrong.
LONG_PAUSE = 86_400.0


def pack_snapshot(spec: PolicySpec, state: dict[str, Any]) -> bytes:
    """Return the snapshot of a policy, with a checksum, from a copy of its state; may run in any thread."""
    policy = spec.make()
    policy.restore(state)
    content = files.to_bytes(policy)
    return _MAGIC + hashlib.sha256(content).digest() + content


def unpack_snapshot(snapshot: bytes) -> bytes:
    """Return the policy's bytes; raise ValueError if the snapshot is not intact."""
    start = len(_MAGIC) + 32
    digest, content = snapshot[len(_MAGIC) : start], snapshot[start:]
    if not snapshot.startswith(_MAGIC) or hashlib.sha256(content).digest() != digest:
        raise ValueError("the snapshot is truncated or damaged")
    return content


def load_catalogues(journal: Journal) -> Iterator[Catalogue]:
    """Yield all catalogues with their items; an unreadable one is left out, and so are its policies."""
    for row in journal.catalogues():
        try:
            catalogue = _read_catalogue(journal, row)
        except (ValueError, IndexError, DamagedError) as error:
            log_event("catalogue left out", logging.ERROR, catalogue=row.name, reason=str(error))
            continue
        yield catalogue


def _read_catalogue(journal: Journal, row: CatalogueRow) -> Catalogue:
    catalogue = Catalogue.of(row)
    for item in journal.items(row.id):
        # Later items belong to an upload that is in progress or was interrupted.
        if item.added <= row.version:
            catalogue.load(item)
    return catalogue


def refresh_catalogues(journal: Journal, known: Mapping[str, Catalogue]) -> dict[str, Catalogue]:
    """Return the current catalogues; known ones apply the changes made by other processes."""
    current = {}
    by_id = {one.id: one for one in known.values()}
    for row in journal.catalogues():
        catalogue = by_id.get(row.id)
        if catalogue is None:
            catalogue = _read_catalogue(journal, row)
        elif catalogue.version != row.version:
            rows = [one for one in journal.items(row.id, len(catalogue.names) - 1) if one.added <= row.version]
            count = len(catalogue.names)
            removed = [
                pair for pair in journal.removed_items(row.id, catalogue.version, row.version) if pair[0] < count
            ]
            catalogue.follow(removed, rows, row.version)
        current[row.name] = catalogue
    return current


def resumptions(rows: Sequence[PolicyRow], known: Mapping[int, Resumption], now: float) -> dict[int, Resumption]:
    """Return up to which number each policy's decisions precede this run, and whether their times are valid."""
    pause = now - max((row.last_at for row in rows), default=now)
    if abs(pause) > LONG_PAUSE and not known:
        message = "the clock is far from where the log ends; pending decisions get a new time to live"
        log_event(message, logging.WARNING, seconds=round(pause))
    resumed = dict(known)
    for row in rows:
        if row.id not in resumed or resumed[row.id].through > row.number:
            resumed[row.id] = Resumption(row.number, now, pause > LONG_PAUSE)
    return resumed


def load(
    database: Database,
    journal: Journal,
    row: PolicyRow,
    catalogues: Mapping[str, Catalogue],
    start: Start = "newest",
) -> HostedPolicy:
    """Return a policy in the exact state that its log leads to; raise `ReplayError` if that is impossible.

    A problem with one policy must not keep the others from being loaded, so any other exception means that the database
    as a whole has failed.

    Parameters
    ----------
    start
        "newest" starts from the newest intact snapshot that leads to the state, or from the log if none does; "oldest"
        from the oldest snapshot; and "log" from the log alone.
    """
    try:
        return _load(database, journal, row, catalogues, start)
    except DamagedError as error:
        raise ReplayError(f"its part of the database is damaged ({error})") from error
    except (ReplayError, StorageError):
        raise
    except (Refusal, ValueError) as error:
        raise ReplayError(str(error)) from error
    except Exception as error:
        log_event("policy failed", logging.ERROR, trace=True, policy=row.name)
        raise ReplayError(f"rebuilding it failed ({type(error).__name__}: {error})") from error


def _load(
    database: Database, journal: Journal, row: PolicyRow, catalogues: Mapping[str, Catalogue], start: Start
) -> HostedPolicy:
    catalogue_name = PolicySpec.from_text(row.spec).catalogue
    if catalogue_name is not None and catalogue_name not in catalogues:
        raise ReplayError(f"its catalogue {catalogue_name!r} is missing or cannot be read")
    catalogue = None if catalogue_name is None else catalogues[catalogue_name]
    starts: Iterable[tuple[int, Policy | None]] = [(0, None)]
    if start == "newest":
        starts = chain(_snapshots(database, journal, row), starts)
    elif start == "oldest":
        starts = list(_snapshots(database, journal, row))[-1:]
    for position, policy in starts:
        started = time.perf_counter()
        try:
            hosted = HostedPolicy(row, catalogue, policy)
            hosted.snapshot_position = position
            different = hosted.replay(journal, position)
        except (ReplayError, Refusal, ValueError) as error:
            # Refused by the policy itself: made by a version of the library with other parameters.
            if policy is None:
                raise ReplayError(f"no snapshot leads to it, and neither does the log: {error}") from error
            continue
        log_event(
            "policy loaded",
            logging.WARNING if different else logging.INFO,
            policy=row.name,
            snapshot=position,
            position=row.position,
            seconds=round(time.perf_counter() - started, 3),
            different_choices=different,
        )
        return hosted
    raise ReplayError("no snapshot leads to it")


def _snapshots(database: Database, journal: Journal, row: PolicyRow) -> Iterator[tuple[int, Policy]]:
    """Yield a policy's snapshots that are intact and not ahead of the log, newest first."""
    for position, snapshot in database.snapshots(journal.connection, row.id):
        try:
            if position > row.position:
                raise ValueError("the snapshot is ahead of the log")
            # The log leads to the same bits only as a policy of this version.
            yield position, files.from_bytes(unpack_snapshot(snapshot), "the snapshot", files.VERSION)
        except ValueError as error:
            log_event("snapshot ignored", logging.WARNING, policy=row.id, position=position, reason=str(error))
