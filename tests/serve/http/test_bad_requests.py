"""Requests that make no sense get an answer that says so, whatever they are; never a failure of the server."""

from __future__ import annotations

import json
import math
import struct

import httpx
import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from tests.serve.bodies import BINARY, code, create, decide

from eigenbandits.serve import Settings, running

JSON = {"content-type": "application/json"}


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """One server for all tests here: what is refused changes nothing, so that they do not disturb each other."""
    folder = tmp_path_factory.mktemp("data")
    with running(Settings(folder=folder, port=0)) as server, httpx.Client(base_url=server.url, timeout=30.0) as client:
        create(client, "fresh")
        create(client, "four")
        decide(client, np.ones((2, 4)), "four")
        body = {"ids": ["a", "b"], "vectors": [[1.0, 2.0], [3.0, 5.0]]}
        client.put("/v1/catalogues/c", json=body)
        create(client, "picked", catalogue="c")
        yield client


def told(client, path):
    """What a policy says of itself, but for the latency of the last minute, which changes by itself."""
    return {key: value for key, value in client.get(path).json().items() if key != "latency"}


@pytest.mark.parametrize(
    ("name", "body", "expected"),
    [
        ("fresh", b"", "invalid_json"),
        ("fresh", b"{", "invalid_json"),
        ("fresh", b"\xff\xfe", "invalid_json"),
        ("fresh", b'{"actions": [[NaN]]}', "invalid_json"),
        ("fresh", b'{"actions": [[1e999]]}', None),
        ("fresh", b"[]", "invalid_request"),
        ("fresh", b"{}", "invalid_request"),
        ("fresh", b'{"actions": []}', "invalid_request"),
        ("fresh", b'{"actions": [[]]}', "wrong_dimension"),
        ("fresh", b'{"actions": [1.0]}', "invalid_request"),
        ("fresh", b'{"actions": [[[1.0]]]}', "invalid_request"),
        ("fresh", b'{"actions": [[1.0], [1.0, 2.0]]}', "invalid_request"),
        ("fresh", b'{"actions": [["1.0"]]}', "invalid_request"),
        ("fresh", b'{"actions": [[null]]}', "invalid_request"),
        ("fresh", b'{"actions": [[true]]}', "invalid_request"),
        ("fresh", b'{"actions": [[1e13]]}', "not_finite"),
        ("fresh", b'{"actions": [[1' + b"0" * 400 + b"]]}", None),
        ("fresh", b'{"actions": "AAAAAA=="}', "wrong_dimension"),
        ("fresh", b'{"actions": "AACAfw==", "dim": 1}', "not_finite"),
        ("fresh", b'{"actions": "AADAfw==", "dim": 1}', "not_finite"),
        ("fresh", b'{"actions": "***", "dim": 1}', "invalid_request"),
        ("fresh", b'{"actions": [[1.0]], "dim": 0}', "invalid_request"),
        ("fresh", b'{"actions": [[1.0]], "dim": -1}', "invalid_request"),
        ("fresh", b'{"actions": [[1.0]], "dim": 1.5}', "invalid_request"),
        ("fresh", b'{"actions": [[1.0]], "dim": 2}', "wrong_dimension"),
        ("fresh", b'{"actions": [[1.0]], "query": [1.0]}', "invalid_request"),
        ("fresh", b'{"actions": [[1.0]], "request": ""}', "invalid_request"),
        ("fresh", b'{"actions": [[1.0]], "request": 5}', "invalid_request"),
        ("fresh", b'{"actions": [[1.0]], "request": "a\\u0000b"}', "invalid_request"),
        ("fresh", b'{"actions": [[1.0]], "request": "' + b"x" * 65 + b'"}', "invalid_request"),
        ("four", b'{"actions": [[1.0, 2.0, 3.0]]}', "wrong_dimension"),
        ("four", b'{"actions": "AAAAAA=="}', "wrong_dimension"),
        ("picked", b'{"actions": [[1.0, 2.0]]}', "invalid_request"),
        ("picked", b'{"query": [1.0], "items": ["a"]}', "wrong_dimension"),
        ("picked", b'{"query": [1.0, 1e7], "items": ["a"]}', "not_finite"),
        ("picked", b'{"query": [[1.0, 2.0]], "items": ["a"]}', "invalid_request"),
        ("picked", b'{"query": "AAAA", "items": ["a"]}', "invalid_request"),
        ("picked", b'{"query": [1.0, 2.0], "items": ["a", "z"]}', "unknown_item"),
        ("picked", b'{"query": [1.0, 2.0], "items": [["a"]]}', "unknown_item"),
        ("picked", b'{"query": [1.0, 2.0], "items": [1]}', "unknown_item"),
        ("picked", b'{"query": [1.0, 2.0], "items": []}', "invalid_request"),
        ("picked", b'{"query": [1.0, 2.0], "items": "a"}', "invalid_request"),
        ("picked", b'{"query": {"a": 1}, "items": ["a"]}', "invalid_request"),
    ],
)
def test_decisions_that_cannot_be_made(shared, name, body, expected):
    before = told(shared, f"/v1/policies/{name}")
    answer = shared.post(f"/v1/policies/{name}/decide", content=body, headers=JSON)
    assert answer.status_code == 400
    if expected is not None:
        assert code(answer) == (400, expected)
    assert answer.json()["error"]["message"].endswith(".")
    assert told(shared, f"/v1/policies/{name}") == before


