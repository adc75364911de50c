"""Nobody gets in: keys, scopes, limits, and answers that tell nothing of the inside."""

from __future__ import annotations

import hashlib
import json
import socket
import sqlite3
import time

import httpx
import numpy as np
import pytest
from tests.serve.bodies import code, create, decide, reward

from eigenbandits.serve import Server, Settings, running
from eigenbandits.serve.front import scope_for
from eigenbandits.serve.keys import KeyRing, new_key

ACTIONS = np.random.default_rng(0).standard_normal((3, 4))


def keyed(client, key):
    return httpx.Client(base_url=client.base_url, headers={"authorization": f"Bearer {key}"}, timeout=30.0)


@pytest.fixture
def keys(service):
    """A service with a policy and a key for each scope."""
    create(service)
    made = {"admin": service.post("/v1/keys", json={"name": "me", "scopes": ["admin"]}).json()["key"]}
    with keyed(service, made["admin"]) as admin:
        for scope in ("decide", "reward"):
            made[scope] = admin.post("/v1/keys", json={"name": scope, "scopes": [scope]}).json()["key"]
    return made


def test_with_a_key_the_door_is_shut(service, keys):
    for method, path in [
        ("GET", "/v1/policies"),
        ("POST", "/v1/policies/p/decide"),
        ("POST", "/v1/policies/p/reward"),
        ("GET", "/v1/policies/p/export"),
        ("GET", "/v1/keys"),
        ("GET", "/v1/status"),
        ("POST", "/v1/empty"),
        ("GET", "/metrics"),
        ("GET", "/anything"),
        ("DELETE", "/v1/policies/p"),
    ]:
        answer = service.request(method, path)
        assert code(answer) == (401, "missing_key"), path
        assert answer.headers["www-authenticate"] == "Bearer"
    for path in ("/health", "/ready", "/openapi.json"):
        assert service.get(path).status_code == 200


def test_wrong_keys(service, keys):
    right = keys["admin"]
    for wrong in ["x", right[:-1], right + "x", right.upper(), "ebk_" + "0" * 16 + "_x", keys["decide"][:20]]:
        answer = service.get("/v1/policies", headers={"authorization": f"Bearer {wrong}"})
        assert code(answer) == (401, "wrong_key")
    assert code(service.get("/v1/policies", headers={"authorization": f"Basic {right}"})) == (401, "wrong_key")
    assert service.get("/v1/policies", headers={"authorization": f"Bearer {right}"}).status_code == 200


def test_each_scope_opens_its_own_doors_only(service, keys):
    with keyed(service, keys["decide"]) as decider, keyed(service, keys["reward"]) as rewarder:
        made = decide(decider, ACTIONS).json()["decision"]
        assert code(reward(decider, made, 1.0)) == (403, "missing_scope")
        assert code(decide(rewarder, ACTIONS)) == (403, "missing_scope")
        assert reward(rewarder, made, 1.0).status_code == 200
        for client in (decider, rewarder):
            assert client.get("/v1/policies").status_code == 200
            assert code(client.get("/v1/policies/p/export")) == (403, "missing_scope")
            assert code(client.get("/v1/policies/p/snapshot")) == (403, "missing_scope")
            assert code(client.get("/v1/keys")) == (403, "missing_scope")
            assert code(client.post("/v1/keys", json={})) == (403, "missing_scope")
            assert code(create(client, "other")) == (403, "missing_scope")
            assert code(client.delete("/v1/policies/p")) == (403, "missing_scope")
    with keyed(service, keys["admin"]) as admin:
        assert reward(admin, decide(admin, ACTIONS).json()["decision"], 1.0).status_code == 200


def test_whatever_is_not_known_to_be_harmless_needs_an_admin():
    assert scope_for("POST", "/v1/policies/p/new-thing", False) == "admin"
    assert scope_for("PATCH", "/v1/policies", False) == "admin"
    assert scope_for("GET", "/v1/keys", False) == scope_for("GET", "/v1/keys/", False) == "admin"
    assert scope_for("GET", "/metrics", True) == ""
    assert scope_for("GET", "/metrics", False) is None


def test_a_revoked_key_is_dead_at_once_and_the_last_one_leaves_the_door_shut(service, keys):
    with keyed(service, keys["admin"]) as admin:
        listed = {one["name"]: one for one in admin.get("/v1/keys").json()["keys"]}
        assert set(listed) == {"me", "decide", "reward"}
        assert admin.delete(f"/v1/keys/{listed['decide']['id']}").status_code == 204
        with keyed(service, keys["decide"]) as decider:
            assert code(decide(decider, ACTIONS)) == (401, "wrong_key")
        assert code(admin.delete(f"/v1/keys/{listed['decide']['id']}")) == (404, "unknown_key")
        for name in ("reward", "me"):
            assert admin.delete(f"/v1/keys/{listed[name]['id']}").status_code == 204
        assert code(admin.get("/v1/policies")) == (401, "wrong_key")
    assert code(service.get("/v1/policies")) == (401, "missing_key")


