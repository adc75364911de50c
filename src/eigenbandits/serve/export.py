"""The log as Parquet, with propensities, for off-policy evaluation."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from eigenbandits.serve.storage.journal import Journal
from eigenbandits.serve.storage.schema import DEFAULT, EXPIRED, GIVEN
from eigenbandits.serve.writer.decision_sets import ListMember
from eigenbandits.serve.writer.event_codec import decode_decision, decode_set
from eigenbandits.serve.writer.hosted_policy import HostedPolicy

# Numbers held in memory at a time.
_AT_ONCE = 4_000_000

_LOG = [
    ("actions", pa.list_(pa.list_(pa.float32()))),
    ("choices", pa.int64()),
    ("rewards", pa.float64()),
    ("propensities", pa.float64()),
]
_MORE = [
    ("decision", pa.string()),
    ("item", pa.string()),
    ("round", pa.int64()),
    ("decided_at", pa.float64()),
    ("rewarded_at", pa.float64()),
    ("status", pa.string()),
]
_STATUS = {GIVEN: "rewarded", DEFAULT: "default", EXPIRED: "expired"}


def write(journal: Journal, hosted: HostedPolicy, path: Path, everything: bool, rewarded: bool) -> int:
    """Write a policy's decisions to a file; return how many.

    The propensity of a deterministic choice is 1.

    Parameters
    ----------
    everything
        Add the columns that `offpolicy.Log` does not take.
    rewarded
        Leave out decisions that have no reward, and those of whose sets only the row chosen was kept.
    """
    schema = pa.schema(_LOG + (_MORE if everything else []))
    count = 0
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        for rows in _groups(journal, hosted, rewarded):
            table = {field.name: [row[i] for row in rows] for i, field in enumerate(schema)}
            writer.write_table(pa.table(table, schema=schema))
            count += len(rows)
    return count


def _groups(journal: Journal, hosted: HostedPolicy, rewarded: bool) -> Iterator[list[tuple[Any, ...]]]:
    after, rows, numbers = 0, [], 0
    while found := journal.exported(hosted.id, after, 200):
        for row, end in found:
            decision_set, _ = decode_decision(row.content)
            if isinstance(decision_set, ListMember):
                first = row.round - decision_set.offset
                decision_set, _ = decode_set(journal.decisions_of(hosted.id, [first])[first].content)
            pruned, reward = decision_set.chosen_only, None if end is None else end.reward
            if rewarded and (reward is None or pruned):
                continue
            actions = np.asarray(decision_set.actions(hosted.catalogue), dtype=np.float32)
            likely = 1.0 if row.propensity is None else row.propensity
            log = (list(actions), 0 if pruned else row.index, reward, likely)
            rewarded_at, status = (None, "pending") if end is None else (end.rewarded_at, _STATUS[end.kind])
            rows.append((*log, row.decision, row.item, row.round, row.decided_at, rewarded_at, status))
            numbers += actions.size
        after = found[-1][0].round
        if numbers > _AT_ONCE:
            yield rows
            rows, numbers = [], 0
    if rows:
        yield rows
