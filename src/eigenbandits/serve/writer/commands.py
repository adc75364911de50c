"""Commands, which requests hand to the writer, and the way of their results back."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from eigenbandits.serve.errors import Refusal
from eigenbandits.serve.storage.journal import Journal
from eigenbandits.serve.writer.decision_sets import DecisionSet


@dataclass(slots=True, eq=False)
class DecideCommand:
    """Choose in some decision sets, all or none of them; the result is a list of `DecisionRow`."""

    policy: int
    sets: list[DecisionSet]
    requests: list[str | None]
    future: asyncio.Future[Any]
    # The seconds that it is estimated to take.
    cost: float = 0.0


@dataclass(slots=True, frozen=True)
class SentReward:
    """A reward as a caller sends it: of the decision with a number in an epoch; `id` is what it wrote."""

    number: int
    epoch: int | None
    reward: float
    id: str
    # Of a reward in parts; "" for a whole one.
    part: str = ""
    # Whether it replaces what was sent before.
    correct: bool = False
    # What was paid, if that is known.
    cost: float | None = None


@dataclass(slots=True, eq=False)
class RewardCommand:
    """Learn the rewards of some decisions; the result is a word or a `Refusal` for each."""

    policy: int
    rewards: list[SentReward]
    future: asyncio.Future[Any]
    cost: float = 0.0


@dataclass(slots=True, eq=False)
class Task:
    """Anything else that only the writer may do, in a transaction of its own.

    An action that would take long returns a generator, of which each step is a transaction; other commands are carried
    out between two steps.
    """

    action: Callable[[Journal], Any]
    future: Future[Any] = field(default_factory=Future)
    cost: float = 0.005
    # Whether it changes policies, catalogues or keys.
    changes: bool = False
    steps: Generator[None, None, Any] | None = None

    def advance(self, journal: Journal) -> Any:
        """Carry out the task, or the next of its steps; return the task itself while there are more."""
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
        """Give up the steps that are left; what the others have written is removed later."""
        if self.steps is not None:
            self.steps.close()


PolicyCommand = DecideCommand | RewardCommand
Command = PolicyCommand | Task
# A command with its result, or with the exception to raise instead.
Result = tuple[Command, Any]


def resolve(results: Iterable[Result]) -> None:
    """Hand results to those who wait for them; called in the writer's thread."""
    by_loop: dict[asyncio.AbstractEventLoop, list[tuple[asyncio.Future[Any], Any]]] = {}
    for command, result in results:
        if isinstance(command, Task):
            _resolve(command.future, result)
        else:
            by_loop.setdefault(command.future.get_loop(), []).append((command.future, result))
    for loop, pairs in by_loop.items():
        # One call for all of them: waking the event loop costs more than the rest.
        with suppress(RuntimeError):  # the loop was closed, and nobody waits any more
            loop.call_soon_threadsafe(_resolve_all, pairs)


def reject(commands: Iterable[Command], refusal: Refusal) -> None:
    """Resolve commands with the same refusal."""
    resolve((command, refusal) for command in commands)


def _resolve_all(pairs: list[tuple[asyncio.Future[Any], Any]]) -> None:
    for future, result in pairs:
        _resolve(future, result)


def _resolve(future: asyncio.Future[Any] | Future[Any], result: Any) -> None:
    # A caller that has given up, or has a result already, gets none.
    with suppress(InvalidStateError, asyncio.InvalidStateError):
        if isinstance(result, Exception):
            future.set_exception(result)
        else:
            future.set_result(result)
