"""The door: every request gets its id, its key and its limits checked here, and the frequent ones their answer."""

from __future__ import annotations

import asyncio
import ipaddress
import itertools
import json
import logging
import secrets
import time
from collections.abc import Awaitable, Callable, MutableMapping
from functools import lru_cache
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from eigenbandits.serve.asking import Asking
from eigenbandits.serve.engine import Engine
from eigenbandits.serve.errors import Refusal, internal, unavailable
from eigenbandits.serve.limits import RateLimit
from eigenbandits.serve.logs import tell

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]
Handler = Callable[[str, str, dict[str, str], bytes], Awaitable[bytes]]

_OPEN = ("/health", "/ready", "/", "/openapi.json", "/favicon.ico")
# Bytes of a body that are put up with where none is wanted.
_NO_BODY = 4096
_ONLY_ADMIN_READS = ("/export", "/snapshot")


def scope_for(method: str, path: str, open_metrics: bool) -> str | None:
    """Return what a key must allow for a request: "" is open to all, None is satisfied with any key."""
    if path in _OPEN or path.startswith("/page/") or (open_metrics and path == "/metrics"):
        return ""
    if method == "POST" and path.startswith("/v1/policies/"):
        for word in ("decide", "reward"):
            if path.endswith((f"/{word}", f"/{word}/batch")):
                return word
    if path == "/v1/empty":
        return None
    reads = method in ("GET", "HEAD") and not path.startswith("/v1/keys") and not path.endswith(_ONLY_ADMIN_READS)
    return None if reads else "admin"


class Front:
    """An ASGI application in front of the FastAPI one.

    Deciding and rewarding are answered right here: routing, dependencies and models would take longer than the
    decision. They are declared to FastAPI too, for the OpenAPI document.
    """

    def __init__(self, engine: Engine, behind: App, close: Callable[[], None]) -> None:
        self.close = close
        self._engine = engine
        self._settings = engine.settings
        self._behind = behind
        self._limit = RateLimit(engine.settings.rate)
        asking = Asking(engine)
        self.handlers: dict[str, Handler] = {
            "decide": asking.decide,
            "decide/batch": asking.decide_batch,
            "reward": asking.reward,
            "reward/batch": asking.reward_batch,
        }
        self._boot = secrets.token_hex(4)
        self._count = itertools.count(1)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._behind(scope, receive, send)
            return
        begun = time.perf_counter()
        answer = _Answer(send, f"{self._boot}-{next(self._count):x}")
        path, method = scope["path"], scope["method"]
        endpoint, name = "other", ""
        try:
            headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
            needs = self._admit(method, path, headers)
            body = await self._body(self._most(method, path, needs), headers, receive)
            handler, name = self._hot(method, path)
            if handler is not None:
                endpoint = path.split("/", 4)[4]
                media = headers.get(b"content-type", "").partition(";")[0].strip().lower()
                query = (
                    dict(parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True))
                    if scope["query_string"]
                    else {}
                )
                await answer.json(200, await handler(name, media, query, body))
            elif path == "/v1/empty" and method == "POST":
                endpoint = "empty"
                await answer.json(200, b"{}")
            else:
                await self._behind(scope, _again(body, receive), answer.send)
        except Refusal as refusal:
            await answer.refuse(refusal)
        except asyncio.CancelledError:
            raise
        except Exception:
            tell("a request failed", logging.ERROR, trace=True, request=answer.id, method=method)
            await answer.refuse(internal())
        seconds = time.perf_counter() - begun
        self._engine.metrics.count_request(endpoint, answer.status, seconds, begun, name)
        if answer.status >= 500 or logger_wants(answer.status):
            tell(
                "request",
                logging.WARNING if answer.status >= 500 else logging.DEBUG,
                request=answer.id,
                method=method,
                path=path[:200],
                status=answer.status,
                milliseconds=round(1000.0 * seconds, 2),
            )

    def _hot(self, method: str, path: str) -> tuple[Handler | None, str]:
        if method != "POST" or not path.startswith("/v1/policies/"):
            return None, ""
        name, _, rest = path[len("/v1/policies/") :].partition("/")
        return self.handlers.get(rest), name

    def _admit(self, method: str, path: str, headers: dict[bytes, str]) -> str | None:
        """Check who asks, whether they may, and how often they came; return the scope that was needed."""
        scope = scope_for(method, path, self._settings.open_metrics)
        if self._engine.keys.open:
            _from_this_machine(headers)
        if scope != "":
            caller = self._engine.keys.check(headers.get(b"authorization"), scope)
            self._limit.take(caller, time.monotonic())
        return scope

    def _most(self, method: str, path: str, scope: str | None) -> int:
        """Return how large the body of a request may be: where none is wanted, next to nothing."""
        if scope == "" or method not in ("POST", "PUT"):
            return _NO_BODY
        large = scope == "admin" and path.startswith("/v1/catalogues/")
        return self._settings.max_catalogue_bytes if large else self._settings.max_body_bytes

    async def _body(self, most: int, headers: dict[bytes, str], receive: Receive) -> bytes:
        length = headers.get(b"content-length", "0")
        if not length.isdecimal() or int(length[:20]) > most:
            raise _too_large(most)
        chunks: list[bytes] = []
        size, more = 0, True
        # A large body may take longer, but a caller must keep at it: so many bytes in so many seconds.
        patience = self._settings.request_timeout * (1.0 + int(length[:20]) / self._settings.max_body_bytes)
        try:
            async with asyncio.timeout(patience):
                while more:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise Refusal(400, "invalid_request", "The connection ended before the body did.")
                    chunks.append(message.get("body", b""))
                    size, more = size + len(chunks[-1]), message.get("more_body", False)
                    if size > most:
                        raise _too_large(most)
        except TimeoutError:
            raise unavailable("the body of the request did not arrive in time") from None
        return chunks[0] if len(chunks) == 1 else b"".join(chunks)


