"""Maintenance: decisions that expire, clocks that jump, snapshots and pruning."""

from __future__ import annotations

import sqlite3
import time

import httpx
import numpy as np
import pyarrow.parquet as pq
from tests.serve.bodies import code, create, decide, reward
from tests.serve.clocks import ManualClock, eventually
from tests.serve.metrics import samples

from eigenbandits.serve import Settings, running
from eigenbandits.serve.storage import database_of
from eigenbandits.serve.storage.journal import Journal
from eigenbandits.serve.writer import maintenance, verify

RNG = np.random.default_rng(0)
ACTIONS = RNG.standard_normal((40, 6))


def test_many_decisions_that_end_at_once_do_not_block_the_others(tmp_path):
    clock, settings = ManualClock(), Settings(folder=tmp_path, port=0)
    with running(settings, clock.made()) as server, httpx.Client(base_url=server.url, timeout=30.0) as client:
        create(client, time_to_live=100.0, default_reward=0.0)
        create(client, "other")
        sets = np.ones((1000, 1, 2), dtype="<f4")
        raw = {"content-type": "application/octet-stream"}
        client.post("/v1/policies/p/decide/batch?dim=2&sets=1000", content=sets.tobytes(), headers=raw)
        clock.advance(101.0)
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
        clock.advance(50.0)
        assert reward(client, late, 1.0).status_code == 200
        decide(client, np.eye(2))
        clock.advance(101.0)
        eventually(client, defaults=1001, pending=0)


def test_pruning_waits_until_both_snapshots_are_past_the_reward(tmp_path):
    settings = Settings(folder=tmp_path, port=0, snapshot_events=6)
    with running(settings) as server, httpx.Client(base_url=server.url) as client:
        create(client, keep_sets=False, parameters={"noise": 0.5, "center": "set"})
        late = [decide(client, RNG.standard_normal((3, 4))).json()["decision"] for _ in range(4)]
        deadline = time.monotonic() + 30.0
        while server.writer.registry.policy("p").head.pruned_through == 0:
            assert time.monotonic() < deadline
            reward(client, decide(client, RNG.standard_normal((3, 4))).json()["decision"], 1.0)
            time.sleep(0.05)
        for id_ in late:
            assert reward(client, id_, 0.5).json()["status"] == "learned"
        time.sleep(1.2)
        expected = client.get("/v1/policies/p/snapshot").content
        # The end comes without another snapshot.
        server.writer.registry.policy("p").since_snapshot = 0
    with running(settings) as server, httpx.Client(base_url=server.url) as client:
        assert client.get("/v1/policies/p/snapshot").content == expected


def test_what_was_replayed_counts_towards_the_next_snapshot(tmp_path):
    settings = Settings(folder=tmp_path, port=0)
    for _ in range(2):
        with running(settings) as server, httpx.Client(base_url=server.url) as client:
            create(client)
            reward(client, decide(client, np.eye(3)).json()["decision"], 1.0)
            hosted = server.writer.registry.policy("p")
            counted, hosted.since_snapshot = hosted.since_snapshot, 0
    assert counted == 4


def test_decisions_that_end_without_a_reward_are_no_defaults(tmp_path):
    clock, settings = ManualClock(), Settings(folder=tmp_path, port=0)
    with running(settings, clock.made()) as server, httpx.Client(base_url=server.url) as client:
        create(client, time_to_live=10.0)
        decide(client, np.eye(3))
        clock.advance(11.0)
        eventually(client, expired=1, defaults=0, pending=0)
        buckets = client.get("/v1/policies/p/history").json()["buckets"]
        assert sum(one["defaults"] for one in buckets) == 0
    events = sqlite3.connect(tmp_path / "eigenbandits.sqlite")
    assert [row[0] for row in events.execute("SELECT kind FROM events ORDER BY position")] == ["decide", "expire"]
    events.close()


