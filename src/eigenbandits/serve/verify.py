"""Proof that nothing was lost: every policy built twice, from its last snapshot and from the log alone."""

from __future__ import annotations

from collections.abc import Iterator

from threadpoolctl import threadpool_limits

from eigenbandits import files
from eigenbandits.serve import recovery
from eigenbandits.serve.hosted import Unrepeatable
from eigenbandits.serve.journal import Journal
from eigenbandits.serve.storage import Database


def differences(database: Database) -> Iterator[tuple[str, bool]]:
    """Give for every policy a line that says what was found, and whether both ways lead to the same bits.

    Sees a database that no server writes to, or one moment of one that a server does.
    """
    connection = database.connect()
    # As the service does: with another number of threads sums come out differently in their last bits.
    blas = threadpool_limits(1, user_api="blas")
    try:
        journal = Journal(connection)
        # In this order, so that every item is there that a decision names, even beside a server that goes on.
        rows = journal.policies()
        catalogues = {one.name: one for one in journal.catalogues()}
        for row in rows:
            quick = recovery.load(database, journal, row, catalogues)
            facts = f"{row[1]}: {row[4].number} decisions, {row[4].rewards} rewards, {row[4].position} batches"
            try:
                slow = recovery.load(database, journal, row, catalogues, from_log_alone=True)
            except Unrepeatable:
                yield f"{facts}; its log was pruned, so that only the snapshots lead to it", True
                continue
            same = files.to_bytes(quick.policy) == files.to_bytes(slow.policy)
            start = f"the snapshot at {quick.snapshot_position}"
            yield f"{facts}; {start} and the log alone {'agree bit for bit' if same else 'DIFFER'}", same
    finally:
        blas.restore_original_limits()
        connection.close()
