"""The writer's queue: a line for each policy, served in turns, so that no policy waits behind another one's flood."""

import threading
from collections import OrderedDict, deque
from collections.abc import Iterable

from eigenbandits.serve.writer.commands import Command, Task

# The line of tasks; policy ids start at 1.
_TASKS = 0


class CommandQueue:
    """Commands waiting for the writer; usable from any thread.

    Commands of one policy are taken in order. One command of each policy is taken, then the next of each, until their
    estimated costs add up to what the writer may do at once.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._lines: OrderedDict[int, deque[Command]] = OrderedDict()
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def waiting(self, policy: int) -> int:
        """Return how many commands of a policy are waiting."""
        line = self._lines.get(policy)
        return 0 if line is None else len(line)

    def put(self, commands: Iterable[Command]) -> None:
        """Add commands."""
        with self._changed:
            for command in commands:
                line = _TASKS if isinstance(command, Task) else command.policy
                self._lines.setdefault(line, deque()).append(command)
                self._count += 1
            self._changed.notify()

    def take(self, wait: float, most: int, budget: float) -> list[Command]:
        """Return the next commands, at least one; if there are none for `wait` seconds, return none.

        Parameters
        ----------
        wait
            The timeout in seconds.
        most
            The maximum number of commands.
        budget
            No more commands are taken once their estimated seconds add up to this.
        """
        taken: list[Command] = []
        cost = 0.0
        with self._changed:
            if not self._lines and wait > 0.0:
                self._changed.wait(wait)
            while self._lines and len(taken) < most and cost < budget:
                name, line = self._lines.popitem(last=False)
                command = line.popleft()
                taken.append(command)
                cost += command.cost
                if line:
                    self._lines[name] = line
            self._count -= len(taken)
        return taken