def test_fewer_sets_are_pruned_at_a_time_when_they_take_long(tmp_path, monkeypatch):
    """Large sets take long, and all requests wait for them."""
    monkeypatch.setattr(maintenance, "_AT_ONCE", 40)
    # Whatever they take is too long.
    monkeypatch.setattr(maintenance, "_SWEEP", 0.0)
    prune, replace, taken = maintenance.Maintenance._prune, Journal.replace_contents, []
    monkeypatch.setattr(maintenance.Maintenance, "_prune", lambda *_: None)

    def count(journal, policy, contents):
        taken.append(len(contents))
        replace(journal, policy, contents)

    monkeypatch.setattr(Journal, "replace_contents", count)
    settings = Settings(folder=tmp_path, port=0, snapshot_events=200)
    with running(settings) as server, httpx.Client(base_url=server.url) as client:
        create(client, keep_sets=False)
        deadline = time.monotonic() + 60.0
        while len(server.writer._maintenance._stored.get(1, [])) < 2:
            assert time.monotonic() < deadline
            reward(client, decide(client, ACTIONS).json()["decision"], 1.0)
        monkeypatch.setattr(maintenance.Maintenance, "_prune", prune)
        hosted = server.writer.registry.policy("p")
        while hosted.head.pruned_through < server.writer._maintenance._stored[1][0]:
            assert time.monotonic() < deadline
            time.sleep(0.01)
    assert taken[:2] == [40, 20]
    assert taken[2:-1] == [10] * (len(taken) - 3)


def test_settled_sets_can_be_pruned_and_the_policy_still_comes_back(tmp_path):
    settings = Settings(folder=tmp_path, port=0, snapshot_events=8)
    with running(settings) as server, httpx.Client(base_url=server.url) as client:
        create(client, keep_sets=False)
        sets = RNG.standard_normal((60, 5, 6))
        for actions in sets:
            reward(client, decide(client, actions).json()["decision"], 1.0)
        deadline = time.monotonic() + 20.0
        while server.writer.registry.policy("p").head.pruned_through < 20:
            assert time.monotonic() < deadline
            reward(client, decide(client, sets[0]).json()["decision"], 1.0)
            time.sleep(0.05)
        expected = client.get("/v1/policies/p/snapshot").content
        answer = client.get("/v1/policies/p/export", params={"columns": "all", "rewarded": "false"})
        (tmp_path / "log.parquet").write_bytes(answer.content)
    rows = pq.read_table(tmp_path / "log.parquet").to_pylist()
    assert len(rows[0]["actions"]) == 1
    assert len(rows[-1]["actions"]) == 5
    assert any(np.allclose(rows[0]["actions"][0], row, rtol=1e-6) for row in sets[0])
    with running(settings) as server, httpx.Client(base_url=server.url) as client:
        assert client.get("/v1/policies/p/snapshot").content == expected
        create(client, "other")
    # Without a whole snapshot nothing leads to it any more, which must not keep the others from going on.
    for file in (tmp_path / "snapshots").iterdir():
        file.write_bytes(file.read_bytes()[:100])
    with running(settings) as server, httpx.Client(base_url=server.url) as client:
        assert client.get("/ready").status_code == 200
        assert decide(client, sets[0], "other").status_code == 200
        assert code(decide(client, sets[0])) == (503, "unavailable")
        assert code(create(client)) == (409, "policy_exists")
        (warning,) = client.get("/v1/status").json()["warnings"]
        assert "'p' cannot be rebuilt" in warning
        assert samples(client)["eigenbandits_broken_policies",] == 1.0
        assert client.delete("/v1/policies/p").status_code == 204
        assert create(client).status_code == 201


