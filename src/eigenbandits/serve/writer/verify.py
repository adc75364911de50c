"""Verification that nothing was lost: every policy is rebuilt twice, from its last snapshot and from the log alone.

If part of the log has been deleted, the older of the two snapshots replaces the start of the log.
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress

from threadpoolctl import threadpool_limits

from eigenbandits.policy import files
from eigenbandits.serve.errors import ReplayError
from eigenbandits.serve.storage import Database
from eigenbandits.serve.storage.journal import Journal
from eigenbandits.serve.storage.schema import PolicyRow
from eigenbandits.serve.writer import recovery
from eigenbandits.serve.writer.catalogue import Catalogue
from eigenbandits.serve.writer.hosted_policy import HostedPolicy


def differences(database: Database) -> Iterator[tuple[str, bool]]:
    """Yield, for every policy, a line with the result and whether both ways lead to the same bits.

    The database may be in use by a server: the comparison is made at one moment. Nothing is created.
    """
    if not database.exists:
        raise ValueError("there is no database to verify; give the folder of a service with --folder.")
    connection = database.connect()
    # As in the service: with another number of threads, the last bits of sums differ.
    blas = threadpool_limits(1, user_api="blas")
    try:
        journal = Journal(connection)
        # In this order, so that every item that a decision names exists, even while a server is running.
        rows = journal.policies()
        catalogues = {one.name: one for one in recovery.load_catalogues(journal)}
        for row in rows:
            try:
                quick = recovery.load(database, journal, row, catalogues)
            except ReplayError as error:
                yield f"{row.name}: cannot be rebuilt: {error}", False
                continue
            facts = f"{row.name}: {row.number} decisions, {row.rewards} rewards, {row.position} batches"
            slow = _from_elsewhere(database, journal, row, catalogues)
            if slow is None or 0 < slow.snapshot_position == quick.snapshot_position:
                yield f"{facts}; its log was pruned, so only the snapshots lead to it", True
                continue
            same = files.to_bytes(quick.policy) == files.to_bytes(slow.policy)
            before = slow.snapshot_position
            start = f"the snapshot at {quick.snapshot_position}"
            other = f"the one at {before}, each with the log after it," if before else "the log alone"
            yield f"{facts}; {start} and {other} {'agree bit for bit' if same else 'DIFFER'}", same
    finally:
        blas.restore_original_limits()
        connection.close()


def _from_elsewhere(
    database: Database, journal: Journal, row: PolicyRow, catalogues: Mapping[str, Catalogue]
) -> HostedPolicy | None:
    """Return a policy from the log alone, or from the oldest snapshot if the log is incomplete."""
    starts: tuple[recovery.Start, ...] = ("log", "oldest")
    for start in starts:
        with suppress(ReplayError):
            return recovery.load(database, journal, row, catalogues, start)
    return None
