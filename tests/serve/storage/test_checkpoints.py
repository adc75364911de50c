"""Checkpoints: SQLite's log is moved before it is large, and never keeps anyone from writing for long."""

from __future__ import annotations

import itertools
import threading
import time

import pytest

from eigenbandits.serve.storage import checkpoints, sqlite


def test_a_checkpoint_is_repeated_until_little_is_left_for_the_writer(tmp_path, monkeypatch):
    """Each pass moves what the one before left behind; the writer waits only for what the last one does."""
    monkeypatch.setattr(checkpoints, "LARGE_WAL", 2**20)
    taken = iter([0.3, 0.05, 0.001, 0.3])
    clock = [0.0]

    class Log(sqlite.SqliteConnection):
        passes, pages = 0, 10

        def execute(self, sql, values=()):
            assert sql == "PRAGMA wal_checkpoint(PASSIVE)"
            self.passes += 1
            clock[0] += next(taken)
            return [(0, self.pages, self.pages)]

    log = Log(tmp_path / "log")
    moving = checkpoints.Checkpoints(lambda: log)
    monkeypatch.setattr("eigenbandits.serve.storage.checkpoints.time.perf_counter", lambda: clock[0])
    # A small log is moved once, and starts over by itself.
    moving.move()
    assert log.passes == 1
    assert not moving.finish(log)
    log.pages = 2**20 // 4096 + 1
    moving.move()
    assert log.passes == 3
    assert moving.finish(log)
    assert not moving.finish(log)


def test_a_log_that_grows_fast_is_moved_without_being_asked(tmp_path, monkeypatch):
    """In a burst, a megabyte or two is moved at a time, so that no commit waits long for the database to be synced."""
    database = sqlite.SqliteDatabase(tmp_path)
    writer = database.connect()
    moved = []
    move = database._checkpoints.move

    def count_and_move():
        moved.append(1)
        move()

    monkeypatch.setattr(database._checkpoints, "move", count_and_move)
    writer.execute("CREATE TABLE more (content BLOB)")
    # Each time a row of a megabyte; nothing is moved for less than a piece.
    for count in range(1, 4 * checkpoints.PIECE // 2**20 + 1):
        with writer.transaction():
            writer.many("INSERT INTO more VALUES (?)", [(bytes(2**20),)])
        if count * 2**20 % checkpoints.PIECE:
            continue
        pieces = count * 2**20 // checkpoints.PIECE
        deadline = time.monotonic() + 30.0
        while len(moved) < pieces or database._checkpoints._wanted.is_set():
            assert time.monotonic() < deadline, (len(moved), pieces)
            time.sleep(0.002)
        assert len(moved) == pieces
    database.release()
    writer.close()


@pytest.fixture
def small_log(tmp_path, monkeypatch):
    """A database whose log may have a megabyte, a function that adds 300 KB to it, and one that returns its size."""
    monkeypatch.setattr(checkpoints, "KEPT_WAL", 2**20)
    database = sqlite.SqliteDatabase(tmp_path)
    writer = database.connect()
    writer.execute("CREATE TABLE more (content BLOB)")

    def add():
        with writer.transaction():
            writer.execute("INSERT INTO more VALUES (zeroblob(300000))")

    yield database, add, lambda: database.path.with_name(database.path.name + "-wal").stat().st_size
    writer.close()
    database.release()


def test_a_log_that_somebody_always_reads_starts_over(small_log):
    database, add, size = small_log
    readers, over = (database.connect(), database.connect()), threading.Event()

    def read():
        # Each begins before the other ends.
        for reader, other in itertools.cycle((readers, readers[::-1])):
            reader._raw.execute("BEGIN")
            reader.execute("SELECT COUNT(*) FROM more")
            other.rollback()
            if over.wait(0.005):
                break

    thread = threading.Thread(target=read)
    thread.start()
    for _ in range(20):
        for _ in range(4):
            add()
        database._checkpoints.move()
    over.set()
    thread.join()
    for reader in readers:
        reader.close()
    assert size() < 4 * 2**20


def test_one_that_reads_for_long_keeps_nobody_from_writing(small_log):
    database, add, size = small_log
    reader = database.connect()
    for _ in range(4):
        add()
    reader._raw.execute("BEGIN")
    reader.execute("SELECT COUNT(*) FROM more")
    add()
    started = time.monotonic()
    database._checkpoints.move()
    add()
    assert time.monotonic() - started < 5.0
    assert size() > 1.5e6
    reader.close()
    database._checkpoints.move()
    add()
    assert size() <= 2**20
