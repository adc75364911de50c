"""The id, metrics and log line of each request."""

import itertools
import logging
import secrets
import time

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from eigenbandits.serve.logs import log_event, logger
from eigenbandits.serve.metrics import Metrics

# Unique across restarts, so that an id in a report leads to one place in the logs.
_START, _NUMBERS = secrets.token_hex(4), itertools.count(1)


def new_request_id() -> str:
    """Return a unique request id."""
    return f"{_START}-{next(_NUMBERS):x}"


class RequestLog:
    """Gives each request an id, included in its response and its log lines, and counts it.

    Parameters
    ----------
    app
        The wrapped application.
    metrics
        Where requests are counted.
    label
        The endpoint's name in metrics.
    """

    def __init__(self, app: ASGIApp, metrics: Metrics, label: str) -> None:
        self._app = app
        self._metrics = metrics
        self._label = label

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        started = time.perf_counter()
        status = 0
        request_id = scope["request_id"] = new_request_id()

        async def send_with_id(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message["headers"], (b"x-request-id", request_id.encode())]
            await send(message)

        await self._app(scope, receive, send_with_id)
        self.count(scope, status, started)

    def count(self, scope: Scope, status: int, started: float) -> None:
        """Count a request that started at a `time.perf_counter` time; log it if it failed or the log level is debug."""
        seconds = time.perf_counter() - started
        self._metrics.count_request(self._label, status, seconds, started, scope.get("path_params", {}).get("name", ""))
        if status >= 500 or logger.isEnabledFor(logging.DEBUG):
            log_event(
                "request",
                logging.WARNING if status >= 500 else logging.DEBUG,
                request=scope["request_id"],
                method=scope["method"],
                path=scope["path"][:200],
                status=status,
                milliseconds=round(1000.0 * seconds, 2),
            )
