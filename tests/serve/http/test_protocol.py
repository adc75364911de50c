"""The HTTP protocol: headers without end, long URLs, bodies that drip in; all of it before anyone has shown a key."""

from __future__ import annotations

import json
import resource
import socket
import time
from pathlib import Path

import httpx
import pytest

from eigenbandits.serve import Settings, running


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    settings = Settings(folder=tmp_path_factory.mktemp("data"), port=0, request_timeout=0.5)
    with running(settings) as server:
        yield server


@pytest.fixture(scope="module")
def patient_server(tmp_path_factory):
    with running(Settings(folder=tmp_path_factory.mktemp("data"), port=0, request_timeout=60.0)) as server:
        yield server


def connect(server) -> socket.socket:
    host, port = server.url.removeprefix("http://").split(":")
    return socket.create_connection((host, int(port)), timeout=20)


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def flood(connection, start: bytes, piece: bytes, most: int) -> int:
    """Send pieces until the server closes the connection; return how many bytes it has taken."""
    sent = len(start)
    try:
        connection.sendall(start)
        while sent < most:
            connection.sendall(piece)
            sent += len(piece)
    except (BrokenPipeError, ConnectionResetError):
        pass
    return sent


@pytest.mark.parametrize(
    ("start", "piece"),
    [
        (b"GET /health HTTP/1.1\r\nHost: localhost\r\n", b"X-A: bcd\r\n" * 5000),
        (b"GET /health HTTP/1.1\r\nHost: localhost\r\nX-Long: ", b"a" * 50_000),
        (b"GET /", b"a" * 50_000),
        (b"", b"a" * 50_000),
        (
            b"POST /v1/empty HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n",
            b"X-A: b\r\n" * 5000,
        ),
        (
            b"POST /v1/empty HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX-Long: ",
            b"a" * 50_000,
        ),
    ],
    ids=["headers", "header", "url", "method", "trailers", "trailer"],
)
def test_what_has_no_end_is_cut_off_early(patient_server, start, piece):
    with connect(patient_server) as connection:
        before = resident()
        # Some 5 MB may wait in the buffers of the operating system.
        assert flood(connection, start, piece, 40_000_000) < 20_000_000
        assert resident() - before < 20_000_000
    assert httpx.get(patient_server.url + "/health").status_code == 200


def answer(server, request: bytes) -> tuple[bytes, dict]:
    with connect(server) as connection:
        connection.sendall(request)
        received = b""
        while part := connection.recv(65536):
            received += part
        head, _, body = received.partition(b"\r\n\r\n")
        return head.partition(b"\r\n")[0], json.loads(body)["error"]


def test_the_refusal_says_what_was_too_long(server):
    many = b"".join(b"X-%d: a\r\n" % i for i in range(101))
    line, error = answer(server, b"GET /health HTTP/1.1\r\n" + many + b"\r\n")
    assert line == b"HTTP/1.1 431 Request Header Fields Too Large"
    assert error["code"] == "headers_too_long"
    assert "32768 bytes" in error["message"]
    line, error = answer(server, b"GET /" + b"a" * 8192 + b" HTTP/1.1\r\n\r\n")
    assert (line, error["code"]) == (b"HTTP/1.1 414 URI Too Long", "url_too_long")
    line, error = answer(server, b"GET / HTTP/1.1\r\nno colon\r\n\r\n")
    assert (line, error["code"]) == (b"HTTP/1.1 400 Bad Request", "invalid_http")


def test_headers_below_the_limit_pass(server):
    headers = {f"x-{i}": "a" * 300 for i in range(90)}
    assert httpx.get(server.url + "/health", headers=headers).status_code == 200
    assert httpx.get(server.url + "/v1/catalogues/" + "a" * 8000).status_code == 404


def drips(connection, seconds: float) -> float:
    """Send a byte now and then until the server closes the connection or the time is over; return how long it took."""
    begun = time.monotonic()
    try:
        while time.monotonic() - begun < seconds:
            connection.sendall(b"x")
            time.sleep(0.05)
    except (BrokenPipeError, ConnectionResetError):
        return time.monotonic() - begun
    return seconds


@pytest.mark.parametrize(
    "start",
    [
        b"POST /v1/policies HTTP/1.1\r\nHost: elsewhere.example\r\nContent-Length: 4000\r\n\r\n",
        b"GET /health HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4000\r\n\r\n",
        b"GET /health HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n1;",
        b"GET /health HTTP/1.1\r\nHost: localhost\r\n",
    ],
    ids=["refused", "open", "chunk", "headers"],
)
def test_a_request_that_drips_in_loses_its_connection(server, start):
    with connect(server) as connection:
        connection.sendall(start)
        assert drips(connection, 15.0) < 15.0


def test_several_requests_in_one_piece_are_all_answered(server):
    with connect(server) as connection:
        one = b"POST /v1/empty HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\nabc"
        last = b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        connection.sendall(one * 3 + last)
        received = b""
        while part := connection.recv(65536):
            received += part
        assert received.count(b"HTTP/1.1 200 OK") == 4
