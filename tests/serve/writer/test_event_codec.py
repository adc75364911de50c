"""The event codec: sets, forecasts and rewards come back from bytes as they were."""

from __future__ import annotations

import struct
from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from eigenbandits.serve.storage.schema import LEARN, PAY
from eigenbandits.serve.writer.catalogue import Catalogue
from eigenbandits.serve.writer.decision_sets import CatalogueSet, InlineSet, ListMember, Options
from eigenbandits.serve.writer.event_codec import (
    HEAD,
    decode_decision,
    decode_replicas,
    decode_rewards,
    encode_decision,
    encode_payments,
    encode_replicas,
    encode_rewards,
    list_place,
)


@given(
    array=arrays(st.sampled_from([np.float32, np.float64]), st.tuples(st.integers(1, 5), st.integers(1, 4))),
    data=st.data(),
)
def test_inline_sets_come_back_bit_for_bit(array, data):
    back, forecast = decode_decision(encode_decision(InlineSet(array)))
    assert isinstance(back, InlineSet)
    assert forecast is None
    assert back.array.dtype == array.dtype
    assert back.array.tobytes() == array.tobytes()
    index = data.draw(st.integers(0, len(array) - 1))
    small, _ = decode_decision(encode_decision(InlineSet(array).pruned(index)))
    assert isinstance(small, InlineSet)
    assert small.chosen_only
    assert small.row(None, index).tobytes() == array[index].tobytes()


def put(made, ids, vectors, version):
    for _ in made.prepare(vectors):
        pass
    made.put(ids, version)


def catalogue():
    made = Catalogue(1, "c", 3, "none", np.zeros(3, dtype=np.float32), "", 0.0)
    put(made, list("abcd"), np.arange(12, dtype=np.float32).reshape(4, 3), 1)
    return made


@given(forecast=arrays(np.float64, st.integers(1, 9)), which=st.integers(0, 4))
def test_forecasts_come_back_bit_for_bit_behind_every_kind_of_set(forecast, which):
    query, slots = np.ones(3, dtype=np.float32), np.array([2, 0], dtype=np.int32)
    single, double = np.ones((3, 5), dtype=np.float32), np.ones((3, 5))
    picked = [CatalogueSet(query, slots), CatalogueSet(None, slots), CatalogueSet(query, None, 7)]
    asked = [InlineSet(single), InlineSet(double).pruned(2), *picked]
    back, said = decode_decision(encode_decision(asked[which], forecast))
    assert said is not None
    assert said.flags.aligned
    assert said.tobytes() == forecast.tobytes()
    assert encode_decision(back) == encode_decision(asked[which])


def test_a_set_from_before_there_were_forecasts_has_none():
    content = struct.pack("<BIIq", 2, 2, 1, 0) + struct.pack("<2d", 1.0, 2.0)
    asked: Any
    asked, forecast = decode_decision(content)
    np.testing.assert_array_equal(asked.actions(None), [[1.0], [2.0]])
    assert forecast is None


def test_picked_sets_mean_the_same_after_the_catalogue_has_changed():
    found = catalogue()
    query = np.array([1.0, 2.0, 3.0], dtype=np.float32)
    some, everything = CatalogueSet(query, found.slots_of(["d", "b"])), CatalogueSet(query, None, 1)
    before = some.actions(found), everything.actions(found)
    np.testing.assert_array_equal(before[0], [[9, 20, 33], [3, 8, 15]])
    put(found, ["b", "e"], np.full((2, 3), 100, dtype=np.float32), 2)
    found.remove(["d"], 3)
    for asked, expected in zip((some, everything), before, strict=True):
        again: Any = decode_decision(encode_decision(asked))[0]
        np.testing.assert_array_equal(again.actions(found), expected)
        np.testing.assert_array_equal(again.row(found, 1), expected[1])
    assert [found.names[slot] for slot in found.slots_at(1)] == list("abcd")
    assert [found.names[slot] for slot in found.slots_at(2)] == ["a", "c", "d", "b", "e"]
    assert [found.names[slot] for slot in found.slots_at(3)] == ["a", "c", "b", "e"]
    assert everything.item(found, 3) == "d"


@given(st.lists(st.tuples(st.integers(1, 2**60), st.floats(allow_nan=False)), min_size=1))
def test_rewards_come_back_bit_for_bit(pairs):
    numbers, rewards = [number for number, _ in pairs], [reward for _, reward in pairs]
    assert decode_rewards(LEARN, encode_rewards(numbers, rewards)) == (numbers, rewards, None)
    paid = encode_payments(numbers, rewards, [abs(reward) for reward in rewards])
    assert decode_rewards(PAY, paid) == (numbers, rewards, [abs(reward) for reward in rewards])


@given(st.lists(st.binary(max_size=20), max_size=4), st.binary(max_size=20))
def test_replicas_come_back(replicas, base):
    assert decode_replicas(encode_replicas(replicas, base)) == (replicas, base)


def test_costs_come_back_with_everything_else():
    options = Options(np.array([1], dtype=np.int32), np.array([0.5, 1.5]), costs=np.array([np.nan, 2.0]))
    forecast = np.array([3.0, 4.0])
    for one in (
        InlineSet(np.eye(2), options=options),
        CatalogueSet(None, np.array([4, 2], dtype=np.int32), 0, options),
    ):
        again, said = decode_decision(encode_decision(one, forecast))
        assert not isinstance(again, ListMember)
        assert again.options.repeats(options)
        assert again.options.excluded is not None
        assert again.options.excluded.tolist() == [1]
        np.testing.assert_array_equal(said, forecast)
    assert not options.repeats(replace(options, costs=None))
    assert not options.repeats(replace(options, costs=np.array([np.nan, 3.0])))


def test_the_first_bytes_say_what_list_a_decision_belongs_to():
    actions = np.eye(3)
    plain, first = InlineSet(actions), InlineSet(actions, options=Options(count=3))
    heads = [encode_decision(one)[:HEAD] for one in (plain, first, ListMember(2))]
    assert [list_place(head) for head in heads] == [(0, 0), (0, 3), (2, 0)]
