"""Limits: sizes of bodies and of what is in them, rates, crowds, and callers that are too slow."""

from __future__ import annotations

import asyncio
import socket
import time

import httpx
import numpy as np
from starlette.requests import Request
from tests.serve.bodies import code, create, decide

from eigenbandits.serve import Settings, running
from eigenbandits.serve.http.endpoint import read_body

ACTIONS = np.random.default_rng(0).standard_normal((3, 4))


def test_bodies_over_the_limit(tmp_path):
    settings = Settings(folder=tmp_path, port=0, max_body_bytes=2000, max_catalogue_bytes=4000)
    with running(settings) as server, httpx.Client(base_url=server.url) as client:
        create(client)
        large = b'{"actions": [[' + b"1," * 1500 + b"1]]}"
        headers = {"content-type": "application/json"}
        for path in ("/v1/policies/p/decide", "/v1/policies", "/v1/policies/p/reward/batch"):
            assert code(client.post(path, content=large, headers=headers)) == (413, "body_too_large")
            # Without a length in front, the body is cut off where the limit is.
            pieces = (large[i : i + 500] for i in range(0, len(large), 500))
            assert code(client.post(path, content=pieces, headers=headers)) == (413, "body_too_large")
        assert code(client.put("/v1/catalogues/c", content=large, headers=headers)) == (400, "invalid_request")
        assert code(client.put("/v1/catalogues/c", content=2 * large, headers=headers)) == (413, "body_too_large")


def test_a_body_that_never_comes_is_given_up(tmp_path):
    with running(Settings(folder=tmp_path, port=0, request_timeout=0.3)) as server:
        host, port = server.url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), timeout=20) as connection:
            connection.sendall(
                b"POST /v1/policies HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                b"Content-Length: 100\r\n\r\n{"
            )
            assert connection.recv(100).startswith(b"HTTP/1.1 503")


def test_limits_on_sizes(tmp_path):
    settings = Settings(folder=tmp_path, port=0, max_actions=3, max_dim=4, max_policies=1, max_batch=2, max_items=3)
    with running(settings) as server, httpx.Client(base_url=server.url) as client:
        create(client)
        assert code(create(client, "q")) == (409, "too_many_policies")
        assert code(decide(client, np.ones((4, 4)))) == (400, "too_many_actions")
        assert code(decide(client, np.ones((1, 5)))) == (400, "too_many_dimensions")
        two = {"requests": [{"actions": [[1.0]]}] * 3}
        assert code(client.post("/v1/policies/p/decide/batch", json=two)) == (400, "invalid_request")
        body = {"ids": list("abcd"), "vectors": np.ones((4, 2)).tolist(), "center": "none"}
        assert code(client.put("/v1/catalogues/c", json=body)) == (400, "too_many_actions")
        body = {"ids": list("abc"), "vectors": np.ones((3, 2)).tolist(), "center": "none"}
        assert client.put("/v1/catalogues/c", json=body).status_code == 201
        body = {"ids": ["d"], "vectors": [[1.0, 2.0]]}
        assert code(client.post("/v1/catalogues/c/items", json=body)) == (409, "too_many_items")


def test_the_rate_is_kept_for_each_key(tmp_path):
    with running(Settings(folder=tmp_path, port=0, rate=5.0)) as server, httpx.Client(base_url=server.url) as client:
        answers = [client.get("/v1/policies") for _ in range(30)]
        refused = [answer for answer in answers if answer.status_code == 429]
        assert len(refused) >= 10
        assert code(refused[0]) == (429, "too_many_requests")
        assert int(refused[0].headers["retry-after"]) >= 1
        assert client.get("/health").status_code == 200
        time.sleep(0.5)
        assert client.get("/v1/policies").status_code == 200


def test_a_crowd_that_is_too_large_is_told_to_come_again(service):
    create(service)
    service.server.writer.settings.__dict__["max_waiting"] = 0
    answer = decide(service, ACTIONS)
    assert code(answer) == (503, "unavailable")
    assert answer.headers["retry-after"] == "1"


def test_connections_that_say_nothing_are_closed(tmp_path):
    settings = Settings(folder=tmp_path, port=0, request_timeout=0.5, max_connections=3)
    with running(settings) as server:
        host, port = server.url.removeprefix("http://").split(":")
        silent = [socket.create_connection((host, int(port)), timeout=20) for _ in range(4)]
        silent[0].sendall(b"GET /health HTTP/1.1\r\nHost: loc")
        for connection in silent:
            assert connection.recv(100) == b""
            connection.close()
        assert httpx.get(server.url + "/health").status_code == 200


def test_no_large_body_where_none_is_wanted(service):
    large = b"x" * 100_000
    for method, path in [("POST", "/health"), ("GET", "/v1/catalogues/x"), ("DELETE", "/v1/policies/p"), ("PUT", "/")]:
        assert code(service.request(method, path, content=large)) == (413, "body_too_large")


def test_a_body_in_many_pieces_is_put_together_as_it_arrives():
    """At the end nothing is left to be joined, in one step that would keep all others waiting."""
    alive, most = 0, 0

    class Piece(bytes):
        def __init__(self, _):
            nonlocal alive, most
            alive += 1
            most = max(most, alive)

        def __del__(self):
            nonlocal alive
            alive -= 1

    left = iter(range(200))

    async def receive():
        i = next(left)
        return {"type": "http.request", "body": Piece(bytes([i]) * 100), "more_body": i < 199}

    assert asyncio.run(read_body(Request({"type": "http"}, receive))) == b"".join(bytes([i]) * 100 for i in range(200))
    assert most <= 2
