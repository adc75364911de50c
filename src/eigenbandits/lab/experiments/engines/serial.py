"""Cells one after the other in this process: the engine to debug with."""

from collections.abc import Iterator, Sequence

from eigenbandits.lab.experiments.cells import PlannedCell
from eigenbandits.lab.experiments.engines.base import Engine, Listener, Outcome, attempt, one_thread


class Serial(Engine):
    """Run cells here."""

    def run(self, cells: Sequence[PlannedCell], listener: Listener) -> Iterator[Outcome]:
        """Run one cell after the other."""
        for cell in cells:
            with one_thread():
                outcome = Outcome(cell, *attempt(cell.as_text(), listener.heartbeat))
            yield outcome
