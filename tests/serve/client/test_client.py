"""The client against scripted answers: what it sends, when it sends again, what it raises."""

import base64
import json
import socket
import struct
import subprocess
import sys
import threading

import numpy as np
import pytest
from tests.serve.client.scripted_server import CLOSE, answer, scripted

from eigenbandits.serve.client import (
    AccessError,
    Client,
    ConflictError,
    InvalidRequestError,
    NotFoundError,
    ServedDecision,
    ServiceError,
    UnavailableError,
    exchange,
)

MADE = {"decision": "1-7", "index": 1, "item": None, "round": 7, "estimate": 0.1, "upper": 0.4, "propensity": None}
DECIDED = answer(200, json.dumps(MADE).encode())
LEARNED = answer(200, b'{"decision": "1-7", "status": "learned"}')


def refusal(status, code="x", headers=""):
    body = {"error": {"code": code, "message": "One sentence.", "field": "actions"}}
    return answer(status, json.dumps(body).encode(), headers=f"X-Request-Id: abc\r\n{headers}")


def test_actions_go_as_raw_little_endian_single_precision():
    with scripted(DECIDED) as service, Client(service.url, key="ebk_k") as client:
        made = client.decide("news", [[1.0, 0.5], [-2.0, 3.0]], request="mine")
    assert made == ServedDecision("1-7", 1, None, 7, 0.1, 0.4, None, None)
    line, headers, body = service.asked[0]
    assert line == "POST /v1/policies/news/decide?dim=2&request=mine HTTP/1.1"
    assert headers["content-type"] == "application/octet-stream"
    assert headers["authorization"] == "Bearer ebk_k"
    assert body == struct.pack("<4f", 1.0, 0.5, -2.0, 3.0)


def test_a_query_goes_as_base64_with_the_ids():
    with scripted(DECIDED) as service, Client(service.url) as client:
        client.decide("news", query=[1.0, 2.0], items=["a", "b"])
    body = json.loads(service.asked[0][2])
    assert base64.b64decode(body["query"]) == struct.pack("<2f", 1.0, 2.0)
    assert body["items"] == ["a", "b"]
    assert "authorization" not in service.asked[0][1]


def test_big_endian_strided_and_double_arrays_arrive_as_the_same_numbers():
    values = np.arange(12.0).reshape(3, 4)
    wanted = struct.pack("<6f", 0, 2, 4, 6, 8, 10)
    for array in (values[:, ::2], values[:, ::2].astype(">f8"), np.asfortranarray(values[:, ::2])):
        with scripted(DECIDED) as service, Client(service.url) as client:
            client.decide("news", array)
        assert service.asked[0][2] == wanted


def test_a_batch_is_cut_into_calls_of_its_size():
    part = answer(200, json.dumps({"decisions": [MADE, MADE]}).encode())
    last = answer(200, json.dumps({"decisions": [MADE]}).encode())
    with scripted(part, part, last) as service, Client(service.url) as client:
        made = client.decide_many("news", ({"actions": [[float(i)]]} for i in range(5)), batch=2)
    assert len(made) == 5
    sent = [request for _, _, body in service.asked for request in json.loads(body)["requests"]]
    assert [base64.b64decode(request["actions"]) for request in sent] == [struct.pack("<f", i) for i in range(5)]
    assert len({request["request"] for request in sent}) == 5


def test_a_lost_answer_is_asked_for_again_under_the_same_id():
    with scripted(CLOSE, CLOSE, DECIDED) as service, Client(service.url) as client:
        client.decide("news", [[1.0]])
    lines = {line for line, _, _ in service.asked}
    assert len(service.asked) == 3
    assert len(lines) == 1
    assert "request=" in lines.pop()


def test_two_decisions_have_two_ids():
    with scripted(DECIDED, DECIDED) as service, Client(service.url) as client:
        client.decide("news", [[1.0]])
        client.decide("news", [[1.0]])
    assert service.asked[0][0] != service.asked[1][0]


def test_a_kept_connection_is_used_again_and_one_that_was_closed_is_replaced():
    with scripted(LEARNED, LEARNED, CLOSE, LEARNED) as service, Client(service.url, patience=0.0) as client:
        for _ in range(3):
            assert client.reward("news", "1-7", 1.0) == "learned"
    assert service.connections == 2
    assert len(service.asked) == 4