@pytest.mark.parametrize("value", ["NaN", "Infinity", "-Infinity", '"1"', "null", "true", "[1]", "1e13", "{}", ""])
def test_rewards_that_are_no_numbers(shared, value):
    made = decide(shared, np.ones((2, 4)), "four").json()["decision"]
    body = f'{{"decision": "{made}", "reward": {value}}}'
    answer = shared.post("/v1/policies/four/reward", content=body, headers=JSON)
    assert answer.status_code == 400
    assert shared.get("/v1/policies/four").json()["rewards"] == 0


def test_what_is_not_there(shared):
    assert code(decide(shared, np.ones((2, 4)), "nope")) == (404, "unknown_policy")
    assert code(shared.get("/v1/policies/nope")) == (404, "unknown_policy")
    assert code(shared.get("/v1/policies/nope/export")) == (404, "unknown_policy")
    assert code(shared.post("/v1/policies/four/think", json={})) == (404, "unknown_path")
    assert code(shared.get("/v1/policies/four/decide")) == (405, "wrong_method")
    assert code(shared.get("/page/../client.py")) == (404, "unknown_path")
    assert code(shared.get("/page/%2e%2e/front.py")) == (404, "unknown_path")


def test_media_types_that_are_not_understood(shared):
    for media in ("text/plain", "application/x-www-form-urlencoded", ""):
        headers = {"content-type": media}
        answer = shared.post("/v1/policies/four/decide", content=b'{"actions": [[1, 2, 3, 4]]}', headers=headers)
        assert code(answer) == (415, "unsupported_media_type")
    headers = {"content-type": "application/json; charset=utf-8"}
    answer = shared.post("/v1/policies/four/decide", content=b'{"actions": [[1, 2, 3, 4]]}', headers=headers)
    assert answer.status_code == 200


@pytest.mark.parametrize(
    "body",
    [
        {"name": "Upper"},
        {"name": "a b"},
        {"name": ""},
        {"name": "x" * 65},
        {"name": "x", "algorithm": "Oracle"},
        {"name": "x", "algorithm": "os.system"},
        {"name": "x", "parameters": {}},
        {"name": "x", "parameters": {"noise": -1}},
        {"name": "x", "parameters": {"noise": 10**400}},
        {"name": "x", "parameters": {"noise": 0.5, "color": 1}},
        {"name": "x", "parameters": {"noise": 0.5, "structure": {"a": 1}}},
        {"name": "x", "parameters": {"noise": 0.5, "rule": "sampled", "samples": 10**9}},
        {"name": "x", "parameters": {"noise": 0.5, "seed": -1}},
        {"name": "x", "time_to_live": 0},
        {"name": "x", "time_to_live": -1},
        {"name": "x", "default_reward": 1e300},
        {"name": "x", "observe_every": 0},
        {"name": "x", "more": 1},
    ],
)
def test_policies_that_make_no_sense(shared, body):
    before = [one["name"] for one in shared.get("/v1/policies").json()["policies"]]
    answer = shared.post("/v1/policies", json={"algorithm": "PSLB", "parameters": {"noise": 0.5}} | body)
    assert answer.status_code == 400, answer.text
    assert [one["name"] for one in shared.get("/v1/policies").json()["policies"]] == before


def test_the_same_policy_again_is_no_mistake_and_another_is(shared):
    assert create(shared, "four").status_code == 200
    assert create(shared, "four", parameters={"noise": 0.5, "seed": None}).status_code == 200
    assert code(create(shared, "four", parameters={"noise": 0.6})) == (409, "policy_exists")
    assert code(create(shared, "four", parameters={"noise": 0.5, "seed": 5})) == (409, "policy_exists")


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@example(body=bytes(16), dim="", sets=None)
@given(
    body=st.one_of(
        st.binary(max_size=200),
        st.lists(st.floats(width=32), max_size=24).map(lambda xs: struct.pack(f"<{len(xs)}f", *xs)),
    ),
    dim=st.one_of(st.none(), st.integers(-2, 9), st.text(max_size=3)),
    sets=st.one_of(st.none(), st.integers(-1, 5)),
)
def test_any_binary_body_is_answered_rightly(shared, body, dim, sets):
    query = {} if dim is None else {"dim": dim}
    path = "/v1/policies/four/decide"
    if sets is not None:
        query, path = query | {"sets": sets}, path + "/batch"
    answer = shared.post(path, params=query, content=body, headers=BINARY)
    numbers = struct.unpack(f"<{len(body) // 4}f", body) if len(body) % 4 == 0 else ()
    rows = len(numbers) // 4
    fine = (
        0 < len(numbers) == 4 * rows
        and all(abs(x) <= 1e12 for x in numbers)
        and dim in (None, 4, "4")
        and (sets is None or (sets >= 1 and rows % sets == 0))
    )
    assert answer.status_code == (200 if fine else 400), answer.text
    if fine and sets is None:
        assert 0 <= answer.json()["index"] < rows


