"""One request and its response, independent of the transport: what is sent, and when it is retried."""

import json
import logging
import random
import time
from collections.abc import Mapping
from dataclasses import dataclass
from http.client import HTTPException
from typing import Any, BinaryIO
from urllib.parse import urlencode, urlsplit

from eigenbandits.inputs import number
from eigenbandits.serve.client.errors import ServiceError, UnavailableError, error_class

FIRST_PAUSE, LONGEST_PAUSE = 0.05, 2.0
# A service that has answered before is probably being restarted; one that never has probably has another address.
PATIENCE, FIRST_PATIENCE = 30.0, 3.0
# Seconds of retrying after which a warning is logged.
SILENCE = 1.0
log = logging.getLogger(__name__)
JSON, BINARY = "application/json", "application/octet-stream"
# Exceptions that mean that no response, or only part of one, has arrived.
FAILURES = (OSError, EOFError, HTTPException)


@dataclass(frozen=True)
class Request:
    """A request to the service.

    Attributes
    ----------
    method, path
        The HTTP method and the path.
    body
        Bytes are sent directly; anything else is sent as JSON, and None as an empty body.
    query
        Query parameters.
    again
        Whether the request may safely arrive twice; if not, it is retried only after a 429.
    accept
        The media type of the response.
    into
        A file for the body of a successful response, which is then not kept in memory.
    """

    method: str
    path: str
    body: Any = None
    query: Mapping[str, str | int] | None = None
    again: bool = True
    accept: str = JSON
    into: BinaryIO | None = None

    def file_for(self, status: int) -> BinaryIO | None:
        """Return the file for the body of a response with this status, empty; None if the body is returned."""
        if self.into is None or status != 200:
            return None
        self.into.seek(0)
        self.into.truncate()
        return self.into

    def content(self) -> tuple[bytes | None, dict[str, str]]:
        """Return the body as bytes, and the headers that describe it."""
        headers = {"Accept": self.accept}
        if self.body is None:
            return None, headers
        if isinstance(self.body, bytes | bytearray | memoryview):
            return bytes(self.body), headers | {"Content-Type": BINARY}
        text = json.dumps(self.body, separators=(",", ":"), allow_nan=False)
        return text.encode(), headers | {"Content-Type": JSON}

    @property
    def target(self) -> str:
        """The path with the query."""
        return self.path + (f"?{urlencode(self.query)}" if self.query else "")


@dataclass(frozen=True)
class Response:
    """A response: the status, the headers with lowercase names, and the body."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        """Return the body as a JSON value; None if it is empty."""
        return json.loads(self.body) if self.body else None


class Service:
    """A service as a client knows it: its address, the key, and whether it has ever answered.

    Parameters
    ----------
    url
        The address of the service; a path in it is prepended to every path.
    key
        The API key, sent as a bearer token.
    timeout
        The seconds that one attempt may take, or the next piece of an export.
    patience
        Seconds after which no further attempt is made; 0 for a single attempt. None means 30 seconds, but 3 while the
        service cannot be reached and has never answered.
    """

    def __init__(self, url: str, key: str | None = None, timeout: float = 10.0, patience: float | None = None) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"url is {url!r}; expected something like http://127.0.0.1:8765.")
        if parts.username or parts.query or parts.fragment:
            raise ValueError("url contains more than a scheme, a host, a port and a path; pass the key as `key`.")
        self.secure, self.host, self.port = parts.scheme == "https", parts.hostname, parts.port
        self.netloc, self.prefix = parts.netloc, parts.path.rstrip("/")
        self.url = f"{parts.scheme}://{parts.netloc}{self.prefix}"
        self.timeout = number(timeout, "timeout", above=0.0)
        self.headers = {} if key is None else {"Authorization": f"Bearer {key}"}
        self.answered = False
        self._patience = None if patience is None else number(patience, "patience", least=0.0)

    def patience(self, answered: bool) -> float:
        """Return how many seconds to retry, depending on whether the service has ever answered."""
        if self._patience is not None:
            return self._patience
        return PATIENCE if answered else FIRST_PATIENCE


class Attempts:
    """The attempts to send one request: after each, the seconds to wait before the next, or the error to raise."""

    def __init__(self, service: Service, request: Request) -> None:
        self._service = service
        self._request = request
        self._start = time.monotonic()
        self._pause, self._silent = FIRST_PAUSE, True

    def answered(self, answer: Response) -> float | None:
        """Return the seconds to wait after a response; None if it is the final one."""
        self._service.answered = True
        if answer.status < 400:
            return None
        wait = max(self._wait(), _asked_for(answer))
        # A service may become unavailable in the middle of a request.
        temporary = (429, 503) if self._request.again else (429,)
        waited = time.monotonic() - self._start
        if answer.status not in temporary or waited + wait > self._service.patience(True):
            raise _refusal(answer, self._request)
        return wait

    def failed(self, error: BaseException) -> float:
        """Return the seconds to wait after a failure to get a response."""
        service, wait = self._service, self._wait()
        reason = str(error) or type(error).__name__
        waited, patience = time.monotonic() - self._start, service.patience(service.answered)
        if not self._request.again or waited + wait > patience:
            sent = f"{self._request.method} {self._request.path}"
            raise UnavailableError(
                f"{service.url} did not answer {sent} ({reason}); check that the service runs there."
            ) from error
        if self._silent and waited > SILENCE:
            self._silent = False
            log.warning("%s does not answer (%s); trying again for up to %g s.", service.url, reason, patience)
        return wait

    def _wait(self) -> float:
        pause, self._pause = self._pause, min(2 * self._pause, LONGEST_PAUSE)
        return pause * random.uniform(0.5, 1.0)


def _asked_for(answer: Response) -> float:
    """Return the seconds that the service asks the client to wait, if it gives a number."""
    text = answer.headers.get("retry-after", "")
    return float(text) if text.isdecimal() else 0.0


def _refusal(answer: Response, request: Request) -> ServiceError:
    kind = error_class(answer.status)
    try:
        error = answer.json()["error"]
        message, code, field = str(error["message"]), str(error["code"]), error.get("field")
    except (ValueError, KeyError, TypeError):
        # The response comes not from the service itself, but from something in between.
        sent = f"{request.method} {request.path}"
        message, code, field = f"{sent} was answered with status {answer.status} and no reason.", "", None
    return kind(message, status=answer.status, code=code, field=field, request_id=answer.headers.get("x-request-id"))