def test_keys_are_stored_as_hashes_and_never_logged(service, keys, tmp_path, caplog):
    database = sqlite3.connect(tmp_path / "data" / "eigenbandits.sqlite")
    rows = database.execute("SELECT id, digest FROM keys").fetchall()
    database.close()
    for key in keys.values():
        digest = hashlib.sha256(key.encode()).digest()
        assert digest in [row[1] for row in rows]
    content = b"".join(file.read_bytes() for file in (tmp_path / "data").glob("*.sqlite*"))
    for key in keys.values():
        assert key.encode() not in content
        assert key.split("_", 2)[2].encode() not in content
        assert key not in caplog.text


def test_the_first_key_over_http_must_be_an_admins(service):
    answer = service.post("/v1/keys", json={"name": "web", "scopes": ["decide"]})
    assert code(answer) == (400, "invalid_request")
    assert service.get("/v1/policies").status_code == 200


def test_two_keys_have_nothing_in_common():
    made = [new_key("a", ["decide"], 0.0) for _ in range(100)]
    assert len({key.id for key, _ in made}) == len({text.split("_", 2)[2] for _, text in made}) == 100
    assert all(len(text) >= 4 + 16 + 1 + 43 for _, text in made)
    ring = KeyRing()
    ring.replace([key for key, _ in made])
    with pytest.raises(Exception, match="not known or was revoked"):
        ring.check(f"Bearer ebk_{made[0][0].id}_{made[1][1].split('_', 2)[2]}", None)


def test_without_keys_only_loopback(tmp_path):
    for host in ("0.0.0.0", "::", "192.0.2.1", "example.org"):
        with pytest.raises(ValueError, match="there is no key"):
            Server(Settings(folder=tmp_path, host=host, port=0)).start()


def test_without_keys_other_sites_in_a_browser_are_kept_out(service):
    for headers in [
        {"host": "evil.example"},
        {"host": "127.0.0.1.evil.example"},
        {"origin": "https://evil.example"},
        {"origin": "null"},
    ]:
        assert code(service.get("/v1/policies", headers=headers)) == (403, "not_from_here")
    port = str(service.base_url.port)
    for headers in [{"host": f"localhost:{port}"}, {"host": f"[::1]:{port}"}, {"origin": f"http://127.0.0.1:{port}"}]:
        assert service.get("/v1/policies", headers=headers).status_code == 200


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
            connection.sendall(b"POST /v1/policies HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{")
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
    service.server.engine.settings.__dict__["max_waiting"] = 0
    answer = decide(service, ACTIONS)
    assert code(answer) == (503, "unavailable")
    assert answer.headers["retry-after"] == "1"


def test_every_answer_has_an_id_and_failures_tell_nothing(service, monkeypatch):
    create(service)
    secret = "/etc/secret/path"

    def broken(*_):
        raise RuntimeError(secret)

    hosted = service.server.engine.named("p")
    before = decide(service, ACTIONS).json()["decision"]
    monkeypatch.setattr(hosted.policy.belief, "view", broken)
    answer = decide(service, ACTIONS)
    assert code(answer) == (500, "internal")
    assert secret not in answer.text
    # The policy was loaded again from the log, which knows nothing of the failure.
    assert reward(service, before, 1.0).status_code == 200
    assert decide(service, ACTIONS).json()["round"] == 2
    monkeypatch.setattr(service.server.engine, "named", broken)
    answers = [decide(service, ACTIONS), service.get("/v1/policies/p"), service.get("/v1/policies/p/diagnostics")]
    assert {code(one) for one in answers} == {(500, "internal")}
    assert not any(secret in one.text for one in answers)
    ids = [one.headers["x-request-id"] for one in (answer, *answers)]
    assert len(set(ids)) == 4


def test_no_vector_is_logged(service, caplog):
    caplog.set_level("DEBUG")
    create(service)
    reward(service, decide(service, [[0.123456789, 1.0]]).json()["decision"], 0.987654321)
    decide(service, [[0.123456789, 1.0, 2.0]])
    told = json.dumps([str(vars(record)) for record in caplog.records])
    assert "request" in told
    assert "0.12345" not in told
    assert "0.98765" not in told
