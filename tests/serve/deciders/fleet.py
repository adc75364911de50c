"""A learner and deciders in this process, around one database."""

from __future__ import annotations

import socket
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

import httpx

from eigenbandits.serve import Settings, running
from eigenbandits.serve.deciders.commit_process import CommitProcess
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
def committing(place: dict[str, Any]) -> Iterator[str]:
    """A committing process, as a thread; yields the path of its socket."""
    with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as listening:
        listening.bind(f"{folder}/committing")
        listening.listen()
        process = CommitProcess(database_of(Settings(**place)), listening)
        thread = threading.Thread(target=process.run)
        thread.start()
        try:
            yield listening.getsockname()
        finally:
            process.stop()
            thread.join()


@contextmanager
def fleet(place: dict[str, Any]) -> Iterator[tuple[httpx.Client, httpx.Client, httpx.Client]]:
    """Two deciders and their learner, which stops last and so follows everything; on SQLite they commit together."""
    with ExitStack() as stack:
        learner = stack.enter_context(served(place, Learner))
        address = stack.enter_context(committing(place)) if "folder" in place and "database" not in place else ""
        role = partial(Decider, committing=address)
        yield stack.enter_context(served(place, role)), stack.enter_context(served(place, role)), learner


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
