"""The table of routes: who may call what, and what answers where there is no route."""

from __future__ import annotations

import httpx
import pytest
from tests.serve.bodies import code, create

from eigenbandits.serve import Server, Settings, running
from eigenbandits.serve.http.endpoint import ANY_KEY, OPEN
from eigenbandits.serve.http.gateway import Gateway
from eigenbandits.serve.http.routes import routes


def table(folder, **more):
    return routes(Gateway(Server(Settings(folder=folder, port=0, **more)).writer))


def test_what_changes_or_gives_away_anything_needs_a_scope(tmp_path):
    for endpoint in table(tmp_path):
        private = endpoint.path.endswith(("/export", "/snapshot")) or endpoint.path.startswith("/v1/keys")
        if endpoint.path == "/v1/empty":
            assert endpoint.scope == ANY_KEY
        elif endpoint.method != "GET" or private:
            assert endpoint.scope in ("decide", "reward", "admin"), endpoint.path
            frequent = endpoint.path.split("/")[4:5]
            assert (endpoint.scope != "admin") == (frequent in (["decide"], ["reward"])), endpoint.path
        elif endpoint.path.startswith("/v1/"):
            assert endpoint.scope == ANY_KEY, endpoint.path


def test_only_the_page_and_the_probes_are_open(tmp_path):
    pages = {"/", "/page/{name:path}", "/favicon.ico", "/health", "/ready"}
    assert {endpoint.path for endpoint in table(tmp_path) if endpoint.scope == OPEN} == pages
    opened = table(tmp_path, open_metrics=True)
    assert {endpoint.path for endpoint in opened if endpoint.scope == OPEN} == pages | {"/metrics"}


def test_a_body_is_limited_by_a_setting_and_uploads_by_the_larger_one(tmp_path):
    limits = {endpoint.path: endpoint.limit for endpoint in table(tmp_path) if endpoint.body is not None}
    large = {path for path, limit in limits.items() if limit == "max_catalogue_bytes"}
    assert set(limits.values()) == {"max_body_bytes", "max_catalogue_bytes"}
    wanted = {path for path in limits if path.startswith("/v1/catalogues/") or path.endswith(("/translate", "/merge"))}
    assert large == wanted


@pytest.fixture(scope="module")
def closed(tmp_path_factory):
    """A service with a key that may only decide."""
    folder = tmp_path_factory.mktemp("data")
    with running(Settings(folder=folder, port=0)) as server, httpx.Client(base_url=server.url) as client:
        create(client)
        admin = client.post("/v1/keys", json={"name": "me", "scopes": ["admin"]}).json()["key"]
        headers = {"authorization": f"Bearer {admin}"}
        made = client.post("/v1/keys", json={"name": "web", "scopes": ["decide"]}, headers=headers).json()
        yield client, {"authorization": f"Bearer {made['key']}"}


@pytest.mark.parametrize(
    ("method", "path", "expected"),
    [
        ("GET", "/v1/policies/", (404, "unknown_path")),
        ("GET", "/V1/policies", (404, "unknown_path")),
        ("POST", "/v1/policies/p/think", (404, "unknown_path")),
        ("POST", "/v1/policies/p/q/decide", (404, "unknown_path")),
        ("PATCH", "/v1/policies", (405, "wrong_method")),
        ("GET", "/v1/policies/p/decide", (405, "wrong_method")),
        ("OPTIONS", "/health", (405, "wrong_method")),
    ],
)
def test_without_a_route_a_key_is_needed_all_the_same(closed, method, path, expected):
    client, headers = closed
    assert code(client.request(method, path)) == (401, "missing_key")
    answer = client.request(method, path, headers=headers)
    assert code(answer) == expected
    assert "x-request-id" in answer.headers


def test_a_wrong_method_is_told_the_right_ones(closed):
    client, headers = closed
    answer = client.request("PATCH", "/v1/catalogues/c", headers=headers)
    assert answer.headers["allow"] == "GET, PUT, DELETE"
