"""Corners in which state could get ahead of the log, requests could wait for others, or a door could stand open."""

from __future__ import annotations

import asyncio
import gc
import shutil
import signal
import socket
import sqlite3
import time

import httpx
import numpy as np
import pytest
from tests.serve.bodies import code, create, decide, reward
from tests.serve.processes import ServerProcess
from tests.serve.test_failures import Hands, eventually

from eigenbandits.serve import Server, Settings, running, verify
from eigenbandits.serve.batch import Batch
from eigenbandits.serve.errors import Refusal
from eigenbandits.serve.jobs import Ask, Task
from eigenbandits.serve.keys import KeyRing
from eigenbandits.serve.recovery import pack
from eigenbandits.serve.sets import Inline
from eigenbandits.serve.storage import database_of

RNG = np.random.default_rng(0)


def together(engine, policy: int, arrays) -> list:
    """Ask for decisions that are sure to be handled in one batch; return the answers or refusals."""

    async def ask():
        loop = asyncio.get_running_loop()
        engine.submit(Task(lambda journal: time.sleep(0.3)))
        jobs = [Ask(policy, [Inline(np.asarray(one, dtype=float))], [None], loop.create_future()) for one in arrays]
        for job in jobs:
            engine.submit(job)
        return await asyncio.gather(*(job.future for job in jobs), return_exceptions=True)

    return asyncio.run(ask())


def test_one_wrong_request_does_not_spoil_the_others_of_its_batch(service):
    create(service)
    engine = service.server.engine
    first, second, third = together(engine, engine.named("p").id, [np.eye(3), np.ones((2, 4)), np.eye(3)])
    assert (first[0].number, third[0].number) == (1, 2)
    assert isinstance(second, Refusal)
    assert second.code == "wrong_dimension"


def test_what_a_policy_cannot_do_is_refused_to_those_alone_who_asked_for_it(service, monkeypatch):
    create(service)
    engine = service.server.engine
    decide(service, np.eye(3))
    hosted = engine.named("p")
    choose = type(hosted).choose

    def picky(self, arrays):
        if any(np.all(array == 7.0) for array in arrays):
            raise ValueError("sevens")
        return choose(self, arrays)

    monkeypatch.setattr(type(hosted), "choose", picky)
    first, second, third = together(engine, hosted.id, [np.eye(3), np.full((2, 3), 7.0), np.eye(3)])
    assert (first[0].number, third[0].number) == (2, 3)
    assert isinstance(second, Refusal)
    assert "sevens" in second.message


def test_batches_do_not_keep_each_other_alive(service):
    create(service)
    for _ in range(40):
        reward(service, decide(service, np.eye(3)).json()["decision"], 1.0)
    assert sum(type(one) is Batch for one in gc.get_objects()) < 10


def test_many_decisions_that_end_at_once_do_not_block_the_others(tmp_path):
    hands, settings = Hands(), Settings(folder=tmp_path, port=0)
    with running(settings, hands.clock()) as server, httpx.Client(base_url=server.url, timeout=30.0) as client:
        create(client, time_to_live=100.0, default_reward=0.0)
        create(client, "other")
        sets = np.ones((1000, 1, 2), dtype="<f4")
        raw = {"content-type": "application/octet-stream"}
        client.post("/v1/policies/p/decide/batch?dim=2&sets=1000", content=sets.tobytes(), headers=raw)
        hands.pass_(101.0)
        seen = set()
        while True:
            assert decide(client, np.eye(2), "other").status_code == 200
            ended = client.get("/v1/policies/p").json()["defaults"]
            seen.add(ended)
            if ended == 1000:
                break
        # Other requests were answered while some had ended and some had not.
        assert len(seen) > 2
        late = decide(client, np.eye(2)).json()["decision"]
        hands.pass_(50.0)
        assert reward(client, late, 1.0).status_code == 200
        decide(client, np.eye(2))
        hands.pass_(101.0)
        eventually(client, defaults=1001, pending=0)


def test_a_snapshot_of_another_history_is_never_taken(tmp_path):
    settings = Settings(folder=tmp_path / "data", port=0)
    file = settings.folder / "eigenbandits.sqlite"

    def go_on(rounds):
        with running(settings) as server, httpx.Client(base_url=server.url) as client:
            create(client, parameters={"noise": 0.5, "seed": 1})
            for _ in range(rounds):
                reward(client, decide(client, RNG.standard_normal((3, 4))).json()["decision"], 1.0)
            hosted = server.engine.named("p")
            return hosted.head.position, pack(hosted.spec, hosted.policy.state())

    go_on(3)
    shutil.copy(file, tmp_path / "backup")
    go_on(7)
    shutil.copy(tmp_path / "backup", file)
    for left in settings.folder.glob("*.sqlite-*"):
        left.unlink()
    position, expected = go_on(9)
    again, found = go_on(0)
    assert (again, found) == (position, expected)
    assert [same for _, same in verify.differences(database_of(settings))] == [True]


