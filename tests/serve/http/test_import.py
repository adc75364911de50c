"""Decisions of another system are learned from, each of them once, and are in the log like all others."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
from tests.serve.bodies import code, create, decide, reward
from tests.serve.processes import ServerProcess
from typer.testing import CliRunner

import eigenbandits as eb
from eigenbandits import cli
from eigenbandits.policy import files
from eigenbandits.serve import Client, Settings, running
from eigenbandits.serve.client import ConflictError, UnavailableError, log_entries
from eigenbandits.serve.storage import database_of
from eigenbandits.serve.storage.journal import Journal
from eigenbandits.serve.writer import recovery, verify

RNG = np.random.default_rng(0)
SETS = RNG.standard_normal((40, 5, 4)).astype(np.float32)
CHOICES = RNG.integers(0, 5, size=40)
REWARDS = np.take_along_axis(SETS @ np.array([1.0, -0.5, 0.0, 0.25]), CHOICES[:, None], axis=1)[:, 0]
LOG = eb.offpolicy.Log(SETS, CHOICES, REWARDS, np.full(40, 0.2))
RIDGE: dict[str, Any] = {"algorithm": "OFUL", "parameters": {"noise": 0.5, "ridge": 2.0, "center": "none"}}


def agrees(settings):
    return [same for _, same in verify.differences(database_of(settings))]


def from_log_alone(settings):
    database = database_of(settings)
    journal = Journal(database.connect())
    try:
        (row,) = journal.policies()
        return files.to_bytes(recovery.load(database, journal, row, {}, "log").policy)
    finally:
        journal.connection.close()


def test_what_was_imported_is_what_least_squares_learns(place):
    settings = Settings(**place, port=0)
    with running(settings) as server, Client(server.url) as client:
        client.create_policy("p", **RIDGE)
        assert client.import_decisions("p", log_entries(LOG, "before")) == {"learned": 40}
        found = client.policy("p")
        assert (found["decisions"], found["rewards"], found["pending"]) == (40, 40, 0)
        rows = SETS[np.arange(40), CHOICES].astype(np.float64)
        expected = np.linalg.solve(rows.T @ rows + 2.0 * np.eye(4), rows.T @ REWARDS)
        hosted = server.writer.registry.policy("p")
        belief: Any = hosted.policy.belief
        np.testing.assert_allclose(belief.center, expected, atol=1e-9)
        made = client.decide("p", SETS[0])
        assert made.estimate == pytest.approx(float(SETS[0, made.index] @ expected))
        before = files.to_bytes(hosted.policy)
    assert agrees(settings) == [True]
    for path in (settings.folder / "snapshots").glob("*.eb"):
        path.unlink()
    with running(settings) as server:
        assert files.to_bytes(server.writer.registry.policy("p").policy) == before


def test_an_import_that_is_repeated_counts_once(service):
    create(service, **RIDGE)
    with Client(str(service.base_url)) as client:
        assert client.import_decisions("p", log_entries(LOG, "a"), batch_bytes=500) == {"learned": 40}
        assert client.import_decisions("p", log_entries(LOG, "a")) == {"repeated": 40}
        assert client.import_decisions("p", log_entries(LOG, "b")) == {"learned": 40}
        other = eb.offpolicy.Log(SETS, (CHOICES + 1) % 5, REWARDS)
        with pytest.raises(ConflictError) as caught:
            client.import_decisions("p", log_entries(other, "a"))
        assert caught.value.code == "different_request"
        with pytest.raises(ConflictError):
            client.decide("p", SETS[0], request="a-0")
    assert service.get("/v1/policies/p").json()["rewards"] == 80


def test_a_reward_may_come_later_and_the_export_has_the_propensity(service, tmp_path):
    create(service, **RIDGE)
    body = {"actions": SETS[0].tolist(), "index": 3, "propensity": 0.25, "request": "one"}
    answer = service.post("/v1/policies/p/import", json={"decisions": [body]}).json()["results"]
    assert [one["status"] for one in answer] == ["pending"]
    assert service.get("/v1/policies/p").json()["pending"] == 1
    assert reward(service, answer[0]["decision"], 0.5).json()["status"] == "learned"
    again = service.post("/v1/policies/p/import", json={"decisions": [body | {"reward": 0.5}]}).json()
    assert again == {"results": [answer[0] | {"status": "repeated"}]}
    (tmp_path / "log.parquet").write_bytes(service.get("/v1/policies/p/export").content)
    log = eb.offpolicy.Log.read(tmp_path / "log.parquet")
    assert (log.chosen[0], log.earned[0], log.probabilities[0]) == (3, 0.5, 0.25)


@pytest.mark.parametrize("algorithm", ["EigenUCB", "EigenTS", "EpsilonGreedy"])
def test_decisions_of_its_own_and_imported_ones_may_alternate(service, algorithm):
    create(service, algorithm=algorithm, parameters={"seed": 1} | ({"epsilon": 0.2} if "Eps" in algorithm else {}))
    with Client(str(service.base_url)) as client:
        entries = list(log_entries(LOG, "log"))
        for i in range(0, 40, 4):
            client.import_decisions("p", entries[i : i + 4])
            made = decide(service, SETS[i]).json()
            reward(service, made["decision"], 0.5)
    writer = service.server.writer
    assert from_log_alone(writer.settings) == files.to_bytes(writer.registry.policy("p").policy)


def test_a_compact_export_is_imported_into_another_policy(service, tmp_path):
    ids = [f"i{n}" for n in range(8)]
    with Client(str(service.base_url)) as client:
        client.create_catalogue("c", ids, RNG.standard_normal((8, 4)))
        for name in ("old", "new"):
            client.create_policy(name, "OFUL", {"noise": 0.5}, catalogue="c")
        for i in range(20):
            made = client.decide("old", query=SETS[i, 0], items=None if i % 2 else ids[:3])
            client.reward("old", made, float(i % 3))
        client.export("old", tmp_path / "old.parquet", columns="compact")
        result = CliRunner().invoke(
            cli.app(), ["import-log", "new", str(tmp_path / "old.parquet"), "--url", str(service.base_url)]
        )
        assert (result.exit_code, result.output) == (0, "20 learned\n")
    old, new = (service.server.writer.registry.policy(name).policy for name in ("old", "new"))
    np.testing.assert_allclose(new.belief.center, old.belief.center, atol=1e-9)


def test_the_command_says_what_is_wrong(service, tmp_path):
    LOG.write(tmp_path / "log.npz")
    command = ["import-log", "none", str(tmp_path / "log.npz"), "--url", str(service.base_url)]
    result = CliRunner().invoke(cli.app(), command)
    assert result.exit_code == 1
    assert "There is no policy 'none'" in result.output
    result = CliRunner().invoke(cli.app(), ["import-log", "none", str(tmp_path / "other.npz")])
    assert (result.exit_code, "there is no file" in result.output) == (1, True)


GOOD = {"actions": [[1.0, 0.0], [0.0, 1.0]], "index": 1, "reward": 1.0, "request": "r"}


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"index": 2}, "decisions[1].index"),
        ({"index": None}, "decisions[1].index"),
        ({"index": True}, None),
        ({"item": "x"}, "decisions[1].index"),
        ({"index": None, "item": "x"}, "decisions[1].item"),
        ({"request": None}, "decisions[1].request"),
        ({"reward": 7.0}, "decisions[1].reward"),
        ({"reward": "x"}, "decisions[1].reward"),
        ({"propensity": 0.0}, "decisions[1].propensity"),
        ({"propensity": 1.5}, "decisions[1].propensity"),
        ({"allowed": [0]}, "decisions[1].allowed"),
        ({"actions": [[1.0, 0.0, 3.0]]}, None),
    ],
)
def test_what_is_wrong_changes_nothing(service, wrong, field):
    create(service, dim=2, largest_reward=5.0)
    answer = service.post("/v1/policies/p/import", json={"decisions": [GOOD, GOOD | {"request": "s"} | wrong]})
    assert answer.status_code == 400
    assert field is None or answer.json()["error"]["field"] == field
    assert service.get("/v1/policies/p").json()["decisions"] == 0


def test_only_an_administrator_may_import(service):
    create(service)
    service.post("/v1/keys", json={"name": "boss", "scopes": ["admin"]})
    assert code(service.post("/v1/policies/p/import", json={"decisions": [GOOD]})) == (401, "missing_key")


def test_kill_in_the_middle_of_an_import(tmp_path):
    """Whatever moment the process dies at, the import goes on from its beginning and counts once."""
    server = ServerProcess(tmp_path / "data", "--snapshot-events", "50")
    server.start()
    entries = list(log_entries(LOG, "log")) + list(log_entries(LOG, "more"))
    with Client(server.url) as client:
        client.create_policy("p", "EigenUCB", {"seed": 0})
    rng = np.random.default_rng(1)
    done = False
    for _ in range(4):
        stopper = threading.Timer(float(rng.uniform(0.02, 0.3)), server.kill)
        with Client(server.url, patience=0.0) as client:
            stopper.start()
            try:
                client.import_decisions("p", entries, batch_bytes=400)
                done = True
            except UnavailableError:
                pass
        stopper.join()
        server.start()
    with Client(server.url) as client:
        counts = client.import_decisions("p", entries)
        assert sum(counts.values()) == 80
        assert not done or counts == {"repeated": 80}
        found = client.policy("p")
        assert (found["decisions"], found["rewards"], found["pending"]) == (80, 80, 0)
    assert server.stop() == 0
    assert agrees(Settings(folder=tmp_path / "data")) == [True]
