"""How far an experiment is: a live view in a terminal, plain lines elsewhere."""

import sys
from time import monotonic
from typing import Any, Self, TextIO

# Seconds between two plain lines; a log file should stay short.
_LINE_SECONDS = 10.0


class Progress:
    """Counts cells and rounds, and reports them in plain lines; `LiveProgress` draws a bar instead.

    Of `cells`, `present` are finished already; the others have `rounds` rounds. Lines go to standard error by default;
    `quiet` leaves only notes.
    """

    def __init__(
        self, cells: int, present: int, rounds: int, stream: TextIO | None = None, *, quiet: bool = False
    ) -> None:
        self.cells, self.done, self.rounds = cells, present, rounds
        self.stream = stream if stream is not None else sys.stderr
        self.quiet = quiet
        self._finished_rounds = self._under_way = 0
        self._started = self._last_line = monotonic()

    def __enter__(self) -> Self:
        if not self.quiet:
            self._line(f"{self.done} of {self.cells} cells are finished; {self.cells - self.done} to run.")
        return self

    def __exit__(self, *error: object) -> None:
        if not self.quiet and self.rounds:
            self._line(self.status())

    def finished(self, rounds: int) -> None:
        """Count a finished cell."""
        self.done += 1
        self._finished_rounds += rounds
        self._under_way = max(0, self._under_way - rounds)
        self._show()

    def heartbeat(self, rounds: int) -> None:
        """Update how many rounds of unfinished cells are done."""
        self._under_way = rounds
        self._show()

    def note(self, text: str) -> None:
        """Print a line at once."""
        self._line(text)

    def rate(self) -> float:
        """Return the rounds per second since the start."""
        return (self._finished_rounds + self._under_way) / max(monotonic() - self._started, 1e-9)

    def left(self) -> float | None:
        """Return the remaining seconds at this rate, if there is one yet."""
        rate = self.rate()
        return (self.rounds - self._finished_rounds - self._under_way) / rate if rate > 0.0 else None

    def status(self) -> str:
        """Return one line: cells done, rounds per second, time left."""
        left = self.left()
        ahead = "" if left is None or self.done >= self.cells else f", {clock(left)} left"
        return f"{self.done} of {self.cells} cells, {self.rate():,.0f} rounds per second{ahead}"

    def _show(self) -> None:
        now = monotonic()
        if not self.quiet and now - self._last_line >= _LINE_SECONDS:
            self._last_line = now
            self._line(self.status())

    def _line(self, text: str) -> None:
        print(text, file=self.stream, flush=True)


class LiveProgress(Progress):
    """Progress as a bar."""

    def __init__(self, cells: int, present: int, rounds: int, console: Any = None) -> None:
        super().__init__(cells, present, rounds)
        from rich.console import Console
        from rich.progress import BarColumn, SpinnerColumn, TextColumn
        from rich.progress import Progress as Bar

        self._bar = Bar(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(bar_width=None),
            TextColumn("{task.percentage:>3.0f} %"),
            TextColumn("{task.fields[status]}"),
            console=console or Console(stderr=True),
        )
        self._task = self._bar.add_task("Running", total=max(rounds, 1), status=self.status())

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._show()
        self._bar.stop()

    def _show(self) -> None:
        over = self._finished_rounds + self._under_way
        self._bar.update(self._task, completed=over, status=self.status())

    def _line(self, text: str) -> None:
        self._bar.console.print(text, highlight=False)


def clock(seconds: float) -> str:
    """Return a duration in the largest units that matter.

    Examples
    --------
    >>> clock(42), clock(125), clock(7384)
    ('42 s', '2 min 5 s', '2 h 3 min')
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def make_progress(kind: str, cells: int, present: int, rounds: int) -> Progress:
    """Return what shows progress: "auto" (live in a terminal, lines elsewhere), "lines" or "none"."""
    if kind == "auto" and sys.stderr.isatty():
        return LiveProgress(cells, present, rounds)
    return Progress(cells, present, rounds, quiet=kind == "none")
