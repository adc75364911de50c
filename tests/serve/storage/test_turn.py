"""The turn to write: who waits gets it, and who gave up does not keep it."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from eigenbandits.serve.errors import StorageError
from eigenbandits.serve.storage.turn import Turn


@pytest.fixture
def turns(tmp_path: Path) -> Iterator[list[Turn]]:
    """Three connections' turns at one database."""
    turns = [Turn(tmp_path / "turn", patience) for patience in (30.0, 0.2, 30.0)]
    yield turns
    for turn in turns:
        turn.close()


def test_one_has_it_and_the_next_is_woken(turns: list[Turn]) -> None:
    first, _, second = turns
    order = []

    def write() -> None:
        second.take()
        order.append("second")
        second.end()

    for _ in range(3):  # the thread that waits is used again
        order.clear()
        first.take()
        waiting = threading.Thread(target=write)
        waiting.start()
        time.sleep(0.05)
        order.append("first")
        first.end()
        waiting.join(10.0)
        assert order == ["first", "second"]


def test_who_gave_up_lets_the_others_write(turns: list[Turn]) -> None:
    first, impatient, second = turns
    first.take()
    with pytest.raises(StorageError, match=r"has been writing to the database for 0\.2 seconds"):
        impatient.take()
    first.end()
    # By now the operating system has given, or is about to give, the lock to the one that gave up.
    second.take()
    assert second.taken
    assert not impatient.taken
    second.end()
    impatient.take()
    assert impatient.taken


def test_who_gave_up_may_ask_again_while_another_still_writes(turns: list[Turn]) -> None:
    first, impatient, _ = turns
    first.take()
    for _ in range(3):
        with pytest.raises(StorageError):
            impatient.take()
    first.end()
    deadline = time.monotonic() + 10.0
    while not impatient.taken and time.monotonic() < deadline:
        with suppress(StorageError):
            impatient.take()
    assert impatient.taken


def test_closing_lets_the_others_write(turns: list[Turn]) -> None:
    first, impatient, second = turns
    first.take()
    with pytest.raises(StorageError):
        impatient.take()
    impatient.close()
    first.close()
    second.take()
    assert second.taken
    with pytest.raises(StorageError, match="the connection is closed"):
        first.take()
