"""HTTP with persistent connections, timeouts and retries, on the standard library alone."""

from __future__ import annotations

import json
import logging
import random
import time
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any
from urllib.parse import urlencode, urlsplit

from eigenbandits.inputs import number
from eigenbandits.serve.client.errors import ServiceError, UnavailableError, error_class

FIRST_PAUSE, LONGEST_PAUSE = 0.05, 2.0
# A service that has answered before is probably being restarted; one that never has is probably at another address.
PATIENCE, FIRST_PATIENCE = 30.0, 3.0
# Seconds of retrying after which the log says so.
SILENCE = 1.0
log = logging.getLogger(__name__)
JSON, BINARY = "application/json", "application/octet-stream"


@dataclass(frozen=True)
class Response:
    """A response: the status, the headers under lowercase names, and the body."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        """Return the body as a JSON value; None if it is empty."""
        return json.loads(self.body) if self.body else None


class Transport:
    """Sends requests to one service, from any number of threads.

    Parameters
    ----------
    url
        Where the service is; a path in it is put before every path.
    key
        The API key, sent as a bearer token.
    timeout
        Seconds that one attempt may take.
    patience
        Seconds after which no further attempt is made; 0 for a single attempt. None is 30 seconds, but 3 while the
        service cannot be reached and has never answered.
    """

    def __init__(self, url: str, key: str | None = None, timeout: float = 10.0, patience: float | None = None) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"url is {url!r}; expected something like http://127.0.0.1:8765.")
        if parts.username or parts.query or parts.fragment:
            raise ValueError("url holds more than a scheme, a host, a port and a path; pass the key as `key`.")
        self._secure, self._host, self._port = parts.scheme == "https", parts.hostname, parts.port
        self._prefix = parts.path.rstrip("/")
        self.url = f"{parts.scheme}://{parts.netloc}{self._prefix}"
        self.timeout = number(timeout, "timeout", above=0.0)
        self.patience = None if patience is None else number(patience, "patience", least=0.0)
        self._answered = False
        self._headers = {} if key is None else {"Authorization": f"Bearer {key}"}
        # Appending to and popping from a deque is atomic: no lock is needed.
        self._idle: deque[HTTPConnection] = deque()

    def send(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        query: Mapping[str, str | int] | None = None,
        again: bool = True,
        accept: str = JSON,
    ) -> Response:
        """Send a request until it is answered, and return the response or raise its error.

        Parameters
        ----------
        method, path
            Of the request.
        body
            Bytes, sent as they are; anything else is sent as JSON, None as nothing.
        query
            Query parameters.
        again
            Whether the request does no harm when it arrives twice; if not, it is retried only after a 429.
        accept
            The media type of the response.
        """
        headers = self._headers | {"Accept": accept}
        content: bytes | None = None
        if body is not None:
            binary = isinstance(body, bytes | bytearray | memoryview)
            content = bytes(body) if binary else json.dumps(body, separators=(",", ":"), allow_nan=False).encode()
            headers["Content-Type"] = BINARY if binary else JSON
        target = self._prefix + path + (f"?{urlencode(query)}" if query else "")
        # A service may become unavailable in the middle of a request.
        passing = (429, 503) if again else (429,)
        start = time.monotonic()
        pause, silent = FIRST_PAUSE, True
        while True:
            wait = pause * random.uniform(0.5, 1.0)
            try:
                answer = self._attempt(method, target, content, headers, again)
            except (OSError, HTTPException) as error:
                reason = str(error) or type(error).__name__
                waited, patience = time.monotonic() - start, self._patience(self._answered)
                if not again or waited + wait > patience:
                    raise UnavailableError(
                        f"{self.url} did not answer {method} {path} ({reason}); check that the service runs there."
                    ) from error
                if silent and waited > SILENCE:
                    silent = False
                    log.warning("%s does not answer (%s); trying again for up to %g s.", self.url, reason, patience)
            else:
                self._answered = True
                if answer.status < 400:
                    return answer
                wait = max(wait, _asked_for(answer))
                if answer.status not in passing or time.monotonic() - start + wait > self._patience(True):
                    raise _refusal(answer, method, path)
            time.sleep(wait)
            pause = min(2 * pause, LONGEST_PAUSE)

    def _patience(self, answered: bool) -> float:
        """Return the seconds of retrying, by whether the service has ever answered."""
        if self.patience is not None:
            return self.patience
        return PATIENCE if answered else FIRST_PATIENCE

    def _attempt(
        self, method: str, target: str, content: bytes | None, headers: Mapping[str, str], again: bool
    ) -> Response:
        # The service may have closed an idle connection, which shows only when it is used; a request that must not
        # arrive twice gets a new one.
        if again and self._idle:
            with suppress(ConnectionError):
                return self._exchange(self._idle.pop(), method, target, content, headers)
        return self._exchange(self._connect(), method, target, content, headers)

    def _connect(self) -> HTTPConnection:
        kind = HTTPSConnection if self._secure else HTTPConnection
        return kind(self._host, self._port, timeout=self.timeout)

    def _exchange(
        self, connection: HTTPConnection, method: str, target: str, content: bytes | None, headers: Mapping[str, str]
    ) -> Response:
        try:
            # A body that is too large is refused before all of it is sent: the response can be read.
            with suppress(BrokenPipeError, ConnectionResetError):
                connection.request(method, target, content, dict(headers))
            response = connection.getresponse()
            answer = Response(
                response.status, {name.lower(): value for name, value in response.getheaders()}, response.read()
            )
        except BaseException:
            connection.close()
            raise
        if response.will_close:
            connection.close()
        else:
            self._idle.append(connection)
        return answer

    def close(self) -> None:
        """Close the connections that are not in use."""
        while self._idle:
            self._idle.pop().close()


def _asked_for(answer: Response) -> float:
    """Return the seconds that the service asks to wait, if it gives a number."""
    text = answer.headers.get("retry-after", "")
    return float(text) if text.isdecimal() else 0.0


def _refusal(answer: Response, method: str, path: str) -> ServiceError:
    kind = error_class(answer.status)
    try:
        error = answer.json()["error"]
        message, code, field = str(error["message"]), str(error["code"]), error.get("field")
    except (ValueError, KeyError, TypeError):
        # Not from the service itself, but from something in between.
        message, code, field = f"{method} {path} was answered with status {answer.status} and no reason.", "", None
    return kind(message, status=answer.status, code=code, field=field, request_id=answer.headers.get("x-request-id"))
