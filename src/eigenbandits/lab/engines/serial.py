"""Cells one after the other in this process: the engine to debug with."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from eigenbandits.lab.engines.base import Engine, Job, Listener, Outcome, attempt
from eigenbandits.lab.engines.threads import one_thread


class Serial(Engine):
    """Run cells here."""

    def run(self, jobs: Sequence[Job], listener: Listener) -> Iterator[Outcome]:
        """Run one cell after the other."""
        for job in jobs:
            with one_thread():
                outcome = Outcome(job, *attempt(job.text, listener.beat))
            yield outcome
