"""What the routes share: running tasks in the writer, reading beside it, and documenting errors."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from eigenbandits.serve.admin import Admin
from eigenbandits.serve.engine import Engine
from eigenbandits.serve.errors import StorageError, unavailable
from eigenbandits.serve.jobs import Task
from eigenbandits.serve.journal import Journal
from eigenbandits.serve.models import Error
from eigenbandits.serve.storage import Connection

T = TypeVar("T")
_MOST_READERS = 20


class Context:
    """The engine, as routes use it."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.admin = Admin(engine)
        # A thread of its own: a database that hangs must not use up those that others need.
        self._reader = ThreadPoolExecutor(1, thread_name_prefix="reader")
        self._waiting = 0
        self._connection: Connection | None = None

    async def run(self, action: Callable[..., Any], *args: Any) -> Any:
        """Run a task in the writer's thread and return its answer."""
        task = Task(lambda journal: action(journal, *args))
        self.engine.submit(task)
        # An upload or a deletion may take its time; nothing else is asked of the database meanwhile.
        patience = 10.0 * self.engine.settings.request_timeout
        try:
            return await asyncio.wait_for(asyncio.wrap_future(task.future), patience)
        except TimeoutError:
            raise unavailable("this took too long") from None

    async def read(self, action: Callable[[Journal], T]) -> T:
        """Read from the database beside the writer, one after the other."""
        if self._waiting >= _MOST_READERS:
            raise unavailable("too many requests are reading")
        self._waiting += 1
        try:
            reading = asyncio.get_running_loop().run_in_executor(self._reader, self._read, action)
            return await asyncio.wait_for(reading, self.engine.settings.request_timeout)
        except TimeoutError:
            raise unavailable("its storage does not answer") from None
        finally:
            self._waiting -= 1

    def _read(self, action: Callable[[Journal], T]) -> T:
        try:
            if self._connection is None:
                self._connection = self.engine.database.connect()
            return action(Journal(self._connection))
        except StorageError as error:
            self._disconnect()
            raise unavailable("its storage is not there") from error

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def close(self) -> None:
        """Close the connection that reads."""
        self._reader.shutdown(wait=False, cancel_futures=True)
        self._disconnect()


def may_fail(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the documentation of the errors of a route: those given, and those that any route may have."""
    words = {
        400: "Something in the request is not as it should be.",
        401: "The key is missing, wrong or revoked.",
        403: "The key does not have the scope that this needs.",
        404: "There is nothing of this name.",
        409: "This does not go with what is there already.",
        413: "The body is too large.",
        415: "The media type is not understood.",
        429: "Too many requests; Retry-After says when to come again.",
        503: "The service cannot answer now; Retry-After says when to come again.",
    }
    wanted = {400, 401, 403, 413, 429, 503, *statuses}
    return {status: {"model": Error, "description": words[status]} for status in sorted(wanted)}
