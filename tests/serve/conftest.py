"""Fixtures of the service's tests."""

from __future__ import annotations

from contextlib import contextmanager

import httpx
import pytest
from tests.serve.processes import postgres_or_skip

from eigenbandits.serve import Settings, running


@pytest.fixture(scope="session")
def cluster():
    made = postgres_or_skip()
    yield made
    made.close()


@pytest.fixture(params=["sqlite", "postgres"])
def place(request, tmp_path):
    """The settings that name a fresh database: a folder, or a database of a cluster that the tests run."""
    folder = {"folder": tmp_path / "data"}
    if request.param == "sqlite":
        return folder
    name = "t" + str(abs(hash(request.node.nodeid)))
    return folder | {"database": request.getfixturevalue("cluster").new_database(name)}


@contextmanager
def serving(folder):
    with (
        running(Settings(folder=folder, port=0)) as server,
        httpx.Client(base_url=server.url, timeout=30.0) as client,
    ):
        vars(client)["server"] = server
        yield client


@pytest.fixture
def service(tmp_path):
    """A running server and a client of it."""
    with serving(tmp_path / "data") as client:
        yield client


@pytest.fixture(scope="module")
def shared_service(tmp_path_factory):
    """The same for all tests of a module that leave nothing behind that others would mind."""
    with serving(tmp_path_factory.mktemp("data")) as client:
        yield client
