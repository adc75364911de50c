"""How far a command has come: a bar on a terminal, a plain line now and then elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from eigenbandits.lab.jobs import Progress as Tell


@contextmanager
def progress(label: str, console: Console | None = None) -> Iterator[Tell]:
    """Give what is to be called with the number of runs done and of all runs; it is shown on standard error."""
    shown_on = Console(stderr=True) if console is None else console
    if not shown_on.is_terminal:
        yield _lines(label, shown_on)
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("runs"))
    with Progress(*columns, TimeElapsedColumn(), TimeRemainingColumn(), console=shown_on) as bar:
        task = bar.add_task(label, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _lines(label: str, console: Console) -> Tell:
    start = monotonic()

    def tell(done: int, total: int) -> None:
        # Ten lines in all, however many runs there are.
        if done * 10 // total > (done - 1) * 10 // total:
            console.print(f"{label}: {done} of {total} runs, {monotonic() - start:.0f} s", highlight=False)

    return tell