@pytest.mark.parametrize("status", [429, 503])
def test_what_is_busy_is_asked_again(status):
    with scripted(refusal(status), refusal(status, headers="Retry-After: 0\r\n"), LEARNED) as service:
        assert Client(service.url).reward("news", "1-7", 1.0) == "learned"
    assert len(service.asked) == 3


def test_a_wait_longer_than_the_patience_is_not_begun():
    said = refusal(503, "unavailable", "Retry-After: 3600\r\n")
    with scripted(said) as service, pytest.raises(UnavailableError, match="One sentence") as caught:
        Client(service.url, patience=5.0).reward("news", "1-7", 1.0)
    assert caught.value.code == "unavailable"
    assert len(service.asked) == 1


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, InvalidRequestError),
        (413, InvalidRequestError),
        (415, InvalidRequestError),
        (401, AccessError),
        (403, AccessError),
        (404, NotFoundError),
        (409, ConflictError),
        (500, ServiceError),
    ],
)
def test_a_refusal_is_raised_at_once_with_all_that_it_says(status, kind):
    with scripted(refusal(status, "some_code")) as service, pytest.raises(ServiceError) as caught:
        Client(service.url).reward("news", "1-7", 1.0)
    error = caught.value
    assert type(error) is kind
    assert (error.status, error.code, error.field, error.request_id) == (status, "some_code", "actions", "abc")
    assert str(error) == "One sentence."
    assert len(service.asked) == 1


def test_an_answer_that_is_not_the_services_own_is_still_an_error():
    with scripted(answer(404, b"<html>a proxy</html>")) as service, pytest.raises(NotFoundError, match="status 404"):
        Client(service.url).policies()


def test_no_service_at_all():
    with scripted() as service:
        pass  # closed again: nothing listens there now
    with pytest.raises(UnavailableError, match="check that the service runs there"):
        Client(service.url, patience=0.2).policies()


@pytest.mark.parametrize(
    "call",
    [
        lambda client: client.create_key("web", ["decide"]),
        lambda client: client.delete_policy("news"),
        lambda client: client.delete_catalogue("tags"),
    ],
)
@pytest.mark.parametrize("said", [CLOSE, refusal(503, "unavailable")], ids=["hangs up", "unavailable"])
def test_what_must_not_happen_twice_is_sent_once(call, said):
    with scripted(said) as service, Client(service.url) as client, pytest.raises(UnavailableError):
        call(client)
    assert len(service.asked) == 1


def test_what_was_turned_away_at_the_door_is_sent_again_even_then():
    turned_away = refusal(429, headers="Connection: close\r\n")
    with scripted(turned_away, answer(204, b"")) as service, Client(service.url) as client:
        client.delete_policy("news")
    assert len(service.asked) == 2


def test_a_body_refused_before_it_was_read_is_a_refusal_not_a_broken_connection():
    listener = socket.create_server(("127.0.0.1", 0))

    def refuse():
        connection, _ = listener.accept()
        with connection:
            connection.recv(1000)
            connection.sendall(refusal(413, "body_too_large"))
            connection.shutdown(socket.SHUT_WR)
            while connection.recv(1 << 20):
                pass

    thread = threading.Thread(target=refuse, daemon=True)
    thread.start()
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    with listener, Client(url) as client, pytest.raises(InvalidRequestError) as caught:
        client.decide("news", np.zeros((1000, 1000)))
    assert caught.value.code == "body_too_large"
    thread.join(10)


def test_paths_are_quoted_and_a_prefix_is_kept():
    with scripted(LEARNED) as service:
        Client(f"{service.url}/behind/").reward("a/b?c", "1-7", 1.0)
    assert service.asked[0][0] == "POST /behind/v1/policies/a%2Fb%3Fc/reward HTTP/1.1"


def test_items_are_read_page_by_page():
    first = [f"i{n:04d}" for n in range(1000)]
    pages = [answer(200, json.dumps({"ids": ids}).encode()) for ids in (first, ["z"])]
    with scripted(*pages) as service, Client(service.url) as client:
        assert client.items("tags") == [*first, "z"]
    assert service.asked[1][0].startswith("GET /v1/catalogues/tags/items?limit=1000&after=i0999 ")


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda client: client.decide("p", [1.0, 2.0]), "actions has shape"),
        (lambda client: client.decide("p", [[]]), "actions has shape"),
        (lambda client: client.decide("p", [["a"]]), "cannot be read as an array"),
        (lambda client: client.decide("p", [[1.0], [1.0, 2.0]]), "cannot be read as an array"),
        (lambda client: client.decide("p", query=[[1.0]]), "query has shape"),
        (lambda client: client.decide("p", [[1.0]], query=[1.0]), "one or the other"),
        (lambda client: client.reward("p", "1-1", float("nan")), "not JSON compliant"),
    ],
)
def test_what_cannot_be_sent_is_refused_here(call, sentence):
    with scripted() as service, pytest.raises(ValueError, match=sentence):
        call(Client(service.url))
    assert service.asked == []