def test_a_clock_that_jumps_ends_no_decision_early_and_keeps_none_for_ever(tmp_path, caplog):
    clock, settings = ManualClock(), Settings(folder=tmp_path, port=0)
    with running(settings, clock.made()) as server, httpx.Client(base_url=server.url) as client:
        create(client, time_to_live=100.0, default_reward=0.0)
        first = decide(client, ACTIONS[:5]).json()["decision"]
        clock.wall += 1e6
        deadline = time.monotonic() + 10.0
        while not any("clock jumped" in record.getMessage() for record in caplog.records):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        eventually(client, pending=1, defaults=0)
        second = decide(client, ACTIONS[:5]).json()["decision"]
        clock.wall -= 2e6
        clock.advance(99.0)
        time.sleep(0.7)
        eventually(client, pending=2, defaults=0)
        assert reward(client, second, 1.0).json()["status"] == "learned"
        clock.advance(2.0)
        eventually(client, pending=0, defaults=1)
        assert code(reward(client, first, 1.0)) == (409, "expired")
        assert reward(client, first, 0.0).json()["status"] == "repeated"
        third = decide(client, ACTIONS[:5]).json()
        expected = client.get("/v1/policies/p/snapshot").content
    # Started again with the wall clock a million seconds behind what the log has seen.
    with running(settings, clock.made()) as server, httpx.Client(base_url=server.url) as client:
        assert client.get("/v1/policies/p/snapshot").content == expected
        assert reward(client, third["decision"], 1.0).json()["status"] == "learned"
        last = decide(client, ACTIONS[:5]).json()["decision"]
        clock.advance(101.0)
        eventually(client, pending=0, defaults=2)
        assert code(reward(client, last, 1.0)) == (409, "expired")
    assert [same for _, same in verify.differences(database_of(settings))] == [True]


def test_without_a_default_a_decision_ends_with_no_reward(tmp_path):
    clock = ManualClock()
    with (
        running(Settings(folder=tmp_path, port=0), clock.made()) as server,
        httpx.Client(base_url=server.url) as client,
    ):
        create(client, time_to_live=10.0)
        made = decide(client, ACTIONS[:5]).json()["decision"]
        clock.advance(11.0)
        eventually(client, pending=0, expired=1, rewards=0)
        assert code(reward(client, made, 1.0)) == (409, "expired")
        diagnostics = client.get("/v1/policies/p/diagnostics").json()["diagnostics"]
        assert diagnostics["rewards_learned"] == 0


def test_one_start_with_the_clock_ten_years_ahead_does_no_harm(tmp_path, caplog):
    clock, settings, years = ManualClock(), Settings(folder=tmp_path, port=0), 10 * 365 * 86_400.0
    with running(settings, clock.made()) as server, httpx.Client(base_url=server.url) as client:
        create(client, time_to_live=100.0, default_reward=0.0)
        first = [decide(client, ACTIONS[:5]).json()["decision"] for _ in range(2)]
    clock.wall += years
    with running(settings, clock.made()) as server, httpx.Client(base_url=server.url) as client:
        assert any("far from where the log ends" in record.getMessage() for record in caplog.records)
        at_rest(server)
        eventually(client, pending=2, defaults=0)
        assert reward(client, first[0], 1.0).json()["status"] == "learned"
        wrong = decide(client, ACTIONS[:5]).json()["decision"]
    clock.wall -= years
    with running(settings, clock.made()) as server, httpx.Client(base_url=server.url) as client:
        assert server.writer.clock.now() == clock.wall
        at_rest(server)
        eventually(client, pending=2, defaults=0)
        assert reward(client, wrong, 1.0).json()["status"] == "learned"
        last = decide(client, ACTIONS[:5]).json()["decision"]
        # In the past, at once; in this run, after its own time to live.
        clock.advance(99.0)
        at_rest(server)
        assert reward(client, last, 1.0).json()["status"] == "learned"
        clock.advance(2.0)
        eventually(client, pending=0, defaults=1)
        assert len(client.get("/v1/policies/p/history").json()["buckets"]) >= 1
    assert [same for _, same in verify.differences(database_of(settings))] == [True]


def at_rest(server):
    """Wait until the writer has looked for what is over."""
    seen = server.writer._maintenance.rounds
    deadline = time.monotonic() + 20.0
    while server.writer._maintenance.rounds < seen + 2:
        assert time.monotonic() < deadline
        time.sleep(0.02)
