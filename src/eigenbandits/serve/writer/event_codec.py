"""The event codec: the bytes that the log stores in the `content` of decisions and events.

The layouts are those of version 1 of the tables; existing logs must stay readable.
"""

import struct
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from eigenbandits.serve.storage.schema import PAY
from eigenbandits.serve.writer.decision_sets import CatalogueSet, DecisionSet, InlineSet, ListMember, Options

Forecast = NDArray[np.float64]

# Form, number of vectors or slots, length of a vector or of the query, version of the catalogue.
_HEAD = struct.Struct("<BIIq")
_INLINE32, _INLINE64, _SOME_ITEMS, _ALL_ITEMS, _CHOSEN32, _CHOSEN64 = range(1, 7)
# Since version 2: options before a set, with the number of excluded rows and of scores, and the length of the list;
# and a further row of a list, with its distance from the first.
_OPTIONS, _MEMBER = 7, 8
# Since version 3: the costs of all rows, before everything else.
_COSTS = 9
_RANGE = struct.Struct("<qq")
# The number of leading bytes of a content that describe it.
HEAD = _HEAD.size


def encode_decision(decision_set: DecisionSet | ListMember, forecast: Forecast | None = None) -> bytes:
    """Return the content of a decision: its set, followed by the belief's forecast if it learns from that."""
    encoded = _encode_set(decision_set)
    return encoded if forecast is None else encoded + forecast.tobytes()


def decode_decision(content: bytes) -> tuple[DecisionSet | ListMember, Forecast | None]:
    """Return the arguments that `encode_decision` was given.

    A set includes its length, so whatever follows is the forecast; logs older than forecasts end there.
    """
    form, count, dim, version = _HEAD.unpack_from(content)
    decision_set: DecisionSet | ListMember
    if form == _COSTS:
        costs = np.array(np.frombuffer(content, "<f8", count, _HEAD.size))
        inner, forecast = decode_decision(content[_HEAD.size + costs.nbytes :])
        assert not isinstance(inner, ListMember)
        return replace(inner, options=replace(inner.options, costs=costs)), forecast
    if form == _OPTIONS:
        end = _HEAD.size + 4 * count
        excluded = np.frombuffer(content, "<i4", count, _HEAD.size) if count else None
        scores = np.array(np.frombuffer(content, "<f8", dim, end)) if dim else None
        inner, forecast = decode_decision(content[end + 8 * dim :])
        assert not isinstance(inner, ListMember)
        return replace(inner, options=Options(excluded, scores, version)), forecast
    if form == _MEMBER:
        decision_set, end = ListMember(count), _HEAD.size
    elif form in (_SOME_ITEMS, _ALL_ITEMS):
        query = np.frombuffer(content, "<f4", dim, _HEAD.size) if dim else None
        slots = np.frombuffer(content, "<i4", count, _HEAD.size + 4 * dim) if form == _SOME_ITEMS else None
        decision_set, end = CatalogueSet(query, slots, version), _HEAD.size + 4 * (dim + count)
    else:
        kind = "<f4" if form in (_INLINE32, _CHOSEN32) else "<f8"
        array = np.frombuffer(content, kind, count * dim, _HEAD.size).reshape(count, dim)
        decision_set, end = InlineSet(array, form in (_CHOSEN32, _CHOSEN64)), _HEAD.size + array.nbytes
    # A copy, since these bytes are unaligned, and the last bit of a sum may depend on alignment.
    return decision_set, np.array(np.frombuffer(content, "<f8", offset=end)) if end < len(content) else None


def decode_set(content: bytes) -> tuple[DecisionSet, Forecast | None]:
    """Return the same for a decision that is not a further row of a list."""
    decision_set, forecast = decode_decision(content)
    assert not isinstance(decision_set, ListMember)
    return decision_set, forecast


