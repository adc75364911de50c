"""Cells done, rounds per second and time left, by a clock that the test turns."""

import io

import pytest
from rich.console import Console

from eigenbandits.lab.experiments import progress
from eigenbandits.lab.experiments.progress import LiveProgress, Progress, make_progress


@pytest.fixture
def clock(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(progress, "monotonic", lambda: now[0])

    def turn(seconds):
        now[0] += seconds

    return turn


def test_plain_lines_say_what_is_done_how_fast_and_how_long_it_takes(clock):
    stream = io.StringIO()
    with Progress(10, 2, 8000, stream) as shown:
        clock(5.0)
        shown.finished(1000)  # too soon for another line
        clock(5.0)
        shown.heartbeat(1000)  # 2,000 rounds in 10 s; 6,000 are left
        shown.note("Something happened.")
    assert stream.getvalue().splitlines() == [
        "2 of 10 cells are finished; 8 to run.",
        "3 of 10 cells, 200 rounds per second, 30 s left",
        "Something happened.",
        "3 of 10 cells, 200 rounds per second, 30 s left",
    ]


def test_nothing_to_do_is_one_line(clock):
    stream = io.StringIO()
    with Progress(10, 10, 0, stream):
        pass
    assert stream.getvalue() == "10 of 10 cells are finished; 0 to run.\n"


def test_quiet_says_only_what_must_be_known(clock):
    stream = io.StringIO()
    with Progress(10, 0, 100, stream, quiet=True) as shown:
        clock(60.0)
        shown.finished(50)
        shown.note("A worker died.")
    assert stream.getvalue() == "A worker died.\n"


def test_finished_rounds_are_not_counted_twice(clock):
    shown = Progress(2, 0, 200, io.StringIO())
    clock(1.0)
    shown.heartbeat(90)
    shown.finished(100)
    assert shown.rate() == pytest.approx(100.0)
    assert shown.left() == pytest.approx(1.0)


def test_without_any_round_there_is_no_time_left_to_tell(clock):
    shown = Progress(2, 0, 200, io.StringIO())
    clock(1.0)
    assert shown.left() is None
    assert shown.status() == "0 of 2 cells, 0 rounds per second"


def test_the_live_view_shows_the_same(clock):
    stream = io.StringIO()
    console = Console(file=stream, force_terminal=True, width=120)
    with LiveProgress(4, 1, 300, console) as shown:
        clock(2.0)
        shown.finished(100)
        shown.note("A worker died.")
        shown.heartbeat(50)
    text = stream.getvalue()
    assert "2 of 4 cells, 75 rounds per second, 2 s left" in text
    assert "50 %" in text
    assert "A worker died." in text


def test_lines_are_for_files_and_the_live_view_for_terminals(monkeypatch):
    assert type(make_progress("auto", 1, 0, 1)) is Progress
    assert make_progress("none", 1, 0, 1).quiet
    monkeypatch.setattr("sys.stderr", _Terminal())
    assert type(make_progress("auto", 1, 0, 1)) is LiveProgress
    assert type(make_progress("lines", 1, 0, 1)) is Progress


class _Terminal(io.StringIO):
    def isatty(self):
        return True
