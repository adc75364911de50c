"""The rooms of the service import one way only, as docs/architecture.md says."""

from __future__ import annotations

import pytest
from tests.test_imports import EVERY, KNOWN, imports

# Each room with those that it may import; all of them may import the modules directly in serve/ that are listed.
ROOMS = {
    "client": set[str](),
    "storage": set[str](),
    "writer": {"storage"},
    "deciders": {"writer", "storage"},
    "learner": {"writer", "storage"},
    "http": {"writer", "storage"},
}
SHARED = {"settings", "errors", "keys", "metrics", "logs", "clock", "served_decision"}


def room(module: str) -> str:
    """The room of a module of the service, or the module itself where it lies directly in serve/."""
    return [*module.removeprefix("eigenbandits.serve").split("."), ""][1]


def allowed(importer: str, imported: str) -> bool:
    here, there = room(importer), room(imported)
    if here == there:
        return True
    if here in ("server", "supervisor", "export", ""):
        return there != "client" or here == ""
    if here == "http" and there == "export":
        return True
    if here == "client":
        return there == "served_decision"
    # A key is a row of the database; the others of these know no room at all.
    return there in ROOMS.get(here, {"storage"} if here == "keys" else set()) | SHARED


def test_the_rooms_of_the_service_import_one_way():
    inside = [
        one
        for one in EVERY
        if one.importer.startswith("eigenbandits.serve") and one.imported.startswith("eigenbandits.serve")
    ]
    assert len(inside) > 100
    assert [one for one in inside if not allowed(one.importer, one.imported)] == []


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("eigenbandits.serve.storage.journal", "from eigenbandits.serve.writer.catalogue import Catalogue"),
        ("eigenbandits.serve.writer.batch", "from eigenbandits.serve.http import models"),
        ("eigenbandits.serve.client.client", "from eigenbandits.serve.errors import Refusal"),
        ("eigenbandits.serve.metrics", "from eigenbandits.serve.writer.hosted_policy import HostedPolicy"),
        ("eigenbandits.serve.http.keys", "from eigenbandits.serve.client import Client"),
    ],
)
def test_a_back_edge_is_found(name, source):
    assert not all(allowed(one.importer, one.imported) for one in imports(name, source, set(KNOWN)))
