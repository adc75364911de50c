"""The log as Parquet, with propensities, for off-policy evaluation."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from eigenbandits.serve.hosted import Hosted
from eigenbandits.serve.journal import Journal
from eigenbandits.serve.sets import Inline, decode

# Numbers that are held in memory at a time.
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
_STATUS = {None: "pending", "given": "rewarded", "default": "default", "expired": "expired"}


def write(journal: Journal, hosted: Hosted, path: Path, everything: bool, rewarded: bool) -> int:
    """Write a policy's decisions to a file; return how many.

    A deterministic rule chooses what it chooses with certainty, so that its propensity is 1.

    Parameters
    ----------
    everything
        Add the columns that `environments.Log` does not take.
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


def _groups(journal: Journal, hosted: Hosted, rewarded: bool) -> Iterator[list[tuple[Any, ...]]]:
    after, rows, numbers = 0, [], 0
    while found := journal.exported(hosted.id, after, 200):
        for number, chosen, _, item, propensity, decided_at, content, reward, kind, rewarded_at in found:
            asked, _ = decode(bytes(content))
            pruned = isinstance(asked, Inline) and asked.chosen_only
            if rewarded and (reward is None or pruned):
                continue
            actions = np.asarray(asked.actions(hosted.catalogue), dtype=np.float32)
            likely = 1.0 if propensity is None else propensity
            log = (list(actions), 0 if pruned else chosen, reward, likely)
            more = (f"{hosted.id}-{number}", item, number, decided_at, rewarded_at, _STATUS[kind])
            rows.append((*log, *more))
            numbers += actions.size
        after = found[-1][0]
        if numbers > _AT_ONCE:
            yield rows
            rows, numbers = [], 0
    if rows:
        yield rows
