"""Authorization: keys, their scopes, and a service without keys."""

from __future__ import annotations

import hashlib
import sqlite3

import httpx
import numpy as np
import pytest
from tests.serve.bodies import code, create, decide, reward

from eigenbandits.serve import Server, Settings, running
from eigenbandits.serve.errors import Refusal
from eigenbandits.serve.keys import KeyRing, new_key

ACTIONS = np.random.default_rng(0).standard_normal((3, 4))


def keyed(client, key):
    return httpx.Client(base_url=client.base_url, headers={"authorization": f"Bearer {key}"}, timeout=30.0)


@pytest.fixture
def keys(service):
    """A service with a policy and a key for each scope."""
    create(service, dim=4)
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
    with pytest.raises(Exception, match="unknown or was revoked"):
        ring.check(f"Bearer ebk_{made[0][0].id}_{made[1][1].split('_', 2)[2]}", None)


def test_without_keys_only_loopback(tmp_path):
    for host in ("0.0.0.0", "::"):
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


def test_until_the_keys_are_known_nobody_gets_in():
    ring = KeyRing()
    with pytest.raises(Refusal) as caught:
        ring.check(None, None)
    assert caught.value.status == 503
    ring.replace([])
    assert ring.check(None, "admin") == ("", True)
    strict = KeyRing(may_be_open=False)
    strict.replace([])
    with pytest.raises(Refusal) as caught:
        strict.check(None, None)
    assert caught.value.status == 401


def test_a_server_whose_database_is_away_at_the_start_lets_nobody_in(tmp_path):
    away = "postgresql://nobody@127.0.0.1:1/none"
    pytest.importorskip("psycopg")
    with (
        running(Settings(folder=tmp_path, database=away, port=0)) as server,
        httpx.Client(base_url=server.url) as client,
    ):
        for path in ("/v1/policies", "/v1/keys", "/v1/status", "/metrics"):
            assert code(client.get(path)) == (503, "unavailable")
        assert client.get("/ready").status_code == 503
        assert client.get("/health").status_code == 200
    with pytest.raises(ValueError, match="the keys cannot be read"):
        Server(Settings(folder=tmp_path, database=away, host="0.0.0.0", port=0)).start()


def test_a_key_for_one_policy_is_for_no_other(service, keys):
    with keyed(service, keys["admin"]) as admin:
        create(admin, "other")
        body = {"name": "app", "scopes": ["decide", "reward"], "policies": ["p"]}
        made = admin.post("/v1/keys", json=body).json()
        assert made["policies"] == ["p"]
        assert [one["policies"] for one in admin.get("/v1/keys").json()["keys"]] == [None, None, None, ["p"]]
        for name in ("p", "other"):
            decide(admin, ACTIONS, name)
        wrong: list[dict] = [{"policies": []}, {"policies": ["no name"]}, {"scopes": ["admin"]}]
        assert [code(admin.post("/v1/keys", json=body | one)) for one in wrong] == [(400, "invalid_request")] * 3
    with keyed(service, made["key"]) as app:
        id_ = decide(app, ACTIONS).json()["decision"]
        assert reward(app, id_, 1.0).status_code == 200
        assert app.get("/v1/policies/p").status_code == 200
        assert code(decide(app, ACTIONS, "other")) == (403, "other_policy")
        for path in ("/v1/policies", "/v1/catalogues/p", "/v1/status", "/metrics", "/v1/policies/other/history"):
            assert code(app.get(path)) == (403, "other_policy")
        assert app.get("/health").status_code == 200


def test_only_an_administrator_fixes_the_dimension_of_a_policy(service, keys):
    with keyed(service, keys["decide"]) as app, keyed(service, keys["admin"]) as admin:
        create(admin, "new")
        answer = decide(app, np.ones((2, 3)), "new")
        assert code(answer) == (409, "unknown_dimension")
        assert "create the policy with dim" in answer.json()["error"]["message"]
        raw = {"content-type": "application/octet-stream"}
        answer = app.post("/v1/policies/new/decide/batch?dim=3&sets=1", content=bytes(12), headers=raw)
        assert code(answer) == (409, "unknown_dimension")
        assert decide(admin, ACTIONS, "new").status_code == 200
        assert decide(app, ACTIONS, "new").status_code == 200
        assert create(admin, "sized", dim=4).json()["dim"] == 4
        assert code(decide(app, np.ones((2, 3)), "sized")) == (400, "wrong_dimension")
        assert decide(app, ACTIONS, "sized").status_code == 200


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_what_a_page_elsewhere_embeds_runs_nothing(service, site):
    create(service)
    headers = {"sec-fetch-site": site, "sec-fetch-mode": "no-cors"}
    for path in ("/v1/policies/p/export", "/v1/policies", "/metrics"):
        assert code(service.get(path, headers=headers)) == (403, "not_from_here")
    assert service.get("/", headers=headers | {"sec-fetch-mode": "navigate"}).status_code == 200
    for own in ("same-origin", "none"):
        assert service.get("/v1/policies", headers={"sec-fetch-site": own}).status_code == 200
