"""Export of the log to Parquet, with propensities, for off-policy evaluation."""

import io
import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from eigenbandits.serve.storage.journal import Journal
from eigenbandits.serve.storage.schema import DEFAULT, EXPIRED, GIVEN, DecisionRow, RewardRow
from eigenbandits.serve.writer.decision_sets import CatalogueSet, DecisionSet, ListMember
from eigenbandits.serve.writer.event_codec import decode_decision, decode_set
from eigenbandits.serve.writer.hosted_policy import HostedPolicy

# A decision and its reward.
Exported = tuple[DecisionRow, RewardRow | None]
# Numbers held in memory at a time, and the number of decisions with item ids passed to Arrow in one call, which reads
# Python objects without letting other threads run.
_AT_ONCE, _PAGE = 1_000_000, 100
# Decisions per row group in the compact format.
_GROUP = 1000

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
    ("cost", pa.float64()),
]
_STATUS = {GIVEN: "rewarded", DEFAULT: "default", EXPIRED: "expired"}


_COMPACT = [
    ("query", pa.list_(pa.float32())),
    ("items", pa.list_(pa.string())),
    ("generation", pa.int64()),
    ("choices", pa.int64()),
    ("rewards", pa.float64()),
    ("propensities", pa.float64()),
    *_MORE,
    ("arm", pa.int64()),
]


class Span(NamedTuple):
    """The decisions numbered above `after` and up to `through`, made at or after `since` and before `until`."""

    after: int = 0
    through: int = 10**15
    since: float = 0.0
    until: float = math.inf

    def pages(self, journal: Journal, hosted: HostedPolicy, size: int) -> Iterator[list[Exported]]:
        """Yield these decisions with their rewards, ordered by number."""
        after = self.after
        while page := journal.exported(hosted.id, after, size):
            after = page[-1][0].round
            yield [
                pair for pair in page if pair[0].round <= self.through and self.since <= pair[0].decided_at < self.until
            ]
            if after >= self.through:
                return


_ALL = Span()


def compact(journal: Journal, hosted: HostedPolicy, rewarded: bool, span: Span) -> Iterator[bytes]:
    """Yield a file with the decisions of a policy with a catalogue, each with its query and item ids, in pieces.

    If all items of the catalogue were offered, `items` is null and `generation` is the catalogue's version.
    """
    schema = pa.schema(_COMPACT)
    return _pieces(schema, _compact_groups(journal, hosted, rewarded, span, schema))


def whole(
    journal: Journal, hosted: HostedPolicy, everything: bool, rewarded: bool, span: Span = _ALL
) -> Iterator[bytes]:
    """Yield a file with a policy's decisions and their sets, in pieces.

    The propensity of a deterministic choice is 1.

    Parameters
    ----------
    everything
        Add the columns that `offpolicy.Log` does not use.
    rewarded
        Leave out decisions without a reward, and decisions whose sets were pruned to the chosen row.
    span
        Which decisions to write.
    """
    schema = pa.schema(_LOG + (_MORE if everything else []))

    def groups() -> Iterator[pa.Table]:
        for rows in _groups(journal, hosted, rewarded, span):
            sets, *others = zip(*rows, strict=True)
            columns = [
                pa.array(list(values), kind.type) for values, kind in zip(others, list(schema)[1:], strict=False)
            ]
            yield pa.Table.from_arrays([_nested(sets), *columns], schema=schema)

    return _pieces(schema, groups())


def _pieces(schema: pa.Schema, groups: Iterator[pa.Table]) -> Iterator[bytes]:
    """Yield the bytes of a Parquet file: its beginning, each group of rows, and its end."""
    file = io.BytesIO()

    def written() -> bytes:
        content = file.getvalue()
        file.seek(0)
        file.truncate()
        return content

    # Arrow counts the bytes by itself, so that the file may be emptied.
    with pq.ParquetWriter(pa.PythonFile(file, mode="w"), schema, compression="zstd") as writer:
        yield written()
        for table in groups:
            writer.write_table(table)
            yield written()
    yield written()


def _compact_groups(
    journal: Journal, hosted: HostedPolicy, rewarded: bool, span: Span, schema: pa.Schema
) -> Iterator[pa.Table]:
    catalogue = hosted.catalogue
    assert catalogue is not None
    batches: list[pa.RecordBatch] = []
    for page in span.pages(journal, hosted, _PAGE):
        rows: list[tuple[Any, ...]] = []
        for row, end in page:
            offered = _offered(journal, hosted, row)
            reward = None if end is None else end.reward
            if not isinstance(offered, CatalogueSet) or (rewarded and reward is None):
                continue
            items = None if offered.slots is None else [catalogue.names[slot] for slot in offered.slots.tolist()]
            set_ = (offered.query, items, offered.version or None)
            rows.append((*set_, row.index, reward, _likely(row), *_more(row, end), row.chooser))
        columns = [pa.array([row[i] for row in rows], field.type) for i, field in enumerate(schema)]
        batches.append(pa.record_batch(columns, schema=schema))
        if len(batches) * _PAGE >= _GROUP:
            yield pa.Table.from_batches(batches)
            batches = []
    if batches:
        yield pa.Table.from_batches(batches)


def _nested(sets: Sequence[NDArray[np.float32]]) -> pa.Array:
    """Return decision sets as a column, built from their buffers rather than number by number."""
    lengths = np.repeat([one.shape[1] for one in sets], [len(one) for one in sets])
    values = pa.array(np.concatenate([one.ravel() for one in sets]))
    vectors = pa.ListArray.from_arrays(_offsets(lengths), values)
    return pa.ListArray.from_arrays(_offsets([len(one) for one in sets]), vectors)


def _offsets(lengths: Sequence[int] | NDArray[np.int64]) -> pa.Array:
    return pa.array(np.cumsum([0, *lengths], dtype=np.int32))


def _groups(journal: Journal, hosted: HostedPolicy, rewarded: bool, span: Span) -> Iterator[list[tuple[Any, ...]]]:
    rows: list[tuple[Any, ...]] = []
    numbers = 0
    for page in span.pages(journal, hosted, 200):
        for row, end in page:
            decision_set = _offered(journal, hosted, row)
            pruned, reward = decision_set.chosen_only, None if end is None else end.reward
            if rewarded and (reward is None or pruned):
                continue
            actions = np.asarray(decision_set.actions(hosted.catalogue), dtype=np.float32)
            rows.append((actions, 0 if pruned else row.index, reward, _likely(row), *_more(row, end)))
            numbers += actions.size
            if numbers > _AT_ONCE:
                yield rows
                rows, numbers = [], 0
    if rows:
        yield rows


def _offered(journal: Journal, hosted: HostedPolicy, row: DecisionRow) -> DecisionSet:
    """Return what a decision was made from; the rows of a list share the set of the first."""
    offered, _ = decode_decision(row.content)
    if isinstance(offered, ListMember):
        first = row.round - offered.offset
        offered, _ = decode_set(journal.decisions_of(hosted.id, [first])[first].content)
    return offered


def _likely(row: DecisionRow) -> float:
    return 1.0 if row.propensity is None else row.propensity


def _more(row: DecisionRow, end: RewardRow | None) -> tuple[Any, ...]:
    """Return the columns of `_MORE`; the cost is the one reported with the reward, or else the expected one."""
    rewarded_at, status = (None, "pending") if end is None else (end.rewarded_at, _STATUS[end.kind])
    cost = row.cost if end is None or end.cost is None else end.cost
    return row.decision, row.item, row.round, row.decided_at, rewarded_at, status, cost