def _encode_set(decision_set: DecisionSet | ListMember) -> bytes:
    if isinstance(decision_set, ListMember):
        return _HEAD.pack(_MEMBER, decision_set.offset, 0, 0)
    options = decision_set.options
    if options.costs is not None:
        costs = options.costs.astype("<f8").tobytes()
        plain = replace(decision_set, options=replace(options, costs=None))
        return _HEAD.pack(_COSTS, len(costs) // 8, 0, 0) + costs + _encode_set(plain)
    if options.excluded is None and options.scores is None and not options.count:
        return _encode_plain(decision_set)
    excluded = b"" if options.excluded is None else options.excluded.astype("<i4").tobytes()
    scores = b"" if options.scores is None else options.scores.astype("<f8").tobytes()
    head = _HEAD.pack(_OPTIONS, len(excluded) // 4, len(scores) // 8, options.count)
    return head + excluded + scores + _encode_plain(decision_set)


def _encode_plain(decision_set: DecisionSet) -> bytes:
    if isinstance(decision_set, CatalogueSet):
        query = b"" if decision_set.query is None else decision_set.query.tobytes()
        slots = b"" if decision_set.slots is None else decision_set.slots.tobytes()
        form = _ALL_ITEMS if decision_set.slots is None else _SOME_ITEMS
        return _HEAD.pack(form, len(slots) // 4, len(query) // 4, decision_set.version) + query + slots
    array = decision_set.array
    single, double = (_CHOSEN32, _CHOSEN64) if decision_set.chosen_only else (_INLINE32, _INLINE64)
    return _HEAD.pack(single if array.dtype == np.float32 else double, *array.shape, 0) + array.tobytes()


def encode_replicas(replicas: Sequence[bytes], base: bytes) -> bytes:
    """Return the content of an event in which a policy was merged: the files of its replicas and of their base."""
    parts = [base, *replicas]
    return np.array([len(parts), *map(len, parts)], dtype="<i8").tobytes() + b"".join(parts)


def decode_replicas(content: bytes) -> tuple[list[bytes], bytes]:
    """Return the arguments that `encode_replicas` was given."""
    count = int(np.frombuffer(content, "<i8", 1)[0])
    ends = np.cumsum(np.frombuffer(content, "<i8", count, 8)).tolist()
    start = 8 * (count + 1)
    base, *replicas = [content[start + a : start + b] for a, b in zip([0, *ends], ends, strict=False)]
    return replicas, base


def list_place(head: bytes) -> tuple[int, int]:
    """Return how far a decision is behind the first row of its list, and the length of the list if it is the first row.

    Both are 0 for a decision that is not part of a list. The first `HEAD` bytes of the content are enough.
    """
    form, count, _, version = _HEAD.unpack(head)
    return (count, 0) if form == _MEMBER else (0, version) if form == _OPTIONS else (0, 0)


def encode_range(first: int, count: int) -> bytes:
    """Return the content of an event in which a policy made choices: the numbers of its decisions."""
    return _RANGE.pack(first, count)


def decode_range(content: bytes) -> tuple[int, int]:
    """Return the arguments that `encode_range` was given."""
    first, count = _RANGE.unpack(content)
    return first, count


def encode_numbers(numbers: Sequence[int]) -> bytes:
    """Return the content of an event in which a policy recorded decisions that deciders made."""
    return np.array(numbers, dtype="<i8").tobytes()


def decode_numbers(content: bytes) -> list[int]:
    """Return the numbers that `encode_numbers` was given."""
    numbers: list[int] = np.frombuffer(content, dtype="<i8").tolist()
    return numbers


def encode_rewards(numbers: Sequence[int], rewards: Sequence[float]) -> bytes:
    """Return the content of an event in which decisions ended: their numbers and rewards."""
    return np.array(numbers, dtype="<i8").tobytes() + np.array(rewards, dtype="<f8").tobytes()


def encode_payments(numbers: Sequence[int], rewards: Sequence[float], costs: Sequence[float]) -> bytes:
    """Return the content of an event in which decisions ended with costs, NaN if unknown."""
    return encode_rewards(numbers, rewards) + np.array(costs, dtype="<f8").tobytes()


def decode_rewards(kind: str, content: bytes) -> tuple[list[int], list[float], list[float] | None]:
    """Return the arguments of `encode_rewards` or, for events of kind `PAY`, of `encode_payments`."""
    parts = np.frombuffer(content, dtype="<i8").reshape(3 if kind == PAY else 2, -1)
    numbers, rewards = parts[0].tolist(), parts[1].view("<f8").tolist()
    return numbers, rewards, parts[2].view("<f8").tolist() if kind == PAY else None
