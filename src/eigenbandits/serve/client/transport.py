"""Requests over HTTP with persistent connections, from any number of threads, using only the standard library."""

import shutil
import time
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from http.client import HTTPConnection, HTTPSConnection, IncompleteRead

from eigenbandits.serve.client.exchange import FAILURES, Attempts, Request, Response, Service

# Bytes of a body that are written to a file at a time.
_PIECE = 2**20


class Transport:
    """Sends requests to one service and waits for the responses."""

    def __init__(self, service: Service) -> None:
        self.service = service
        # Appending to and popping from a deque are atomic, so no lock is needed.
        self._idle: deque[HTTPConnection] = deque()

    def send(self, request: Request) -> Response:
        """Send a request until it is answered; return the response or raise its error."""
        content, headers = request.content()
        attempts = Attempts(self.service, request)
        while True:
            try:
                answer = self._attempt(request, content, headers | self.service.headers)
            except FAILURES as error:
                wait: float | None = attempts.failed(error)
            else:
                wait = attempts.answered(answer)
            if wait is None:
                return answer
            time.sleep(wait)

    def _attempt(self, request: Request, content: bytes | None, headers: Mapping[str, str]) -> Response:
        # The service may have closed an idle connection, which becomes apparent only when it is used; a request that
        # must not arrive twice gets a new connection.
        if request.again and self._idle:
            with suppress(ConnectionError):
                return self._exchange(self._idle.pop(), request, content, headers)
        return self._exchange(self._connect(), request, content, headers)

    def _connect(self) -> HTTPConnection:
        service = self.service
        kind = HTTPSConnection if service.secure else HTTPConnection
        return kind(service.host, service.port, timeout=service.timeout)

    def _exchange(
        self, connection: HTTPConnection, request: Request, content: bytes | None, headers: Mapping[str, str]
    ) -> Response:
        try:
            # Here, so that a reset while connecting is not taken for an early answer.
            if connection.sock is None:
                connection.connect()
            # A body that is too large is refused before all of it is sent: the response can be read.
            with suppress(BrokenPipeError, ConnectionResetError):
                connection.request(request.method, self.service.prefix + request.target, content, dict(headers))
            response = connection.getresponse()
            body, file = b"", request.file_for(response.status)
            if file is None:
                body = response.read()
            else:
                shutil.copyfileobj(response, file, _PIECE)
                if response.length:
                    raise IncompleteRead(b"", response.length)
            answer = Response(response.status, {name.lower(): value for name, value in response.getheaders()}, body)
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
