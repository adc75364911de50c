"""The command loop: the writer's queue, and how its commands are applied in order."""

import logging
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from operator import methodcaller
from typing import Any

from eigenbandits.serve.errors import PolicyError, Refusal, StorageError, internal, unavailable
from eigenbandits.serve.logs import log_event
from eigenbandits.serve.metrics import Metrics
from eigenbandits.serve.writer.batch import Batch
from eigenbandits.serve.writer.command_queue import CommandQueue
from eigenbandits.serve.writer.commands import Command, DecideCommand, PolicyCommand, Task, reject, resolve
from eigenbandits.serve.writer.committer import NO_STORAGE

# The maximum number of commands in one batch.
_LARGEST_BATCH = 256


class CommandLoop(ABC):
    """Collects commands to policies into batches, and runs tasks in between; `Writer` defines what either does.

    Parameters
    ----------
    metrics
        Where batches are counted.
    """

    def __init__(self, metrics: Metrics) -> None:
        self.metrics = metrics
        self._queue = CommandQueue()

    @abstractmethod
    def administer(self, task: Task) -> Any:
        """Run a task, or the next of its steps; return the task itself while there are more."""

    @abstractmethod
    def transact(self, action: Callable[[Batch], Any]) -> PolicyError | None:
        """Apply an action to a batch in memory, then submit it for commit; return the failure of a policy, if any."""

    def submit(self, *commands: Command) -> None:
        """Put commands into the queue."""
        self._queue.put(commands)

    def _take(self, wait: float = 0.0, budget: float = math.inf) -> list[Command]:
        """Return waiting commands, without those whose callers have given up."""
        commands = self._queue.take(wait, _LARGEST_BATCH, budget)
        for command in commands:
            if isinstance(command, Task) and command.steps is not None and command.future.done():
                command.close()
        return [command for command in commands if not command.future.done()]

    def _apply(self, commands: Sequence[Command]) -> None:
        """Apply commands in order; a task separates the batches before and after it."""
        gathered: list[PolicyCommand] = []
        try:
            for command in commands:
                if isinstance(command, Task):
                    self._apply_batch(gathered)
                    gathered = []
                    self._apply_task(command)
                else:
                    gathered.append(command)
            self._apply_batch(gathered)
        except Exception:
            # Commands that already have a result keep it.
            reject(commands, unavailable(NO_STORAGE))
            raise

    def _apply_task(self, task: Task) -> None:
        try:
            result = self.administer(task)
            if task.steps is not None and result is task:
                # The remaining steps follow after the commands that are waiting.
                self._queue.put([task])
                return
        except StorageError:
            task.close()
            raise
        except Refusal as refusal:
            result = refusal
        except Exception:
            log_event("task failed", logging.ERROR, trace=True)
            result = internal()
        # A task changes memory in the function that it returns, which is called once the transaction is on disk.
        resolve([(task, result() if callable(result) else result)])

    def _apply_batch(self, commands: list[PolicyCommand]) -> None:
        while commands:
            failure = self.transact(methodcaller("apply", commands))
            if failure is None:
                decides = sum(isinstance(command, DecideCommand) for command in commands)
                self.metrics.count_batch("decide", decides)
                self.metrics.count_batch("reward", len(commands) - decides)
                return
            commands = [command for command in commands if command not in failure.commands]
            if len(failure.commands) == 1:
                reject(failure.commands, failure.refusal)
            else:
                # Only one of them is to blame; retry them one by one.
                for command in failure.commands:
                    self._apply_batch([command])

    def _reject_waiting(self, reason: str) -> None:
        while commands := self._take():
            for command in commands:
                if isinstance(command, Task):
                    command.close()
            reject(commands, unavailable(reason))