@pytest.mark.parametrize("url", ["127.0.0.1:8765", "ftp://x", "http://", "http://key@host", "http://h/?key=1"])
def test_a_url_that_is_none_is_refused(url):
    with pytest.raises(ValueError, match="url "):
        Client(url)


def test_neither_the_key_nor_vectors_show_in_errors_or_repr():
    with scripted(refusal(401)) as service, Client(service.url, key="ebk_secret") as client:
        with pytest.raises(AccessError) as caught:
            client.decide("news", [[0.123456]])
        shown = repr(client) + repr(caught.value) + str(vars(caught.value))
    assert "ebk_secret" not in shown
    assert "0.123" not in shown


def test_the_client_needs_nothing_of_the_service():
    code = """
import sys
for name in ("fastapi", "uvicorn", "starlette", "orjson", "prometheus_client", "pydantic", "threadpoolctl", "pyarrow"):
    sys.modules[name] = None
from eigenbandits.serve.client import Client
import eigenbandits.serve
assert eigenbandits.serve.Client is Client
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_patience_is_short_until_the_service_has_answered_once(monkeypatch, caplog):
    waits: list[float] = []
    monkeypatch.setattr("eigenbandits.serve.client.transport.time.sleep", waits.append)
    monkeypatch.setattr("eigenbandits.serve.client.transport.time.monotonic", lambda: sum(waits))
    with scripted(LEARNED) as service, Client(service.url) as client:
        client.reward("news", "1-7", 1.0)
    with pytest.raises(UnavailableError):
        client.policies()
    assert exchange.PATIENCE - exchange.LONGEST_PAUSE < sum(waits) <= exchange.PATIENCE
    # Once, not at every attempt.
    assert [record.getMessage().rpartition("; ")[2] for record in caplog.records] == ["trying again for up to 30 s."]
    waits.clear()
    with pytest.raises(UnavailableError, match="check that the service runs there"):
        Client(service.url).policies()
    assert exchange.FIRST_PATIENCE - exchange.LONGEST_PAUSE < sum(waits) <= exchange.FIRST_PATIENCE


def test_a_reward_takes_the_decision_itself():
    with scripted(DECIDED, LEARNED, answer(200, b'{"results": []}')) as service, Client(service.url) as client:
        made = client.decide("news", [[1.0]])
        assert client.reward("news", made, 1) == "learned"
        client.reward_many("news", {made: 0.5})
    assert json.loads(service.asked[1][2]) == {"decision": "1-7", "reward": 1.0}
    assert json.loads(service.asked[2][2]) == {"rewards": [{"decision": "1-7", "reward": 0.5}]}
    with pytest.raises(ValueError, match="decision is 7; expected the result of decide"):
        client.reward("news", 7, 1.0)  # type: ignore[arg-type]


def test_a_reset_while_connecting_is_no_answer(monkeypatch):
    def reset(*_: object, **__: object) -> None:
        raise ConnectionResetError("reset by peer")

    monkeypatch.setattr("socket.create_connection", reset)
    with pytest.raises(UnavailableError, match="reset by peer"):
        Client("http://127.0.0.1:8765", patience=0.0).status()


def test_one_id_in_the_place_of_a_list_is_refused_before_it_is_sent():
    with scripted() as service, Client(service.url) as client:
        for call in (
            lambda: client.decide("news", items="sku-1"),
            lambda: client.decide("news", [[1.0]], exclude="sku-1"),
            lambda: client.add_items("shop", "sku-1", [[1.0]]),
            lambda: client.create_catalogue("shop", "sku-1", [[1.0]]),
            lambda: client.remove_items("shop", "sku-1"),
            lambda: client.create_key("web", "sku-1"),
            lambda: client.create_key("web", ["decide"], policies="sku-1"),
        ):
            with pytest.raises(ValueError, match=r"is 'sku-1'; expected a list, such as \['sku-1'\]"):
                call()
    assert not service.asked