def values(depth):
    plain = st.one_of(st.none(), st.booleans(), st.floats(allow_nan=False), st.integers(), st.text(max_size=5))
    return st.recursive(plain, lambda inner: st.lists(inner, max_size=3), max_leaves=depth)


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    body=st.dictionaries(
        st.sampled_from(["actions", "dim", "query", "items", "request", "decision", "reward", "x"]),
        values(6),
        max_size=4,
    ),
    where=st.sampled_from(["fresh/decide", "four/decide", "picked/decide", "four/reward", "four/reward/batch"]),
)
def test_any_json_is_answered_without_a_failure(shared, body, where):
    name, _, rest = where.partition("/")
    # A set that is fine would fix the length of the fresh policy's vectors, on which other tests rely.
    if name == "fresh" and isinstance(body.get("actions"), list) and not math.isnan(len(body["actions"])):
        body["actions"] = [[None]]
    answer = shared.post(f"/v1/policies/{name}/{rest}", content=json.dumps(body), headers=JSON)
    assert answer.status_code in (200, 400, 404)


def test_strange_names_are_answered(service):
    for path in ("/page/%00", "/page/" + "x" * 300, "/page/..%2fclient"):
        assert code(service.get(path)) == (404, "unknown_path")
    body = b'{"name": "p", "algorithm": "PSLB", "parameters": {"\\ud800": 1}}'
    answer = service.post("/v1/policies", content=body, headers={"content-type": "application/json"})
    assert code(answer) == (400, "invalid_json")
    assert code(service.delete("/v1/keys/%00")) == (400, "invalid_request")
    assert code(service.get("/v1/policies/")) == (404, "unknown_path")


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/policies/true/decide", b'{"actions": [[1.0, true]]}'),
        ("/v1/policies/true/decide", b'{"actions": [[false, true]]}'),
        ("/v1/policies/true/decide/batch", b'{"requests": [{"actions": [[1.0, 2.0], [3.0, false]]}]}'),
        ("/v1/policies/true/reward", b'{"decision": "1-1", "reward": true}'),
        ("/v1/policies", b'{"name": "q", "default_reward": true}'),
        ("/v1/policies", b'{"name": "q", "time_to_live": "5"}'),
        ("/v1/catalogues/c", b'{"ids": ["a", "b"], "vectors": [[1.0, true], [2.0, 3.0]]}'),
        ("/v1/catalogues/c", b'{"ids": ["a", "b"], "vectors": [[1.0, "2"], [2.0, 3.0]]}'),
    ],
)
def test_a_truth_value_is_no_number(shared_service, path, body):
    create(shared_service, "true")
    method = "PUT" if "catalogues" in path else "POST"
    answer = shared_service.request(method, path, content=body, headers={"content-type": "application/json"})
    assert code(answer)[0] == 400, answer.text


@pytest.mark.parametrize("word", ["true", "false"])
@pytest.mark.parametrize("before", ["", "t" * 25 + "f" * 25])
def test_a_truth_value_in_a_long_body_is_no_number(shared_service, word, before):
    """Also where other words begin with the same letter; and the words in a string are none."""
    create(shared_service, "long")
    numbers = ", ".join(["1.5"] * 10_000)
    body = f'{{"request": "{before}{word}", "actions": [[{numbers}, 2.0]]}}'
    answer = shared_service.post("/v1/policies/long/decide", content=body, headers={"content-type": "application/json"})
    assert code(answer)[0] == 400  # too many numbers for this service, but they are numbers
    assert "length 10001" in answer.json()["error"]["message"]
    body = body.replace("2.0]]", f"{word}]]")
    answer = shared_service.post("/v1/policies/long/decide", content=body, headers={"content-type": "application/json"})
    assert "true or false" in answer.json()["error"]["message"]


def test_words_that_look_like_truth_values_pass(service):
    create(service)
    assert decide(service, [[1.0, 2.0]], request="true or false").status_code == 200
