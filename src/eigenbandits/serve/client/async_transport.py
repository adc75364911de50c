"""The same requests from an event loop: HTTP/1.1 on asyncio streams."""

from __future__ import annotations

import asyncio
import ssl
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from http.client import HTTPException
from typing import BinaryIO

from eigenbandits.serve.client.exchange import FAILURES, Attempts, Request, Response, Service

# The maximum length of a line of a response, and of all of its headers together.
_LIMIT = 2**16


class Connection:
    """One connection to the service; the headers of a response determine where it ends."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    async def open(cls, service: Service) -> Connection:
        """Connect."""
        port = service.port or (443 if service.secure else 80)
        context = ssl.create_default_context() if service.secure else None
        return cls(*await asyncio.open_connection(service.host, port, ssl=context, limit=_LIMIT))

    async def exchange(
        self, head: bytes, content: bytes, file_for: Callable[[int], BinaryIO | None], progress: Callable[[], None]
    ) -> tuple[Response, bool]:
        """Send a request; return the response, and whether the connection can be reused.

        `file_for` returns the file for the body, if there is one, and `progress` is called for each piece in it.
        """
        # Sent while waiting for the response: a body that is too large is refused before all of it has arrived.
        self._writer.write(head + content)
        version, status, headers = await self._head()
        while status < 200:  # the actual response follows
            version, status, headers = await self._head()
        file = file_for(status)
        if file is None:
            body, whole = await self._body(status, headers)
        else:
            body, whole = b"", True
            async for part in self._parts(headers):
                file.write(part)
                progress()
        closing = "close" in headers.get("connection", "").lower() or version != "HTTP/1.1"
        return Response(status, headers, body), whole and not closing

    async def _head(self) -> tuple[str, int, dict[str, str]]:
        """Return the version, status and headers of a response."""
        try:
            head = await self._reader.readuntil(b"\r\n\r\n")
        except asyncio.IncompleteReadError as error:
            raise ConnectionResetError("the connection was closed without a response") from error
        except asyncio.LimitOverrunError as error:
            raise HTTPException("the headers of the response have no end") from error
        first, *lines = head.decode("latin-1").rstrip("\r\n").split("\r\n")
        parts = first.split(None, 2)
        if len(parts) < 2 or not parts[0].startswith("HTTP/") or not parts[1].isdecimal():
            raise HTTPException(f"the response begins with {first[:60]!r}, which is not HTTP")
        pairs = (line.partition(":") for line in lines)
        return parts[0], int(parts[1]), {name.strip().lower(): value.strip() for name, _, value in pairs}

    async def _body(self, status: int, headers: dict[str, str]) -> tuple[bytes, bool]:
        """Return the body, and whether it ended before the connection did."""
        if status in (204, 304):
            return b"", True
        if "chunked" in headers.get("transfer-encoding", "").lower() or "content-length" in headers:
            return b"".join([part async for part in self._parts(headers)]), True
        return await self._reader.read(), False

    async def _parts(self, headers: dict[str, str]) -> AsyncIterator[bytes]:
        """Yield the parts of a body whose end the headers or the chunks determine."""
        if "chunked" not in headers.get("transfer-encoding", "").lower():
            yield await self._reader.readexactly(int(headers.get("content-length", 0)))
            return
        while size := int((await self._reader.readline()).partition(b";")[0], 16):
            yield await self._reader.readexactly(size)
            await self._reader.readline()
        while (await self._reader.readline()).strip():  # trailers may follow
            pass

    def close(self) -> None:
        """Close the connection without waiting for the other side."""
        self._writer.close()


class AsyncTransport:
    """Sends requests to one service from one event loop, with as many at a time as there are tasks."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self._idle: deque[Connection] = deque()

    async def send(self, request: Request) -> Response:
        """Send a request until it is answered; return the response or raise its error."""
        body, headers = request.content()
        attempts = Attempts(self.service, request)
        headers |= self.service.headers | {"Host": self.service.netloc}
        if body is not None or request.method in ("POST", "PUT", "PATCH"):
            headers["Content-Length"] = str(len(body or b""))
        lines = [f"{request.method} {self.service.prefix}{request.target} HTTP/1.1"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        head = ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")
        while True:
            try:
                async with asyncio.timeout(self.service.timeout) as limit:
                    answer = await self._attempt(head, body or b"", request, limit)
            except (*FAILURES, ValueError) as error:
                wait: float | None = attempts.failed(error)
            else:
                wait = attempts.answered(answer)
            if wait is None:
                return answer
            await asyncio.sleep(wait)

    async def _attempt(self, head: bytes, content: bytes, request: Request, limit: asyncio.Timeout) -> Response:
        # As in `Transport`: the service may have closed an idle connection.
        if request.again and self._idle:
            with suppress(ConnectionError):
                return await self._exchange(self._idle.pop(), head, content, request, limit)
        return await self._exchange(await Connection.open(self.service), head, content, request, limit)

    async def _exchange(
        self, connection: Connection, head: bytes, content: bytes, request: Request, limit: asyncio.Timeout
    ) -> Response:
        def progress() -> None:
            limit.reschedule(asyncio.get_running_loop().time() + self.service.timeout)

        try:
            answer, usable = await connection.exchange(head, content, request.file_for, progress)
        except BaseException:
            connection.close()
            raise
        if usable:
            self._idle.append(connection)
        else:
            connection.close()
        return answer

    def close(self) -> None:
        """Close the connections that are not in use."""
        while self._idle:
            self._idle.pop().close()
