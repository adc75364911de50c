"""A full disk, a database that goes away, a snapshot cut in half, a clock that jumps: said and survived."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import httpx
import numpy as np
from tests.serve.bodies import code, create, decide, reward
from tests.serve.processes import ServerProcess

from eigenbandits.serve import Settings, running, verify
from eigenbandits.serve.clock import Clock
from eigenbandits.serve.storage import database_of

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


def test_a_snapshot_cut_in_half(tmp_path):
    settings = Settings(folder=tmp_path, port=0)
    with running(settings) as server, httpx.Client(base_url=server.url) as client:
        create(client)
        for actions in ACTIONS.reshape(8, 5, 6):
            reward(client, decide(client, actions).json()["decision"], 1.0)
        expected = client.get("/v1/policies/p/snapshot").content
    (file,) = Path(tmp_path, "snapshots").iterdir()
    whole = file.read_bytes()
    flipped = bytearray(whole)
    flipped[len(whole) // 2] ^= 1
    for damaged in (whole[: len(whole) // 2], b"", bytes(flipped), b"x" * 5000):
        for old in Path(tmp_path, "snapshots").iterdir():
            old.unlink()
        file.write_bytes(damaged)
        with running(settings) as server, httpx.Client(base_url=server.url) as client:
            assert client.get("/v1/policies/p/snapshot").content == expected


def test_only_two_snapshots_are_kept_and_the_older_one_helps_too(tmp_path):
    settings = Settings(folder=tmp_path, port=0, snapshot_events=4)
    with running(settings) as server, httpx.Client(base_url=server.url) as client:
        create(client)
        for actions in ACTIONS.reshape(8, 5, 6):
            reward(client, decide(client, actions).json()["decision"], 1.0)
            time.sleep(0.05)
        expected = client.get("/v1/policies/p/snapshot").content
    files = sorted(Path(tmp_path, "snapshots").iterdir(), key=lambda file: int(file.stem.split("-")[1]))
    assert len(files) == 2
    files[-1].write_bytes(files[-1].read_bytes()[:1000])
    with running(settings) as server, httpx.Client(base_url=server.url) as client:
        assert server.engine.named("p").snapshot_position == int(files[0].stem.split("-")[1]) > 0
        assert client.get("/v1/policies/p/snapshot").content == expected


class Hands:
    """Clocks that a test sets: the wall clock may jump, the steady one only goes on."""

    def __init__(self) -> None:
        self.wall, self.steady = 1_000_000.0, 50.0

    def pass_(self, seconds: float) -> None:
        self.wall += seconds
        self.steady += seconds

    def clock(self) -> Clock:
        return Clock(lambda: self.wall, lambda: self.steady)


def eventually(client, **expected):
    deadline = time.monotonic() + 20.0
    while True:
        told = client.get("/v1/policies/p").json()
        if {key: told[key] for key in expected} == expected:
            return
        assert time.monotonic() < deadline, told
        time.sleep(0.05)


def test_a_clock_that_jumps_ends_no_decision_early_and_keeps_none_for_ever(tmp_path, caplog):
    hands, settings = Hands(), Settings(folder=tmp_path, port=0)
    with running(settings, hands.clock()) as server, httpx.Client(base_url=server.url) as client:
        create(client, time_to_live=100.0, default_reward=0.0)
        first = decide(client, ACTIONS[:5]).json()["decision"]
        hands.wall += 1e6
        deadline = time.monotonic() + 10.0
        while not any("clock jumped" in record.getMessage() for record in caplog.records):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        eventually(client, pending=1, defaults=0)
        second = decide(client, ACTIONS[:5]).json()["decision"]
        hands.wall -= 2e6
        hands.pass_(99.0)
        time.sleep(0.7)
        eventually(client, pending=2, defaults=0)
        assert reward(client, second, 1.0).json()["status"] == "learned"
        hands.pass_(2.0)
        eventually(client, pending=0, defaults=1)
        assert code(reward(client, first, 1.0)) == (409, "expired")
        assert reward(client, first, 0.0).json()["status"] == "repeated"
        third = decide(client, ACTIONS[:5]).json()
        expected = client.get("/v1/policies/p/snapshot").content
    # Started again with the wall clock a million seconds behind what the log has seen.
    with running(settings, hands.clock()) as server, httpx.Client(base_url=server.url) as client:
        assert client.get("/v1/policies/p/snapshot").content == expected
        assert reward(client, third["decision"], 1.0).json()["status"] == "learned"
        last = decide(client, ACTIONS[:5]).json()["decision"]
        hands.pass_(101.0)
        eventually(client, pending=0, defaults=2)
        assert code(reward(client, last, 1.0)) == (409, "expired")
    assert [same for _, same in verify.differences(database_of(settings))] == [True]


def test_without_a_default_a_decision_ends_with_no_reward(tmp_path):
    hands = Hands()
    with (
        running(Settings(folder=tmp_path, port=0), hands.clock()) as server,
        httpx.Client(base_url=server.url) as client,
    ):
        create(client, time_to_live=10.0)
        made = decide(client, ACTIONS[:5]).json()["decision"]
        hands.pass_(11.0)
        eventually(client, pending=0, expired=1, rewards=0)
        assert code(reward(client, made, 1.0)) == (409, "expired")
        diagnostics = client.get("/v1/policies/p/diagnostics").json()["diagnostics"]
        assert diagnostics["rewards_learned"] == 0