def test_pruning_waits_until_both_snapshots_are_past_the_reward(tmp_path):
    settings = Settings(folder=tmp_path, port=0, snapshot_events=6)
    with running(settings) as server, httpx.Client(base_url=server.url) as client:
        create(client, keep_sets=False, parameters={"noise": 0.5, "center": "set"})
        late = [decide(client, RNG.standard_normal((3, 4))).json()["decision"] for _ in range(4)]
        deadline = time.monotonic() + 30.0
        while server.engine.named("p").head.pruned_through == 0:
            assert time.monotonic() < deadline
            reward(client, decide(client, RNG.standard_normal((3, 4))).json()["decision"], 1.0)
            time.sleep(0.05)
        for id_ in late:
            assert reward(client, id_, 0.5).json()["status"] == "learned"
        time.sleep(1.2)
        expected = client.get("/v1/policies/p/snapshot").content
        # The end comes without another snapshot.
        server.engine.named("p").since_snapshot = 0
    with running(settings) as server, httpx.Client(base_url=server.url) as client:
        assert client.get("/v1/policies/p/snapshot").content == expected


def test_what_was_replayed_counts_towards_the_next_snapshot(tmp_path):
    settings = Settings(folder=tmp_path, port=0)
    for _ in range(2):
        with running(settings) as server, httpx.Client(base_url=server.url) as client:
            create(client)
            reward(client, decide(client, np.eye(3)).json()["decision"], 1.0)
            hosted = server.engine.named("p")
            counted, hosted.since_snapshot = hosted.since_snapshot, 0
    assert counted == 4


def test_verify_beside_a_running_server_sees_one_moment(service, tmp_path):
    create(service)
    engine = service.server.engine
    database = database_of(engine.settings)
    for _ in range(3):
        for found in verify.differences(database):
            assert found[1], found
            reward(service, decide(service, np.eye(3)).json()["decision"], 1.0)
    rows = list(verify.differences(database))
    assert rows[0][0].startswith("p: 3 decisions, 3 rewards, ")


def test_until_the_keys_are_known_nobody_gets_in():
    ring = KeyRing()
    with pytest.raises(Refusal) as caught:
        ring.check(None, None)
    assert caught.value.status == 503
    ring.replace([])
    assert ring.check(None, "admin") == ""
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
    with pytest.raises(ValueError, match="nobody knows the keys"):
        Server(Settings(folder=tmp_path, database=away, host="0.0.0.0", port=0)).start()


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


def test_connections_that_say_nothing_are_closed(tmp_path):
    settings = Settings(folder=tmp_path, port=0, request_timeout=0.5, max_connections=3)
    with running(settings) as server:
        host, port = server.url.removeprefix("http://").split(":")
        silent = [socket.create_connection((host, int(port)), timeout=20) for _ in range(4)]
        silent[0].sendall(b"GET /health HTTP/1.1\r\nHost: loc")
        for connection in silent:
            assert connection.recv(100) == b""
            connection.close()
        assert httpx.get(server.url + "/health").status_code == 200


def test_no_large_body_where_none_is_wanted(service):
    large = b"x" * 100_000
    for method, path in [("POST", "/health"), ("GET", "/v1/catalogues/x"), ("DELETE", "/v1/policies/p"), ("PUT", "/")]:
        assert code(service.request(method, path, content=large)) == (413, "body_too_large")


def test_strange_names_are_answered(service):
    for path in ("/page/%00", "/page/" + "x" * 300, "/page/..%2fclient"):
        assert code(service.get(path)) == (404, "unknown_path")
    body = b'{"name": "p", "algorithm": "PSLB", "parameters": {"\\ud800": 1}}'
    answer = service.post("/v1/policies", content=body, headers={"content-type": "application/json"})
    assert code(answer) == (400, "invalid_request")
    assert code(service.delete("/v1/keys/%00")) == (400, "invalid_request")
    assert code(service.get("/v1/policies/")) == (404, "unknown_path")


def test_the_folder_is_for_its_owner_alone_and_leftovers_go(tmp_path):
    settings = Settings(folder=tmp_path / "data", port=0)
    with running(settings):
        assert settings.folder.stat().st_mode & 0o077 == 0
        left = settings.folder / "snapshots" / ".1-60.eb.0123"
        left.write_bytes(b"half")
    with running(settings):
        assert not left.exists()


def test_decisions_that_end_without_a_reward_are_no_defaults(tmp_path):
    hands, settings = Hands(), Settings(folder=tmp_path, port=0)
    with running(settings, hands.clock()) as server, httpx.Client(base_url=server.url) as client:
        create(client, time_to_live=10.0)
        decide(client, np.eye(3))
        hands.pass_(11.0)
        eventually(client, expired=1, defaults=0, pending=0)
        buckets = client.get("/v1/policies/p/history").json()["buckets"]
        assert sum(one["defaults"] for one in buckets) == 0
    events = sqlite3.connect(tmp_path / "eigenbandits.sqlite")
    assert [row[0] for row in events.execute("SELECT kind FROM events ORDER BY position")] == ["decide", "expire"]
    events.close()
