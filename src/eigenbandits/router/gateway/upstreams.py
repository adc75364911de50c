"""The servers behind the gateway: retries and rests, what an answer has cost, and how a stream is passed on."""

import asyncio
import json
import os
import time
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

import httpx

from eigenbandits.router.gateway.config import UpstreamConfig
from eigenbandits.router.models import Model

# A line of a stream that is longer holds no usage that anyone would look for.
LONGEST_LINE = 1_000_000

# Statuses that say nothing about the request: the server is busy, or down.
UNAVAILABLE = frozenset((408, 429, 500, 502, 503, 504))
# What a connection that breaks raises. httpx covers most of it, but if a server dies while a connection to it is being
# opened, anyio looks for a socket that is gone, and its AttributeError gets through.
BROKEN = (httpx.HTTPError, OSError, AttributeError)
# Seconds before the second attempt at a server; doubled for each further one.
PAUSE = 0.05
# A server that has failed so often in a row is left alone for some seconds, twice as long each time.
FAILURES, SHORTEST_REST, LONGEST_REST = 3, 1.0, 60.0


class UpstreamError(Exception):
    """A server did not answer."""


class Upstream:
    """A server that answers for a model.

    Parameters
    ----------
    config
        Its settings.
    client
        What requests are sent with.
    """

    def __init__(self, config: UpstreamConfig, client: httpx.AsyncClient) -> None:
        self.config, self.client = config, client
        self.failures = 0
        self.rests_until = 0.0

    @property
    def rests(self) -> bool:
        """Whether the server has failed too often to be asked now."""
        return time.monotonic() < self.rests_until

    async def open(self, body: Mapping[str, Any]) -> httpx.Response:
        """Send a chat request, and return the response once its head is there; it must be closed.

        Raises
        ------
        UpstreamError
            If all attempts failed.
        """
        key = "" if self.config.key_env is None else os.environ[self.config.key_env]
        headers = {"authorization": f"Bearer {key}"} if key else {}
        sent = {**body, "model": self.config.upstream or self.config.name}
        reason = ""
        for attempt in range(1 + self.config.retries):
            if attempt:
                await asyncio.sleep(PAUSE * 2 ** (attempt - 1))
            request = self.client.build_request(
                "POST",
                f"{self.config.url.rstrip('/')}/chat/completions",
                json=sent,
                headers=headers,
                timeout=self.config.timeout,
            )
            try:
                response = await self.client.send(request, stream=True)
            except BROKEN as error:
                reason = f"{type(error).__name__} {error}".strip()
                continue
            if response.status_code not in UNAVAILABLE:
                return response
            reason = f"status {response.status_code}"
            await response.aclose()
        self.failed()
        raise UpstreamError(f"{self.config.name}: {reason}")

    def failed(self) -> None:
        """Record that the server did not answer."""
        self.failures += 1
        if self.failures >= FAILURES:
            rest = min(SHORTEST_REST * 2.0 ** (self.failures - FAILURES), LONGEST_REST)
            self.rests_until = time.monotonic() + rest

    def answered(self) -> None:
        """Record that the server answered."""
        self.failures, self.rests_until = 0, 0.0


def cost_of(usage: Any, model: Model) -> float | None:
    """Return the dollars that an answer has cost, by its tokens and the model's price; None if either is unknown.

    Examples
    --------
    >>> cost_of({"prompt_tokens": 100, "completion_tokens": 50}, Model("large", price=(2.0, 8.0)))
    0.0006
    """
    if not isinstance(usage, Mapping) or model.price is None:
        return None
    counts = [usage.get("prompt_tokens"), usage.get("completion_tokens")]
    if not all(isinstance(count, int) and count >= 0 for count in counts):
        return None
    assert isinstance(model.price, tuple)
    return float(sum(count * price for count, price in zip(counts, model.price, strict=True)) / 1e6)


async def passed_on(
    first: bytes, parts: AsyncIterator[bytes], done: Callable[[Any], None], broken: Callable[[], None]
) -> AsyncIterator[bytes]:
    """Yield a streamed answer as it comes; `done` gets its usage, or None, and `broken` is called if it breaks off.

    Parameters
    ----------
    first, parts
        The first bytes, and the others.
    done, broken
        What is called at the end.
    """
    usage, rest = None, b""
    ended = False
    try:
        part = first
        while True:
            yield part
            *lines, rest = (rest + part).split(b"\n")
            for line in lines:
                usage = _usage(line) or usage
            rest = rest[-LONGEST_LINE:]
            part = await anext(parts)
    except StopAsyncIteration:
        ended = True
        done(_usage(rest) or usage)
    except BROKEN as error:
        ended = True
        broken()
        message = {"error": {"message": f"the model's answer broke off: {type(error).__name__}", "type": "upstream"}}
        yield b"\n\ndata: " + json.dumps(message).encode() + b"\n\n"
    finally:
        if not ended:  # the client has gone
            done(usage)


def _usage(line: bytes) -> Any:
    if not line.startswith(b"data:") or b'"usage"' not in line:
        return None
    try:
        return json.loads(line[5:]).get("usage")
    except (ValueError, AttributeError):
        return None
