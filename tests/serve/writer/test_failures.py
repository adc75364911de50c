"""Failures of storage: a full disk, and a database that goes away or hangs; reported and survived."""

from __future__ import annotations

import os
import signal
import threading
import time

import numpy as np
from tests.serve.processes import ServerProcess

from eigenbandits.serve import Settings
from eigenbandits.serve.storage import database_of
from eigenbandits.serve.writer import verify

# A failover takes some ten seconds; two show the same in the default run.
AWAY = float(os.environ.get("EIGENBANDITS_TEST_AWAY", "2"))
ACTIONS = np.random.default_rng(0).standard_normal((40, 6))


def keep_going(server: ServerProcess, acknowledged: list[str], refused: list[tuple[int, dict]], stop) -> None:
    """Decide and reward until told to stop; a refusal is noted and the next try follows."""
    while not stop.is_set():
        try:
            status, made = server.call("POST", "/v1/policies/p/decide", {"actions": ACTIONS.tolist()})
            if status == 200:
                body = {"decision": made["decision"], "reward": 1.0}
                status, made = server.call("POST", "/v1/policies/p/reward", body)
                if status == 200:
                    acknowledged.append(body["decision"])
            if status != 200:
                refused.append((status, made))
                time.sleep(0.02)
        except OSError:
            time.sleep(0.02)


def check_all_is_there(server: ServerProcess, acknowledged: list[str], settings: Settings) -> None:
    assert acknowledged
    for id_ in acknowledged:
        body = {"decision": id_, "reward": 1.0}
        assert server.call("POST", "/v1/policies/p/reward", body) == (200, {"decision": id_, "status": "repeated"})
    told = server.call("GET", "/v1/policies/p")[1]
    learned = server.call("GET", "/v1/policies/p/diagnostics")[1]["diagnostics"]["rewards_learned"]
    assert learned == told["rewards"] >= len(acknowledged)
    assert server.stop() == 0
    assert [same for _, same in verify.differences(database_of(settings))] == [True]


def under_load(server: ServerProcess, action) -> tuple[list[str], list[tuple[int, dict]]]:
    acknowledged: list[str] = []
    refused: list[tuple[int, dict]] = []
    stop = threading.Event()
    crowd = [threading.Thread(target=keep_going, args=(server, acknowledged, refused, stop)) for _ in range(4)]
    for thread in crowd:
        thread.start()
    try:
        action(acknowledged)
    finally:
        stop.set()
        for thread in crowd:
            thread.join()
    return acknowledged, refused


def new_policy(server: ServerProcess) -> None:
    server.start()
    body = {"name": "p", "algorithm": "LinTS", "parameters": {"noise": 0.5}}
    assert server.call("POST", "/v1/policies", body)[0] == 201


def wait_for_more(acknowledged: list[str]) -> None:
    wanted, deadline = len(acknowledged) + 5, time.monotonic() + 30.0
    while len(acknowledged) < wanted:
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_full_disk(tmp_path):
    settings = Settings(folder=tmp_path / "data")
    server = ServerProcess(settings.folder, "--snapshot-events", "20")
    new_policy(server)

    def fill_and_make_room(acknowledged: list[str]) -> None:
        wait_for_more(acknowledged)
        wal = settings.folder / "eigenbandits.sqlite-wal"
        server.limit_files(max(file.stat().st_size for file in settings.folder.glob("*.sqlite*")) + 8192)
        assert wal.exists()
        server.wait_ready(False)
        status, answer = server.call("GET", "/ready")
        assert status == 503
        assert "storage" in answer["reasons"][0]
        assert server.call("GET", "/health")[0] == 200
        server.limit_files(-1)
        server.wait_ready(seconds=20.0)
        wait_for_more(acknowledged)

    acknowledged, refused = under_load(server, fill_and_make_room)
    assert {status for status, _ in refused} == {503}
    assert {answer["error"]["code"] for _, answer in refused} == {"unavailable"}
    assert "storage failed" in {event["event"] for event in server.events()}
    check_all_is_there(server, acknowledged, settings)


def test_a_database_that_goes_away_and_comes_back(tmp_path, cluster):
    settings = Settings(folder=tmp_path / "data", database=cluster.new_database("away"))
    server = ServerProcess(settings.folder, "--database", settings.database, "--snapshot-events", "20")
    new_policy(server)

    def go_and_come_back(acknowledged: list[str]) -> None:
        wait_for_more(acknowledged)
        cluster.crash()
        server.wait_ready(False)
        time.sleep(AWAY)
        before = len(acknowledged)
        assert server.call("GET", "/health")[0] == 200
        status, answer = server.call("POST", "/v1/policies/p/reward", {"decision": "1-1", "reward": 1.0})
        assert (status, answer["error"]["code"]) == (503, "unavailable")
        assert len(acknowledged) == before
        cluster.start()
        server.wait_ready(seconds=20.0)
        wait_for_more(acknowledged)

    acknowledged, refused = under_load(server, go_and_come_back)
    assert {status for status, _ in refused} == {503}
    check_all_is_there(server, acknowledged, settings)


def test_a_database_that_hangs_is_said(tmp_path, cluster):
    server = ServerProcess(tmp_path / "data", "--database", cluster.new_database("hangs"))
    server.start()
    body = {"name": "p", "algorithm": "LinTS", "parameters": {"noise": 0.5}}
    assert server.call("POST", "/v1/policies", body)[0] == 201
    cluster.signal_all("hangs", signal.SIGSTOP)
    try:
        server.wait_ready(False, seconds=20.0)
        assert server.call("GET", "/ready")[1]["reasons"] == ["its storage does not answer"]
        assert server.call("GET", "/")[0] == 200
        begun = time.monotonic()
        status, _ = server.call("POST", "/v1/policies/p/decide", {"actions": [[1.0, 2.0]]})
        assert status == 503
        assert time.monotonic() - begun < 5.0
    finally:
        cluster.signal_all("hangs", signal.SIGCONT)
    server.wait_ready()
    assert server.call("POST", "/v1/policies/p/decide", {"actions": [[1.0, 2.0]]})[0] == 200
    assert server.stop() == 0


def test_a_full_disk_is_said_while_nobody_comes(tmp_path):
    server = ServerProcess(tmp_path / "data")
    server.start()
    body = {"name": "p", "algorithm": "LinTS", "parameters": {"noise": 0.5}}
    assert server.call("POST", "/v1/policies", body)[0] == 201
    server.limit_files(4096)
    assert server.call("POST", "/v1/policies/p/decide", {"actions": [[1.0, 2.0]]})[0] == 503
    for _ in range(15):
        assert server.call("GET", "/ready")[0] == 503
        time.sleep(0.1)
    server.limit_files(-1)
    server.wait_ready()
    assert server.call("POST", "/v1/policies/p/decide", {"actions": [[1.0, 2.0]]})[0] == 200
    server.kill()
