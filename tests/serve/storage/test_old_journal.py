"""A database of version 1, written by the first version of the service, is read and continued.

`journal_version_1.tar.xz` holds the folder of a service with three policies (vectors with forecasts in the request, a
catalogue whose items came and went, pruned sets), with expired decisions, open ones, snapshots and a key; and in
`expected.json` what that service said about it.
"""

from __future__ import annotations

import json
import sqlite3
import tarfile
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pyarrow.parquet as pq
import pytest
from tests.serve.bodies import code, reward

from eigenbandits.serve import Settings, running
from eigenbandits.serve.storage import database_of
from eigenbandits.serve.storage.journal import Journal
from eigenbandits.serve.writer.hosted_policy import HostedPolicy

# Those that their log leads to; only a snapshot leads to the third, whose sets were pruned.
POLICIES = ("inline", "picked")


@pytest.fixture
def folder(tmp_path):
    with tarfile.open(Path(__file__).parent / "journal_version_1.tar.xz") as archive:
        archive.extractall(tmp_path / "data", filter="data")
    return tmp_path / "data"


@pytest.fixture
def expected(folder) -> dict[str, Any]:
    return json.loads((folder / "expected.json").read_text())


@contextmanager
def serving(folder, expected):
    headers = {"authorization": f"Bearer {expected['key']['key']}"}
    with (
        running(Settings(folder=folder, port=0)) as server,
        httpx.Client(base_url=server.url, headers=headers, timeout=30.0) as client,
    ):
        yield client


def known(found, before):
    """What was known before, of things that may have got more fields since."""
    return [{name: one[name] for name in old} for one, old in zip(found, before, strict=True)]


def test_everything_is_still_there(folder, expected, tmp_path):
    with serving(folder, expected) as client:
        assert client.get("/v1/catalogues").json()["catalogues"] == expected["catalogues"]
        assert client.get("/v1/catalogues/tags/items").json()["ids"] == expected["items"]
        assert client.get("/v1/keys").json()["keys"][0]["id"] == expected["key"]["id"]
        for asked in expected["requests"]:
            again = client.post(f"/v1/policies/{asked['policy']}/decide", json=asked["body"]).json()
            assert known([again], [asked["answer"]]) == [asked["answer"]]
        for name in POLICIES:
            query = {"columns": "all", "rewarded": "false"}
            (tmp_path / "log.parquet").write_bytes(client.get(f"/v1/policies/{name}/export", params=query).content)
            rows, before = pq.read_table(tmp_path / "log.parquet").to_pylist(), expected["export"][name]
            for row, old in zip(rows, before, strict=True):
                if old["status"] == "pending":
                    # Its time to live may have ended since.
                    row |= {key: old[key] for key in ("status", "rewards", "rewarded_at")}
            assert known(rows, before) == before
        listed = {one["name"]: one for one in client.get("/v1/policies").json()["policies"]}
        for old in expected["policies"][: len(POLICIES)]:
            found = listed[old["name"]]
            ended = ("defaults", "expired", "pending")
            assert sum(found[key] for key in ended) == sum(old[key] for key in ended)
            assert known([found], [{key: old[key] for key in old if key not in ended}])[0].items() <= old.items()


def test_it_goes_on(folder, expected):
    with closing(sqlite3.connect(folder / "eigenbandits.sqlite")) as database:
        assert database.execute("SELECT value FROM meta WHERE name = 'version'").fetchone() == ("1",)
    with serving(folder, expected) as client:
        for name in POLICIES:
            ended = next(row for row in expected["export"][name] if row["status"] == "rewarded")
            assert reward(client, ended["decision"], ended["rewards"], name).json()["status"] == "repeated"
            assert code(reward(client, ended["decision"], -7.0, name)) == (409, "different_reward")
        body = {"actions": [[1.0, 2.0], [3.0, -1.0]]}
        made = client.post("/v1/policies/inline/decide", json=body).json()
        assert made["round"] == 1 + len(expected["export"]["inline"])
        assert reward(client, made["decision"], 1.0, "inline").json()["status"] == "learned"


def test_a_pruned_policy_needs_a_snapshot_that_this_version_reads(folder, expected):
    (open_,) = [row["decision"] for row in expected["export"]["pruned"] if row["status"] == "pending"]
    with serving(folder, expected) as client:
        warnings = client.get("/v1/status").json()["warnings"]
        answer = reward(client, open_, 1.0, "pruned")
        if warnings:
            # Its snapshots are of a version of the library that kept other things: that is said, and nothing is lost.
            assert "'pruned' cannot be rebuilt" in warnings[0]
            assert code(answer) == (503, "unavailable")
        else:
            assert answer.json()["status"] == "learned"
    connection = database_of(Settings(folder=folder)).connect()
    (row,) = [row for row in Journal(connection).policies() if row.name == "pruned"]
    assert len(Journal(connection).decisions(row.id, 1, row.number)) == len(expected["export"]["pruned"])
    connection.close()


def test_the_log_alone_leads_to_as_much_knowledge(folder, expected):
    """Also where this version of the library has other forecasts than those in the log."""
    connection = database_of(Settings(folder=folder)).connect()
    journal = Journal(connection)
    (row,) = [row for row in journal.policies() if row.name == "inline"]
    hosted = HostedPolicy(row)
    hosted.replay(journal, 0)
    assert hosted.policy.round == len(expected["export"]["inline"])
    learned = hosted.policy.diagnostics().as_dict()["rewards_learned"]
    assert learned == expected["rewards_learned"]["inline"]
    connection.close()


def test_new_databases_have_the_tables_of_the_old_one(folder, tmp_path):
    def tables(file: Path) -> dict[str, list[tuple[str, str]]]:
        with closing(sqlite3.connect(file)) as database:
            names = [row[0] for row in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
            return {name: [row[1:3] for row in database.execute(f"PRAGMA table_info({name})")] for name in names}

    old = tables(folder / "eigenbandits.sqlite")
    database_of(Settings(folder=tmp_path / "new")).connect().close()
    new = tables(tmp_path / "new" / "eigenbandits.sqlite")
    assert {name: new[name][: len(old[name])] for name in old} == old
    with closing(sqlite3.connect(folder / "eigenbandits.sqlite")) as database:
        assert database.execute("SELECT value FROM meta WHERE name = 'version'").fetchone() == ("1",)
    database_of(Settings(folder=folder)).connect().close()
    changed = tables(folder / "eigenbandits.sqlite")
    assert {name: set(columns) for name, columns in changed.items()} == {name: set(new[name]) for name in new}
    with closing(sqlite3.connect(folder / "eigenbandits.sqlite")) as database:
        assert database.execute("SELECT value FROM meta WHERE name = 'version'").fetchone() == ("3",)
        assert database.execute("SELECT DISTINCT dropped_through FROM policies").fetchall() == [(0,)]
