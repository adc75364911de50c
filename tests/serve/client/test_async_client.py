"""The client of event loops: the same calls as the client that waits, over a transport of its own."""

import asyncio
import inspect
import json
import socket
import threading
import time

import numpy as np
import pytest
from tests.serve.client.scripted_server import CLOSE, answer, scripted
from tests.serve.client.test_client import DECIDED, LEARNED, MADE, refusal

from eigenbandits.serve.client import (
    AsyncClient,
    Client,
    InvalidRequestError,
    ServedDecision,
    ServiceError,
    UnavailableError,
    exchange,
)
from eigenbandits.serve.client.calls import Calls


def run(url, call, **options):
    async def main():
        async with AsyncClient(url, **options) as client:
            return await call(client)

    return asyncio.run(main())


def calls_of(kind):
    return {name for name, _ in inspect.getmembers(kind, callable) if not name.startswith("_")}


def test_both_clients_have_the_same_calls_with_the_same_arguments():
    assert calls_of(Client) == calls_of(AsyncClient) > {"decide", "reward", "create_policy", "export"}
    waiting, awaiting = Client(), AsyncClient()
    for name in calls_of(Calls):
        assert inspect.signature(getattr(waiting, name)) == inspect.signature(getattr(awaiting, name))
        assert getattr(waiting, name).__doc__ == getattr(awaiting, name).__doc__


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda client: client.decide("news", [[1.0, 0.5]], request="mine"), DECIDED),
        (lambda client: client.decide("news", query=[1.0, 2.0], items=["a", "b"], request="r"), DECIDED),
        (lambda client: client.reward("news", "1-7", 1.0), LEARNED),
        (lambda client: client.delete_policy("a/b?c"), answer(204, b"")),
        (lambda client: client.edit_policy("news", time_to_live=60.0), answer(200, b'{"name": "news"}')),
        (lambda client: client.history("news", 60), answer(200, b'{"buckets": []}')),
    ],
)
def test_both_clients_send_the_same_and_return_the_same(call, said):
    with scripted(said) as service, Client(service.url, key="ebk_k") as client:
        waited = call(client)
    with scripted(said) as other:
        awaited = run(other.url, call, key="ebk_k")
    assert waited == awaited
    (line, headers, body), (other_line, other_headers, other_body) = service.asked[0], other.asked[0]
    assert (line, body) == (other_line, other_body)
    for name in ("authorization", "content-type", "accept", "content-length"):
        assert headers.get(name) == other_headers.get(name)
    assert other_headers["host"] == other.url.removeprefix("http://")


def test_a_kept_connection_is_used_again_and_one_that_was_closed_is_replaced():
    async def three(client):
        return [await client.reward("news", "1-7", 1.0) for _ in range(3)]

    with scripted(LEARNED, LEARNED, CLOSE, LEARNED) as service:
        assert run(service.url, three, patience=0.0) == ["learned"] * 3
    assert service.connections == 2


@pytest.mark.parametrize("said", [CLOSE, refusal(503), refusal(429, headers="Retry-After: 0\r\n")])
def test_a_lost_answer_and_a_busy_service_are_asked_again_under_the_same_id(said):
    with scripted(said, said, DECIDED) as service:
        assert run(service.url, lambda client: client.decide("news", [[1.0]])) == ServedDecision.of(MADE)
    assert len(service.asked) == 3
    assert len({line for line, _, _ in service.asked}) == 1


@pytest.mark.parametrize("said", [CLOSE, refusal(503, "unavailable")], ids=["hangs up", "unavailable"])
def test_what_must_not_happen_twice_is_sent_once(said):
    with scripted(said) as service, pytest.raises(UnavailableError):
        run(service.url, lambda client: client.create_key("web", ["decide"]))
    assert len(service.asked) == 1


def test_a_refusal_is_raised_with_all_that_it_says():
    with scripted(refusal(400, "some_code")) as service, pytest.raises(InvalidRequestError) as caught:
        run(service.url, lambda client: client.reward("news", "1-7", 1.0))
    assert (caught.value.code, caught.value.field, caught.value.request_id) == ("some_code", "actions", "abc")


def test_a_service_that_never_answers_is_given_up_at_the_timeout():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        begun = time.monotonic()
        with pytest.raises(UnavailableError, match="did not answer GET /v1/policies"):
            run(url, lambda client: client.policies(), timeout=0.2, patience=0.0)
    assert time.monotonic() - begun < 5.0


