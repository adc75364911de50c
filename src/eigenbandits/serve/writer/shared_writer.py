"""`SharedWriter`: a writer of a database to which other processes write as well."""

import math
from contextlib import suppress
from typing import Any, cast

from eigenbandits.serve.clock import Clock
from eigenbandits.serve.errors import ReplayError, StorageError, unavailable
from eigenbandits.serve.settings import Settings
from eigenbandits.serve.storage import Database
from eigenbandits.serve.storage.journal import Journal
from eigenbandits.serve.writer.commands import Command, Task
from eigenbandits.serve.writer.policy_spec import PolicySpec
from eigenbandits.serve.writer.writer import Writer


class SharedWriter(Writer):
    """Applies other processes' changes before it changes policies or catalogues, and locks them out while it does."""

    alone = False

    def __init__(self, settings: Settings, database: Database, clock: Clock | None = None) -> None:
        super().__init__(settings, database, clock)
        # Tasks of several steps that have begun, besides the one that is running.
        self._changing: set[Task] = set()

    def refuse_spec(self, spec: PolicySpec) -> None:
        """Leave out a policy whose every choice changes its state."""
        for name in spec.alone:
            raise ReplayError(f"it has a {name}, which deciders do not support; run the service without --deciders")

    def refresh(self, journal: Journal) -> None:
        """Apply the changes made by other processes."""

    def administer(self, task: Task) -> Any:
        """Run a task, or the next of its steps; a task that changes things runs on the latest state."""
        if not task.changes:
            return self.write(task.advance)
        assert self._writing is not None
        self.flush()
        connection = self._writing.connection
        if not self._changing and not self.database.lock_administration(connection):
            raise unavailable("another process is changing policies or catalogues")
        self._changing.add(task)
        try:
            if task.steps is None:
                self.refresh(self._writing)
            result = self.write(task.advance)
        except BaseException:
            self._end(task)
            raise
        if result is not task:
            self._end(task)
        return result

    def _end(self, task: Task) -> None:
        self._changing.discard(task)
        if not self._changing and self._writing is not None:
            self.database.unlock_administration(self._writing.connection)

    def _take(self, wait: float = 0.0, budget: float = math.inf) -> list[Command]:
        commands = super()._take(wait, budget)
        # Tasks whose callers have given up are not continued.
        for task in [task for task in self._changing if task.future.done()]:
            self._end(task)
        return commands

    def _close(self) -> None:
        if self._changing:
            self._changing.clear()
            with suppress(StorageError):
                self.database.unlock_administration(cast(Journal, self._writing).connection)
        super()._close()
