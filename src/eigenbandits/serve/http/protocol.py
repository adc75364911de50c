"""The HTTP protocol of the server, with a limit to the time that a caller may take to send the headers."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol


def timed(patience: float) -> type[asyncio.Protocol]:
    """Return the protocol with a limit, in seconds, from the connection or the first byte to the end of the headers.

    Without it anybody could hold all connections open by sending nothing.
    """

    class TimedProtocol(HttpToolsProtocol):
        _limit: asyncio.TimerHandle | None = None

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._wait()

        def connection_lost(self, exc: Exception | None) -> None:
            self._stop_waiting()
            super().connection_lost(exc)

        def on_message_begin(self) -> None:
            self._wait()
            super().on_message_begin()

        def on_headers_complete(self) -> None:
            self._stop_waiting()
            super().on_headers_complete()

        def _wait(self) -> None:
            self._stop_waiting()
            self._limit = self.loop.call_later(patience, self.transport.close)

        def _stop_waiting(self) -> None:
            if self._limit is not None:
                self._limit.cancel()
                self._limit = None

    return TimedProtocol
