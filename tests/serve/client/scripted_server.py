"""A service that says what a test has written down for it, answer by answer, and keeps what it was asked."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import BinaryIO

CLOSE = b""  # in place of an answer: hang up


@dataclass
class Scripted:
    """The answers still to come, and the requests that came."""

    answers: list[bytes]
    url: str = ""
    asked: list[tuple[str, dict[str, str], bytes]] = field(default_factory=list)
    connections: int = 0


def answer(status: int, body: bytes = b"{}", *, headers: str = "") -> bytes:
    """Return the bytes of an answer that keeps the connection open."""
    return f"HTTP/1.1 {status} X\r\nContent-Length: {len(body)}\r\n{headers}\r\n".encode() + body


def _read(stream: BinaryIO) -> tuple[str, dict[str, str], bytes] | None:
    line = stream.readline()
    if not line:
        return None
    headers: dict[str, str] = {}
    while (text := stream.readline().strip()) != b"":
        name, _, value = text.decode().partition(":")
        headers[name.lower()] = value.strip()
    body = stream.read(int(headers.get("content-length", 0)))
    return line.decode().strip(), headers, body


@contextmanager
def scripted(*answers: bytes) -> Iterator[Scripted]:
    """Listen on a free port of this machine, one connection at a time."""
    made = Scripted(list(answers))
    listener = socket.create_server(("127.0.0.1", 0))
    current: list[socket.socket] = []
    made.url = f"http://127.0.0.1:{listener.getsockname()[1]}"

    def serve() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            made.connections += 1
            current.append(connection)
            # A client that has read enough may hang up.
            with suppress(ConnectionError), connection, connection.makefile("rb") as stream:
                while (request := _read(stream)) is not None:
                    made.asked.append(request)
                    said = made.answers.pop(0) if made.answers else CLOSE
                    if said == CLOSE:
                        break
                    connection.sendall(said)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield made
    finally:
        # Closing alone wakes neither accept() nor a read, on Linux.
        for one in (listener, *current[-1:]):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join(10)
