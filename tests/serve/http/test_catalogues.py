"""Catalogues: what is formed from a query and items, and items that come and go."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.serve.bodies import code, create, packed, reward

import eigenbandits as eb
from eigenbandits.policy import files
from eigenbandits.serve import Settings, running

RNG = np.random.default_rng(0)
ITEMS = RNG.standard_normal((6, 4)).astype(np.float32) + 3.0
IDS = list("abcdef")


def put(client, **more):
    return client.put("/v1/catalogues/c", json={"ids": IDS, "vectors": ITEMS.tolist()} | more)


def pick(client, **body):
    return client.post("/v1/policies/p/decide", json=body)


def formed(query, rows, center):
    """The products as documented, in single precision: the mean of the items is subtracted from both."""
    mean = ITEMS.mean(axis=0, dtype=np.float64).astype(np.float32)
    items = ITEMS[rows] - mean if center != "none" else ITEMS[rows]
    if query is None:
        return items
    return items * (query - mean if center == "both" else query)


@pytest.mark.parametrize("center", ["both", "items", "none"])
def test_sets_are_query_times_item(service, center):
    assert put(service, center=center).status_code == 201
    create(service, catalogue="c", parameters={"noise": 0.5, "seed": 1})
    twin = eb.PSLB(noise=0.5, seed=1)
    for query, rows in [(True, [1, 3, 5]), (True, None), (False, [4, 0]), (False, None)]:
        vector = RNG.standard_normal(4).astype(np.float32) if query else None
        body: dict[str, Any] = {} if vector is None else {"query": packed(vector)}
        if rows is not None:
            body["items"] = [IDS[row] for row in rows]
        answer = pick(service, **body).json()
        expected = twin.choose(formed(vector, slice(None) if rows is None else rows, center).astype(np.float64))
        assert (answer["index"], answer["upper"]) == (expected.index, expected.upper)
        assert answer["item"] == IDS[expected.index if rows is None else rows[expected.index]]
        reward(service, answer["decision"], 1.0)
        twin.learn(expected, 1.0)
    assert service.get("/v1/policies/p/snapshot").content == files.to_bytes(twin)


def test_items_come_and_go_while_decisions_are_open(tmp_path, service):
    put(service)
    create(service, catalogue="c", parameters={"noise": 0.5, "seed": 1})
    before = pick(service, query=[1.0] * 4, items=["b"]).json()
    assert service.delete("/v1/catalogues/c/items/b").json() == {"items": 5, "version": 2}
    assert code(pick(service, query=[1.0] * 4, items=["b"])) == (400, "unknown_item")
    added = {"ids": ["g", "a"], "vectors": packed(ITEMS[:2] + 1.0)}
    assert service.post("/v1/catalogues/c/items", json=added).json() == {"items": 6, "version": 3}
    everything = pick(service, query=[1.0] * 4).json()
    assert service.get("/v1/catalogues/c/items").json()["ids"] == ["a", "c", "d", "e", "f", "g"]
    assert service.get("/v1/catalogues/c/items?after=c&limit=2").json()["ids"] == ["d", "e"]
    gone = service.post("/v1/catalogues/c/items/delete", json={"ids": ["g", "a"]})
    assert gone.json() == {"items": 4, "version": 4}
    for made in (before, everything):
        assert reward(service, made["decision"], 1.0).status_code == 200
    # The twin saw the items as they were at each moment: the mean stays that of the first items.
    twin = eb.PSLB(noise=0.5, seed=1)
    mean = ITEMS.mean(axis=0, dtype=np.float64).astype(np.float32)
    query = np.ones(4, dtype=np.float32) - mean
    first = twin.choose(((ITEMS[1:2] - mean) * query).astype(np.float64))
    later = np.concatenate([ITEMS[2:], ITEMS[:2] + np.float32(1.0)]) - mean
    second = twin.choose((later * query).astype(np.float64))
    assert everything["item"] == ["c", "d", "e", "f", "g", "a"][second.index]
    twin.learn(first, 1.0)
    twin.learn(second, 1.0)
    assert service.get("/v1/policies/p/snapshot").content == files.to_bytes(twin)


def test_a_catalogue_survives_a_restart(tmp_path):
    import httpx

    settings = Settings(folder=tmp_path, port=0)
    with running(settings) as server, httpx.Client(base_url=server.url) as client:
        put(client)
        create(client, catalogue="c")
        made = pick(client, query=[1.0, 2.0, 3.0, 4.0]).json()["decision"]
        client.delete("/v1/catalogues/c/items/a")
        told = client.get("/v1/catalogues/c").json()
    with running(settings) as server, httpx.Client(base_url=server.url) as client:
        assert client.get("/v1/catalogues/c").json() == told
        assert reward(client, made, 1.0).json()["status"] == "learned"
        assert put(client).status_code == 200
        assert code(put(client, center="none")) == (409, "catalogue_exists")


def test_a_catalogue_in_use_stays(service):
    put(service)
    create(service, catalogue="c")
    assert code(service.delete("/v1/catalogues/c")) == (409, "catalogue_in_use")
    assert service.delete("/v1/policies/p").status_code == 204
    assert service.delete("/v1/catalogues/c").status_code == 204
    assert code(service.get("/v1/catalogues/c")) == (404, "unknown_catalogue")
    assert code(create(service, catalogue="c")) == (404, "unknown_catalogue")


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"ids": ["a", "a"], "vectors": [[1.0], [2.0]]}, "invalid_request"),
        ({"ids": ["a", "b"], "vectors": [[1.0]]}, "invalid_request"),
        ({"ids": ["a", "b"], "vectors": [[1.0], [2.0, 3.0]]}, "invalid_request"),
        ({"ids": ["a", "b"], "vectors": [[1.0], [float("nan")]]}, "not_finite"),
        ({"ids": ["a", "b"], "vectors": [[1.0], [1e7]]}, "not_finite"),
        ({"ids": ["a", "b"], "vectors": [[1.0], [2.0]], "mean": [1e7]}, "not_finite"),
        ({"ids": ["a"], "vectors": [[1.0]]}, "invalid_request"),
        ({"ids": ["a\n", "b"], "vectors": [[1.0], [2.0]]}, "invalid_request"),
        ({"ids": ["a", "b"], "vectors": "AAAA"}, "wrong_dimension"),
        ({"ids": ["a", "b"], "vectors": "not base64", "dim": 1}, "invalid_request"),
        ({"ids": ["a", "b"], "vectors": [[], []]}, "wrong_dimension"),
        ({"ids": ["a", "b"], "vectors": [[1.0], [2.0]], "mean": [1.0, 2.0]}, "wrong_dimension"),
        ({"ids": [], "vectors": []}, "invalid_request"),
        ({"ids": ["a", "b"], "vectors": [[1.0], [2.0]], "color": "red"}, "invalid_request"),
    ],
)
def test_uploads_that_make_no_sense_are_refused(shared_service, body, expected):
    import json

    answer = shared_service.put(
        "/v1/catalogues/c", content=json.dumps(body), headers={"content-type": "application/json"}
    )
    assert code(answer) == (400, expected)
    assert shared_service.get("/v1/catalogues").json() == {"catalogues": []}
