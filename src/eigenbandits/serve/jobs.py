"""What requests hand to the writer, and how its answers find their way back."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from eigenbandits.serve.errors import Refusal
from eigenbandits.serve.journal import Journal
from eigenbandits.serve.sets import AskedSet


@dataclass(frozen=True, slots=True)
class Answer:
    """One decision as its caller is told."""

    number: int
    index: int
    item: str | None
    estimate: float
    upper: float
    propensity: float | None


@dataclass(slots=True, eq=False)
class Ask:
    """Choose in some decision sets, all or none of them; answered by a list of `Answer`."""

    policy: int
    sets: list[AskedSet]
    requests: list[str | None]
    future: asyncio.Future[Any]


@dataclass(slots=True, eq=False)
class Report:
    """Rewards of some decisions, each by its number; answered by "learned", "repeated" or a `Refusal` for each."""

    policy: int
    rewards: list[tuple[int, float]]
    future: asyncio.Future[Any]


@dataclass(slots=True, eq=False)
class Task:
    """Anything else that only the writer may do, in a transaction of its own."""

    action: Callable[[Journal], Any]
    future: Future[Any] = field(default_factory=Future)


Job = Ask | Report | Task
Outcome = tuple[Job, Any]


def deliver(outcomes: Iterable[Outcome]) -> None:
    """Hand answers, or the exceptions in their place, to those who wait; called in the writer's thread."""
    by_loop: dict[asyncio.AbstractEventLoop, list[tuple[asyncio.Future[Any], Any]]] = {}
    for job, result in outcomes:
        if isinstance(job, Task):
            _settle(job.future, result)
        else:
            by_loop.setdefault(job.future.get_loop(), []).append((job.future, result))
    for loop, pairs in by_loop.items():
        # One call for all of them: waking the event loop costs more than what it then does.
        with suppress(RuntimeError):  # the loop was closed, and nobody waits any more
            loop.call_soon_threadsafe(_settle_all, pairs)


def _settle_all(pairs: list[tuple[asyncio.Future[Any], Any]]) -> None:
    for future, result in pairs:
        _settle(future, result)


def _settle(future: asyncio.Future[Any] | Future[Any], result: Any) -> None:
    # Who has given up waiting, or was told of a failure already, is not told again.
    with suppress(InvalidStateError, asyncio.InvalidStateError):
        if isinstance(result, Exception):
            future.set_exception(result)
        else:
            future.set_result(result)


def refuse(jobs: Iterable[Job], refusal: Refusal) -> None:
    """Answer jobs with the same refusal."""
    deliver((job, refusal) for job in jobs)
