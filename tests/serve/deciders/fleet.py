"""A learner and deciders in this process, around one database."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import httpx

from eigenbandits.serve import Settings, running
from eigenbandits.serve.deciders.decider import Decider
from eigenbandits.serve.learner.learner import Learner
from eigenbandits.serve.storage import database_of
from eigenbandits.serve.storage.lane_journal import LaneJournal


@contextmanager
def served(place: dict[str, Any], role: Any) -> Iterator[httpx.Client]:
    settings = Settings(**place, port=0, publish_seconds=0.1)
    with running(settings, role=role) as server, httpx.Client(base_url=server.url, timeout=30.0) as client:
        vars(client)["server"] = server
        yield client


@contextmanager
def fleet(place: dict[str, Any]) -> Iterator[tuple[httpx.Client, httpx.Client, httpx.Client]]:
    """Two deciders and their learner, which stops last and so follows everything."""
    with ExitStack() as stack:
        learner = stack.enter_context(served(place, Learner))
        yield stack.enter_context(served(place, Decider)), stack.enter_context(served(place, Decider)), learner


def sent(client: httpx.Client, method: str, path: str, body: Any = None) -> httpx.Response:
    """Send a request, again for as long as the answer is to try again."""
    answer = client.request(method, path, json=body)
    deadline = time.monotonic() + 20.0
    while answer.status_code == 503 and time.monotonic() < deadline:
        time.sleep(0.05)
        answer = client.request(method, path, json=body)
    return answer


def until(found: Callable[[], Any]) -> Any:
    deadline = time.monotonic() + 20.0
    while not (value := found()):
        assert time.monotonic() < deadline, value
        time.sleep(0.05)
    return value


@contextmanager
def journal_of(place: dict[str, Any]) -> Iterator[LaneJournal]:
    connection = database_of(Settings(**place)).connect()
    try:
        yield LaneJournal(connection)
    finally:
        connection.close()


def counts(client: httpx.Client, name: str = "p") -> dict[str, int]:
    found = sent(client, "GET", f"/v1/policies/{name}").json()
    return {key: found[key] for key in ("decisions", "rewards", "defaults", "expired", "pending")}