def logger_wants(status: int) -> bool:
    """Return whether an answer is worth a line at the level that is set: all of them when debugging."""
    return logging.getLogger("eigenbandits.serve").isEnabledFor(logging.DEBUG)


class _Answer:
    """The way back to the caller: puts the request's id on every answer and notes the status."""

    def __init__(self, send: Send, id_: str) -> None:
        self._send = send
        self.id = id_
        self.status = 0

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            message["headers"] = [*message["headers"], (b"x-request-id", self.id.encode())]
        await self._send(message)

    async def json(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        pairs = [
            (b"content-type", b"application/json"),
            (b"content-length", str(len(body)).encode()),
            *((name.encode(), value.encode()) for name, value in (headers or {}).items()),
        ]
        await self.send({"type": "http.response.start", "status": status, "headers": pairs})
        await self._send({"type": "http.response.body", "body": body})

    async def refuse(self, refusal: Refusal) -> None:
        if self.status == 0:
            await self.json(refusal.status, json.dumps(refusal.body()).encode(), refusal.headers())


def _again(body: bytes, receive: Receive) -> Receive:
    """Give a body that was read already to whom reads it next."""
    given = False

    async def next_message() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return next_message


def _too_large(most: int) -> Refusal:
    return Refusal(413, "body_too_large", f"The body is too large; this service takes at most {most} bytes here.")


def _from_this_machine(headers: dict[bytes, str]) -> None:
    """Refuse what a web page elsewhere sends through a browser on this machine, while no key keeps it out."""
    for name in (b"host", b"origin"):
        value = headers.get(name)
        if value is not None and not _local(value):
            message = "Without keys this service answers only to this machine by its own name; create a key first."
            raise Refusal(403, "not_from_here", message)


@lru_cache(maxsize=256)
def _local(value: str) -> bool:
    try:
        host = urlsplit(value if "//" in value else f"//{value}").hostname or ""
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
