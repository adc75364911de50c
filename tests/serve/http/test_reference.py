"""The reference page tells every setting, path, error code and metric that there is, and none that there is not."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

from eigenbandits import serve
from eigenbandits.serve import Server, Settings, running
from eigenbandits.serve.http.endpoint import ANY_KEY, OPEN
from eigenbandits.serve.http.gateway import Gateway
from eigenbandits.serve.http.routes import routes
from eigenbandits.serve.metrics import Metrics
from eigenbandits.serve.served_decision import ServedDecision

PAGE = (Path(__file__).parents[3] / "docs" / "howto" / "serve-reference.md").read_text()


def section(title: str) -> str:
    return PAGE.split(f"\n## {title}\n")[1].split("\n## ")[0]


def test_settings():
    told = re.findall(r"^\| `(\w+)` \| (.*?) \| (.*?) \|$", section("Settings"), re.MULTILINE)
    assert len(told) == len(dataclasses.fields(Settings))
    for (name, default, text), field in zip(told, dataclasses.fields(Settings), strict=True):
        assert (name, text) == (field.name, field.metadata["help"])
        shown = "" if default == "none" else default.strip("`")
        assert getattr(Settings.read(None, {f"EIGENBANDITS_{name.upper()}": shown}), name) == field.default


def test_error_codes():
    folder = Path(serve.__file__).parent
    sources = "\n".join(file.read_text() for file in folder.rglob("*.py") if "client" not in str(file))
    used = set(re.findall(r'Refusal\(\s*\d+, "(\w+)"', sources))
    used |= set(re.findall(r'invalid\([^\n]*, "\w+", "(\w+)"\)', sources))
    used |= set(re.findall(r'\d{3}: \("(\w+)", ', sources))
    used |= set(re.findall(r'code="(\w+)"', sources))
    used |= {f"unknown_{what}" for what in re.findall(r'unknown\("(\w+)"', sources)}
    used |= {f"too_many_{what}" for what in re.findall(r'_refuse_too_many\("(\w+)"', sources)}
    rows = [line.split("|")[2] for line in section("Errors").splitlines() if re.match(r"\| \d{3} ", line)]
    told = set(re.findall(r"`([a-z_]+)`", " ".join(rows)))
    assert {"invalid_json", "different_reward", "unknown_decision", "wrong_method", "wrong_dimension"} <= used
    assert used <= told
    assert all(code in used or f'"{code}"' in sources for code in told)


def test_paths(tmp_path):
    with running(Settings(folder=tmp_path, port=0)) as server:
        import httpx

        document = httpx.get(server.url + "/openapi.json").json()
    there = {(method.upper(), path) for path, methods in document["paths"].items() for method in methods}
    told = set(re.findall(r"`(GET|POST|PUT|PATCH|DELETE) (/[^`?]*)", section("Paths")))
    renamed = {("DELETE", "/v1/catalogues/{name}/items/{id}"): ("DELETE", "/v1/catalogues/{name}/items/{item}")}
    assert {renamed.get(one, one) for one in told} - {("GET", "/")} == there


def test_scopes(tmp_path):
    table = routes(Gateway(Server(Settings(folder=tmp_path, port=0)).writer))
    scopes = {(endpoint.method, re.sub(r":\w+}", "}", endpoint.path)): endpoint.scope for endpoint in table}
    words = {"none": OPEN, "any": ANY_KEY}
    for line in section("Paths").splitlines():
        for method, path in re.findall(
            r"`(GET|POST|PUT|PATCH|DELETE) (/[^`?]*)", line.split("|")[1] if "|" in line else ""
        ):
            said = line.split("|")[2].strip()
            assert scopes[method, path.replace("items/{id}", "items/{item}")] == words.get(said, said), line


def test_fields_of_a_decision():
    (text,) = re.findall(r"The answer has (.*?)\.\s", section("Paths"), re.DOTALL)
    assert set(re.findall(r"`(\w+)`", text)) == {field.name for field in dataclasses.fields(ServedDecision)}


def test_metrics():
    told = set(re.findall(r"`(eigenbandits_\w+)`", section("Metrics")))
    counted = {family.name for family in Metrics().collectors.collect() if family.name.startswith("eigenbandits_")}
    assert {name.removesuffix("_total") for name in told} == counted
