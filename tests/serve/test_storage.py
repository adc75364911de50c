"""Storage: one writer, tables of a later version, transactions that are whole, sets that come back as they were."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from eigenbandits.serve import Server, Settings, running
from eigenbandits.serve.catalogue import Catalogue
from eigenbandits.serve.errors import StorageError
from eigenbandits.serve.hosted import pack_rewards, parts, unpack_rewards
from eigenbandits.serve.journal import Journal
from eigenbandits.serve.recovery import unpack
from eigenbandits.serve.sets import Inline, Picked, decode, encode
from eigenbandits.serve.specs import Spec
from eigenbandits.serve.storage import InUseError, database_of, postgres


def test_one_server_writes_at_a_time(place, monkeypatch):
    monkeypatch.setattr(postgres, "PATIENCE", 0.3)
    settings = Settings(**place, port=0)
    with running(settings):
        second = Server(settings)
        with pytest.raises(InUseError, match="another server writes"):
            second.start()
    with running(settings) as server:
        assert server.engine.reasons == []


def test_a_transaction_is_whole(place):
    database = database_of(Settings(**place))
    one, other = database.connect(), database.connect()

    class Stop(Exception):  # noqa: N818
        pass

    def stop_halfway():
        with one.transaction():
            one.execute("INSERT INTO meta VALUES ('a', '1')")
            raise Stop

    with pytest.raises(Stop):
        stop_halfway()
    assert other.execute("SELECT * FROM meta WHERE name = 'a'") == []
    with one.transaction():
        one.many("INSERT INTO meta VALUES (?, ?)", [("a", "1"), ("b", "2")])
    assert other.execute("SELECT name FROM meta WHERE name < 'c' ORDER BY name") == [("a",), ("b",)]

    def repeat():
        with one.transaction():
            one.execute("INSERT INTO meta VALUES ('c', '3')")
            one.execute("INSERT INTO meta VALUES ('a', '4')")

    with pytest.raises(StorageError):
        repeat()
    assert other.execute("SELECT * FROM meta WHERE name = 'c'") == []
    one.close()
    other.close()


def test_the_database_itself_refuses_a_second_reward(place):
    connection = database_of(Settings(**place)).connect()
    journal = Journal(connection)
    journal.add_rewards([(1, 1, 0.5, "given", 0.0)])
    with pytest.raises(StorageError):
        journal.add_rewards([(1, 1, 0.5, "given", 0.0)])
    assert journal.rewards_of(1, [1, 2]) == {1: (0.5, "given")}
    connection.close()


def test_tables_of_a_later_version_are_left_alone(place):
    connection = database_of(Settings(**place)).connect()
    connection.execute("UPDATE meta SET value = '99' WHERE name = 'version'")
    connection.close()
    with pytest.raises(ValueError, match="version 99"):
        Server(Settings(**place, port=0)).start()


def test_snapshots_are_kept_by_policy_and_the_last_two_of_each(place):
    database = database_of(Settings(**place))
    connection = database.connect()
    for policy, position in [(1, 5), (1, 40), (11, 7), (1, 300)]:
        database.put_snapshot(policy, position, b"%d" % position)
    assert list(database.snapshots(connection, 1)) == [(300, b"300"), (40, b"40")]
    assert list(database.snapshots(connection, 11)) == [(7, b"7")]
    database.drop_snapshots(connection, 1)
    assert list(database.snapshots(connection, 1)) == []
    assert list(database.snapshots(connection, 11)) == [(7, b"7")]
    connection.close()


def test_a_snapshot_that_is_no_snapshot():
    for content in (b"", b"x", b"eigenbandits-snapshot-1\n" + bytes(40)):
        with pytest.raises(ValueError, match="cut short or damaged"):
            unpack(content)


@given(
    array=arrays(st.sampled_from([np.float32, np.float64]), st.tuples(st.integers(1, 5), st.integers(1, 4))),
    data=st.data(),
)
def test_inline_sets_come_back_bit_for_bit(array, data):
    back, forecast = decode(encode(Inline(array)))
    assert isinstance(back, Inline)
    assert forecast is None
    assert back.array.dtype == array.dtype
    assert back.array.tobytes() == array.tobytes()
    index = data.draw(st.integers(0, len(array) - 1))
    small, _ = decode(encode(Inline(array).pruned(index)))
    assert isinstance(small, Inline)
    assert small.chosen_only
    assert small.row(None, index).tobytes() == array[index].tobytes()


def catalogue():
    made = Catalogue(1, "c", 3, "none", np.zeros(3, dtype=np.float32), "", 0.0)
    made.put(list("abcd"), np.arange(12, dtype=np.float32).reshape(4, 3), 1)
    return made


@given(forecast=arrays(np.float64, st.integers(1, 9)), which=st.integers(0, 4))
def test_forecasts_come_back_bit_for_bit_behind_every_kind_of_set(forecast, which):
    query, slots = np.ones(3, dtype=np.float32), np.array([2, 0], dtype=np.int32)
    single, double = np.ones((3, 5), dtype=np.float32), np.ones((3, 5))
    picked = [Picked(query, slots), Picked(None, slots), Picked(query, None, 7)]
    asked = [Inline(single), Inline(double).pruned(2), *picked]
    back, said = decode(encode(asked[which], forecast))
    assert said is not None
    assert said.flags.aligned
    assert said.tobytes() == forecast.tobytes()
    assert back.encode() == asked[which].encode()


def test_a_set_from_before_there_were_forecasts_has_none():
    content = struct.pack("<BIIq", 2, 2, 1, 0) + struct.pack("<2d", 1.0, 2.0)
    asked, forecast = decode(content)
    np.testing.assert_array_equal(asked.actions(None), [[1.0], [2.0]])
    assert forecast is None


def test_picked_sets_mean_the_same_after_the_catalogue_has_changed():
    found = catalogue()
    query = np.array([1.0, 2.0, 3.0], dtype=np.float32)
    some, everything = Picked(query, found.slots_of(["d", "b"])), Picked(query, None, 1)
    before = some.actions(found), everything.actions(found)
    np.testing.assert_array_equal(before[0], [[9, 20, 33], [3, 8, 15]])
    found.put(["b", "e"], np.full((2, 3), 100, dtype=np.float32), 2)
    found.take(["d"], 3)
    for asked, expected in zip((some, everything), before, strict=True):
        again, _ = decode(encode(asked))
        np.testing.assert_array_equal(again.actions(found), expected)
        np.testing.assert_array_equal(again.row(found, 1), expected[1])
    assert [found.names[slot] for slot in found.slots_at(1)] == list("abcd")
    assert [found.names[slot] for slot in found.slots_at(2)] == ["a", "c", "d", "b", "e"]
    assert [found.names[slot] for slot in found.slots_at(3)] == ["a", "c", "b", "e"]
    assert everything.item(found, 3) == "d"


@given(st.lists(st.tuples(st.integers(1, 2**60), st.floats(allow_nan=False)), min_size=1))
def test_rewards_come_back_bit_for_bit(pairs):
    numbers, rewards = [number for number, _ in pairs], [reward for _, reward in pairs]
    assert unpack_rewards(pack_rewards(numbers, rewards)) == (numbers, rewards)


def test_large_batches_are_cut_so_that_memory_lasts():
    sets = [Inline(np.zeros((1000, 1000), dtype=np.float32))] * 9
    cut = list(parts(sets, None, 1000))
    assert [(part.start, part.stop) for part in cut] == [(0, 4), (4, 8), (8, 9)]
    assert list(parts([], None, 1000)) == []


def test_a_spec_comes_back_and_knows_its_own():
    asked = Spec("PSLB", {"noise": 0.5}, time_to_live=5.0)
    made = asked.seeded()
    assert made.parameters["seed"] >= 0
    assert Spec.from_text(made.to_text()) == made
    assert asked.same_wish(made)
    assert made.same_wish(made)
    assert not Spec("PSLB", {"noise": 0.5}).same_wish(made)
    assert not Spec("PSLB", {"noise": 0.5, "seed": made.parameters["seed"] + 1}, time_to_live=5.0).same_wish(made)
