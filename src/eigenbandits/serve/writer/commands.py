"""Commands, which requests pass to the writer, and how their results get back."""

import asyncio
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from eigenbandits.serve.errors import Refusal
from eigenbandits.serve.storage.journal import Journal
from eigenbandits.serve.writer.decision_sets import DecisionSet


@dataclass(slots=True, eq=False)
class DecideCommand:
    """Choose from decision sets, all or none of them; the result is a list of `DecisionRow`."""

    policy: int
    sets: list[DecisionSet]
    requests: list[str | None]
    future: asyncio.Future[Any]
    # Its estimated time in seconds.
    cost: float = 0.0


class SentReward(NamedTuple):
    """A reward as sent by a caller, for the decision with a number in an epoch; `id` is the id that the caller sent."""

    number: int
    epoch: int | None
    reward: float
    id: str
    # The name of a part of a reward; "" for a whole one.
    part: str = ""
    # Whether it replaces what was sent before.
    correct: bool = False
    # The cost that was paid, if known.
    cost: float | None = None


@dataclass(slots=True, eq=False)
class RewardCommand:
    """Learn the rewards of decisions; the result is a word or a `Refusal` for each."""

    policy: int
    rewards: list[SentReward]
    future: asyncio.Future[Any]
    cost: float = 0.0


@dataclass(slots=True, eq=False)
class Task:
    """Anything else that only the writer may do, in a transaction of its own.

    An action that would take long returns a generator; each of its steps is a transaction, and other commands are
    carried out between steps.
    """

    action: Callable[[Journal], Any]
    future: Future[Any] = field(default_factory=Future)
    cost: float = 0.005
    # Whether it changes policies, catalogues or keys.
    changes: bool = False
    steps: Generator[None, None, Any] | None = None

    def advance(self, journal: Journal) -> Any:
        """Run the task, or the next of its steps; return the task itself while there are more."""
        if self.steps is None:
            result = self.action(journal)
            if not isinstance(result, Generator):
                return result
            self.steps = result
        try:
            next(self.steps)
        except StopIteration as end:
            return end.value
        return self

    def close(self) -> None:
        """Abandon the remaining steps; what earlier steps have written is removed later."""
        if self.steps is not None:
            self.steps.close()


PolicyCommand = DecideCommand | RewardCommand
Command = PolicyCommand | Task
# A command with its result, or with the exception to raise instead.
Result = tuple[Command, Any]


def resolve(results: Iterable[Result]) -> None:
    """Deliver results to those who wait for them; called in the writer's thread."""
    by_loop: dict[asyncio.AbstractEventLoop, list[tuple[asyncio.Future[Any], Any]]] = {}
    for command, result in results:
        if isinstance(command, Task):
            _resolve(command.future, result)
        else:
            by_loop.setdefault(command.future.get_loop(), []).append((command.future, result))
    running = asyncio._get_running_loop()
    for loop, pairs in by_loop.items():
        if loop is running:
            _resolve_all(pairs)
            continue
        # One call for all of them: waking the event loop costs more than the rest.
        with suppress(RuntimeError):  # the loop is closed, so nobody is waiting
            loop.call_soon_threadsafe(_resolve_all, pairs)


def reject(commands: Iterable[Command], refusal: Refusal) -> None:
    """Resolve commands with the same refusal."""
    resolve((command, refusal) for command in commands)


def _resolve_all(pairs: list[tuple[asyncio.Future[Any], Any]]) -> None:
    for future, result in pairs:
        _resolve(future, result)


def _resolve(future: asyncio.Future[Any] | Future[Any], result: Any) -> None:
    # A caller that has given up, or already has a result, gets none.
    with suppress(InvalidStateError, asyncio.InvalidStateError):
        if isinstance(result, Exception):
            future.set_exception(result)
        else:
            future.set_result(result)