CHUNKED = b"HTTP/1.1 200 X\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    ("said", "connections"),
    [
        (CHUNKED + b'5;x=1\r\n{"ide\r\n9\r\nntity":1}\r\n0\r\nTrailer: x\r\n\r\n', 1),
        (b"HTTP/1.1 100 Continue\r\n\r\n" + answer(200, b'{"identity":1}'), 1),
        (answer(200, b'{"identity":1}', headers="Connection: close\r\n"), 2),
        (b'HTTP/1.0 200 X\r\nContent-Length: 14\r\n\r\n{"identity":1}', 2),
    ],
    ids=["chunks", "continue", "close", "old"],
)
def test_responses_end_where_they_say(said, connections):
    async def twice(client):
        return [await client.status(), await client.status()]

    with scripted(said, answer(200, b'{"identity":2}')) as service:
        found = []
        thread = threading.Thread(target=lambda: found.append(run(service.url, twice)))
        thread.start()
        # One connection at a time: this service reads on until the client hangs up.
        thread.join(20)
    assert found == [[{"identity": 1}, {"identity": 2}]]
    assert service.connections == connections


@pytest.mark.parametrize(
    "said",
    [
        b"SMTP ready\r\n\r\n",
        b"nothing that ends",
        b"HTTP/1.1 200 X\r\nContent-Length: x\r\n\r\n",
        CHUNKED + b"zz\r\n",
        b"HTTP/1.1 200 X\r\n" * 9999,
    ],
    ids=["no HTTP", "no head", "no length", "no chunk", "no end"],
)
def test_what_is_not_http_is_an_unavailable_service(said):
    with scripted(said) as service, pytest.raises(UnavailableError):
        run(service.url, lambda client: client.policies(), patience=0.0, timeout=1.0)


def test_a_body_that_ends_too_soon_is_no_response():
    said = b'HTTP/1.1 200 X\r\nContent-Length: 9\r\n\r\n{"a"'
    with scripted(said, CLOSE) as service, pytest.raises(UnavailableError):
        run(service.url, lambda client: client.policies(), patience=0.0, timeout=1.0)


def test_what_cannot_be_sent_is_refused_before_it_is_sent():
    with scripted() as service:
        for call, kind in [
            (lambda client: client.decide("p", [1.0, 2.0]), ValueError),
            (lambda client: client.reward("p", "1-1", float("nan")), ValueError),
            (lambda client: client.decide("p", [[1.0]], qery=[1.0]), TypeError),
        ]:
            with pytest.raises(kind):
                run(service.url, call)
    assert service.asked == []


def test_the_event_loop_goes_on_while_a_call_waits(monkeypatch):
    monkeypatch.setattr(exchange, "FIRST_PAUSE", 0.4)
    ticks = []

    async def both(client):
        async def tick():
            while True:
                ticks.append(1)
                await asyncio.sleep(0.01)

        other = asyncio.create_task(tick())
        try:
            return await client.reward("news", "1-7", 1.0)
        finally:
            other.cancel()

    with scripted(refusal(503), LEARNED) as service:
        assert run(service.url, both) == "learned"
    assert len(ticks) >= 5


def test_against_the_service(tmp_path):
    pytest.importorskip("uvicorn", reason='the service is not installed; run: pip install "eigenbandits[serve]"')
    from eigenbandits.serve import Settings, running

    async def work(client):
        await client.create_policy("news", "Random", {"seed": 0}, dim=3)
        made = await asyncio.gather(*(client.decide("news", np.eye(3)) for _ in range(40)))
        told = await asyncio.gather(*(client.reward("news", one, 1.0) for one in made))
        many = await client.decide_many("news", [{"actions": np.eye(3), "exclude": [0, 1]}] * 5, batch=2)
        await client.export("news", tmp_path / "log.parquet")
        with pytest.raises(ServiceError):
            await client.policy("none")
        return told, [one.index for one in many], await client.policy("news")

    with running(Settings(folder=tmp_path / "data", port=0)) as server:
        told, chosen, found = run(server.url, work)
    assert told == ["learned"] * 40
    assert chosen == [2] * 5
    assert (found["decisions"], found["rewards"]) == (45, 40)
    assert (tmp_path / "log.parquet").read_bytes()[:4] == b"PAR1"
    assert json.loads(json.dumps(found))["name"] == "news"
