"""Databases: one writer, tables of a later version, transactions that are whole, snapshots."""

from __future__ import annotations

import threading
import time

import pytest

from eigenbandits.serve import Client, Server, Settings, running
from eigenbandits.serve.errors import InUseError, StorageError
from eigenbandits.serve.storage import database_of, postgres, sqlite
from eigenbandits.serve.storage.journal import Journal
from eigenbandits.serve.storage.schema import GIVEN, REWARDS, RewardRow
from eigenbandits.serve.writer import verify


def test_one_server_writes_at_a_time(place, monkeypatch):
    monkeypatch.setattr(postgres, "PATIENCE", 0.3)
    settings = Settings(**place, port=0)
    with running(settings):
        second = Server(settings)
        with pytest.raises(InUseError, match="another server writes"):
            second.start()
    with running(settings) as server:
        assert server.writer.reasons == []


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
    row = RewardRow(1, 1, 0.5, GIVEN, 0.0)
    journal.add(REWARDS, [row])
    with pytest.raises(StorageError):
        journal.add(REWARDS, [row])
    assert journal.rewards_of(1, [1, 2]) == {1: row}
    connection.close()


def test_tables_of_a_later_version_are_left_alone(place):
    connection = database_of(Settings(**place)).connect()
    connection.execute("UPDATE meta SET value = '99' WHERE name = 'version'")
    connection.execute("DROP TABLE arms")
    connection.close()
    with pytest.raises(
        ValueError, match=r"version 99; this eigenbandits reads up to version 3\. Use the version of eig"
    ):
        Server(Settings(**place, port=0)).start()
    with pytest.raises(ValueError, match="version 99"):
        database_of(Settings(**place)).connect()


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


def test_the_folder_is_for_its_owner_alone_and_leftovers_go(tmp_path):
    settings = Settings(folder=tmp_path / "data", port=0)
    with running(settings):
        assert settings.folder.stat().st_mode & 0o077 == 0
        left = settings.folder / "snapshots" / ".1-60.eb.0123"
        left.write_bytes(b"half")
    with running(settings):
        assert not left.exists()


def test_the_files_are_for_their_owner_alone_also_in_an_open_folder(tmp_path):
    tmp_path.chmod(0o755)
    with running(Settings(folder=tmp_path, port=0)) as server, Client(server.url) as client:
        client.create_policy("p")
        client.decide("p", [[1.0]])
        assert len(list(tmp_path.glob("*.sqlite*"))) == 3
        assert {path.name for path in tmp_path.iterdir() if path.stat().st_mode & 0o077} == set()
    # Also those of an earlier version.
    (tmp_path / "eigenbandits.sqlite").chmod(0o644)
    with running(Settings(folder=tmp_path, port=0)):
        assert {path.name for path in tmp_path.iterdir() if path.stat().st_mode & 0o077} == set()


def test_strange_files_among_the_snapshots_are_left_alone(tmp_path):
    settings = Settings(folder=tmp_path, port=0)
    with running(settings) as server, Client(server.url) as client:
        client.create_policy("p")
        client.decide("p", [[1.0]])
    strange = [tmp_path / "snapshots" / name for name in ("1-copy.eb", "1-.eb", "1-2-3.eb", "notes.txt", "1-7.eb.bak")]
    for path in strange:
        path.write_text("mine")
    with running(settings) as server, Client(server.url) as client:
        assert client.policy("p")["decisions"] == 1
        client.delete_policy("p")
    assert all(path.read_text() == "mine" for path in strange)


def test_verify_creates_nothing(tmp_path):
    with pytest.raises(ValueError, match="no database to verify"):
        list(verify.differences(database_of(Settings(folder=tmp_path / "missing"))))
    assert list(tmp_path.iterdir()) == []


def test_connections_write_in_turns_and_wait_no_longer_than_it_takes(tmp_path, monkeypatch):
    database = sqlite.SqliteDatabase(tmp_path)
    one, other = database.connect(), database.connect()
    one.execute("BEGIN")
    started = time.monotonic()
    commit = threading.Timer(0.05, one.execute, ["COMMIT"])
    commit.start()
    with other.transaction():
        assert time.monotonic() - started >= 0.05
        other.execute("INSERT INTO meta VALUES ('a', '1')")
    commit.join()
    other.close()
    with monkeypatch.context() as patched:
        patched.setattr(sqlite, "_PATIENCE", 0.05)
        other = database.connect()
    one.execute("BEGIN")
    with pytest.raises(StorageError, match="another process has been writing"), other.transaction():
        pass
    one.rollback()
    with other.transaction():
        other.execute("INSERT INTO meta VALUES ('b', '2')")
    other.execute("BEGIN")
    other.close()
    with one.transaction():
        assert one.execute("SELECT COUNT(*) FROM meta WHERE name < 'c'") == [(2,)]
    one.close()
    with pytest.raises(StorageError), one.transaction():
        pass
