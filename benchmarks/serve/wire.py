"""A light HTTP client for load: many connections in one thread, each of them driven by a generator.

The load generator shares the processor with the service that it measures, so it does as little as it can: sockets and a
selector, requests that were put together beforehand, and no more of an answer is read than its length.
"""

from __future__ import annotations

import heapq
import itertools
import selectors
import socket
import time
from collections.abc import Generator, Iterable
from dataclasses import dataclass

# What a script yields: a request to send, or a moment (of time.perf_counter) to wait for.
Step = bytes | float
Script = Generator[Step, "Answer", None]


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back, and when; nothing but the time after a wait."""

    status: int
    body: bytes
    at: float


def request(path: str, body: bytes, headers: str = "", method: str = "POST") -> bytes:
    """Return the bytes of a request with a JSON body."""
    head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\n{headers}Content-Type: application/json\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


class _Connection:
    """One socket and the script that it carries out."""

    def __init__(self, address: tuple[str, int], script: Script) -> None:
        self.socket = socket.create_connection(address, timeout=30)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.script = script
        self._held = b""

    def read(self) -> Answer | None:
        """Take in what has arrived; return the answer once it is whole."""
        data = self.socket.recv(262_144)
        if not data:
            raise ConnectionError("the service closed a connection under load; its log says why.")
        held = self._held + data if self._held else data
        end = held.find(b"\r\n\r\n")
        if end >= 0:
            place = held.lower().find(b"content-length:", 0, end)
            length = int(held[place + 15 : held.find(b"\r", place)]) if place >= 0 else 0
            if len(held) >= end + 4 + length:
                self._held = b""
                return Answer(int(held[9:12]), held[end + 4 :], time.perf_counter())
        self._held = held
        return None


def play(address: tuple[str, int], scripts: Iterable[Script], limit: float = 60.0) -> None:
    """Carry out all scripts at once, each on a connection of its own, until they end.

    Parameters
    ----------
    address
        Host and port of the service.
    scripts
        Generators that yield requests and are sent the answers.
    limit
        Seconds without any answer after which it is given up.
    """
    selector = selectors.DefaultSelector()
    timers: list[tuple[float, int, _Connection]] = []
    order = itertools.count()
    open_ones = 0

    def go_on(connection: _Connection, answer: Answer | None) -> None:
        nonlocal open_ones
        try:
            step = next(connection.script) if answer is None else connection.script.send(answer)
        except StopIteration:
            selector.unregister(connection.socket)
            connection.socket.close()
            open_ones -= 1
            return
        if isinstance(step, bytes):
            connection.socket.sendall(step)
        else:
            heapq.heappush(timers, (step, next(order), connection))

    try:
        for script in scripts:
            connection = _Connection(address, script)
            selector.register(connection.socket, selectors.EVENT_READ, connection)
            open_ones += 1
            go_on(connection, None)
        while open_ones:
            wait = max(0.0, timers[0][0] - time.perf_counter()) if timers else limit
            events = selector.select(min(wait, limit))
            if not events and not timers:
                raise TimeoutError(f"no answer for {limit:g} seconds under load; see the service's log.")
            for key, _ in events:
                answer = key.data.read()
                if answer is not None:
                    go_on(key.data, answer)
            now = time.perf_counter()
            while timers and timers[0][0] <= now:
                go_on(heapq.heappop(timers)[2], Answer(0, b"", now))
    finally:
        for key in list(selector.get_map().values()):
            key.data.socket.close()
        selector.close()
