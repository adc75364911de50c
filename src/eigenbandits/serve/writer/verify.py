"""Proof that nothing was lost: every policy is rebuilt twice, from its last snapshot and from the log alone."""

from __future__ import annotations

from collections.abc import Iterator

from threadpoolctl import threadpool_limits

from eigenbandits.policy import files
from eigenbandits.serve.errors import ReplayError
from eigenbandits.serve.storage import Database
from eigenbandits.serve.storage.journal import Journal
from eigenbandits.serve.writer import recovery


def differences(database: Database) -> Iterator[tuple[str, bool]]:
    """Yield for every policy a line with the result, and whether both ways lead to the same bits.

    The database may be in use by a server: what is compared is one moment of it. Nothing is created.
    """
    if not database.exists:
        raise ValueError("there is no database to verify; give the folder of a service with --folder.")
    connection = database.connect()
    # As in the service: with another number of threads the last bits of sums differ.
    blas = threadpool_limits(1, user_api="blas")
    try:
        journal = Journal(connection)
        # In this order, so that every item exists that a decision names, even while a server is running.
        rows = journal.policies()
        catalogues = {one.name: one for one in recovery.load_catalogues(journal)}
        for row in rows:
            try:
                quick = recovery.load(database, journal, row, catalogues)
            except ReplayError as error:
                yield f"{row.name}: cannot be rebuilt: {error}", False
                continue
            facts = f"{row.name}: {row.number} decisions, {row.rewards} rewards, {row.position} batches"
            try:
                slow = recovery.load(database, journal, row, catalogues, from_log_alone=True)
            except ReplayError:
                yield f"{facts}; its log was pruned, so only the snapshots lead to it", True
                continue
            same = files.to_bytes(quick.policy) == files.to_bytes(slow.policy)
            start = f"the snapshot at {quick.snapshot_position}"
            yield f"{facts}; {start} and the log alone {'agree bit for bit' if same else 'DIFFER'}", same
    finally:
        blas.restore_original_limits()
        connection.close()
