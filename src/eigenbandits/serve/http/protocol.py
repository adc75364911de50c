"""The server's HTTP protocol, with limits on what a caller may send, and how slowly, before a key is checked."""

import asyncio
import json
import logging
from typing import Any

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from eigenbandits.serve.errors import Refusal
from eigenbandits.serve.logs import log_event

# Limits: bytes of a request line with its headers, or of anything else outside a body; headers; bytes of a URL.
LONGEST_HEAD, MOST_HEADERS, LONGEST_URL = 32 * 2**10, 100, 8 * 2**10
# Bytes parsed at a time while headers arrive, so that nothing larger than the limit is ever collected.
_PIECE = 8 * 2**10
_REASONS = {400: "Bad Request", 414: "URI Too Long", 431: "Request Header Fields Too Large"}


def limited(patience: float) -> type[asyncio.Protocol]:
    """Return the protocol of a server whose callers have `patience` seconds for each part of a request.

    These parts are the headers, timed from the connection or the first byte, and the rest of a body that will not be
    read, timed from the response. Without these limits, anyone could hold all connections or fill the memory, without a
    key.
    """

    class LimitedProtocol(HttpToolsProtocol):
        _timer: asyncio.TimerHandle | None = None
        # The parser's position: between two requests ("idle"), in the headers ("head") or in the "body".
        _place = "idle"
        # Bytes since the last progress: the end of the headers, a piece of the body, the end of the request.
        _unread = 0
        _head = 0
        _refusal: Refusal | None = None

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._close_after(patience)

        def connection_lost(self, exc: Exception | None) -> None:
            self._stop_timer()
            super().connection_lost(exc)

        def data_received(self, data: bytes) -> None:
            self._unset_keepalive_if_required()
            while data and not self.transport.is_closing():
                piece = data if self._place == "body" else data[:_PIECE]
                data = data[len(piece) :]
                self._unread += len(piece)
                try:
                    self.parser.feed_data(piece)
                    if self._unread > LONGEST_HEAD:
                        raise _too_long()
                except httptools.HttpParserUpgrade:
                    self._unsupported_upgrade_warning()
                except (httptools.HttpParserError, Refusal) as error:
                    refusal = error if isinstance(error, Refusal) else self._refusal
                    self._refuse(refusal or Refusal(400, "invalid_http", "This is not an HTTP request."))

        def on_message_begin(self) -> None:
            self._place, self._unread, self._head = "head", 0, 0
            self._close_after(patience)
            super().on_message_begin()

        def on_url(self, url: bytes) -> None:
            if len(self.url) + len(url) > LONGEST_URL:
                self._refusal = Refusal(414, "url_too_long", f"The URL is longer than {LONGEST_URL} bytes.")
                raise self._refusal
            super().on_url(url)

        def on_header(self, name: bytes, value: bytes) -> None:
            # Trailers, after a chunked body, are passed here, too.
            self._head += len(name) + len(value)
            if self._head > LONGEST_HEAD or len(self.headers) >= MOST_HEADERS:
                self._refusal = _too_long()
                raise self._refusal
            super().on_header(name, value)

        def on_headers_complete(self) -> None:
            self._place, self._unread = "body", 0
            self._stop_timer()
            super().on_headers_complete()

        def on_body(self, body: bytes) -> None:
            self._unread = 0
            super().on_body(body)

        def on_message_complete(self) -> None:
            self._place, self._unread = "idle", 0
            super().on_message_complete()
            self._wait_for_the_next()

        def on_response_complete(self) -> None:
            super().on_response_complete()
            self._wait_for_the_next()

        def _wait_for_the_next(self) -> None:
            """After a response, limit the time until the next request; single bytes do not extend it."""
            if self.cycle is None or not self.cycle.response_complete:
                return
            if self._place == "body":
                # The rest of the body is discarded. Closing at once could cost the caller the response.
                self._close_after(patience)
            elif self._place == "idle":
                self._close_after(self.timeout_keep_alive)

        def _refuse(self, refusal: Refusal) -> None:
            log_event("request refused", logging.DEBUG, status=refusal.status, reason=refusal.message)
            content = json.dumps(refusal.body()).encode()
            head = f"HTTP/1.1 {refusal.status} {_REASONS[refusal.status]}\r\ncontent-type: application/json\r\n"
            head += f"content-length: {len(content)}\r\nconnection: close\r\n\r\n"
            # Nothing may be written in the middle of another response.
            if self.cycle is None or self.cycle.response_complete or not self.cycle.response_started:
                self.transport.write(head.encode() + content)
            self.transport.close()

        def _close_after(self, seconds: float) -> None:
            self._stop_timer()
            self._timer = self.loop.call_later(seconds, self.transport.close)

        def _stop_timer(self) -> None:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None

    return LimitedProtocol


def _too_long() -> Refusal:
    message = f"The headers exceed {LONGEST_HEAD} bytes, or there are more than {MOST_HEADERS} of them."
    return Refusal(431, "headers_too_long", message)
