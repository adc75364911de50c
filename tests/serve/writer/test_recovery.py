"""Recovery: damaged snapshots, snapshots of another history, and the proof beside a running server."""

from __future__ import annotations

import shutil
import socket
import sqlite3
import threading
import time
from contextlib import closing
from pathlib import Path

import httpx
import numpy as np
import pytest
from tests.serve.bodies import code, create, decide, reward

from eigenbandits.serve import Server, Settings, running
from eigenbandits.serve.storage import database_of
from eigenbandits.serve.writer import recovery, verify
from eigenbandits.serve.writer.recovery import pack_snapshot, unpack_snapshot

RNG = np.random.default_rng(0)
ACTIONS = RNG.standard_normal((40, 6))


def test_a_snapshot_of_another_history_is_never_taken(tmp_path):
    settings = Settings(folder=tmp_path / "data", port=0)
    file = settings.folder / "eigenbandits.sqlite"

    def go_on(rounds):
        with running(settings) as server, httpx.Client(base_url=server.url) as client:
            create(client, parameters={"noise": 0.5, "seed": 1})
            for _ in range(rounds):
                reward(client, decide(client, RNG.standard_normal((3, 4))).json()["decision"], 1.0)
            hosted = server.writer.registry.policy("p")
            return hosted.head.position, pack_snapshot(hosted.spec, hosted.policy.state())

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


def test_verify_beside_a_running_server_sees_one_moment(service, tmp_path):
    create(service)
    writer = service.server.writer
    database = database_of(writer.settings)
    for _ in range(3):
        for found in verify.differences(database):
            assert found[1], found
            reward(service, decide(service, np.eye(3)).json()["decision"], 1.0)
    rows = list(verify.differences(database))
    assert rows[0][0].startswith("p: 3 decisions, 3 rewards, ")


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
    # What is replayed must not lead to the next snapshot before it is looked at.
    with running(Settings(folder=tmp_path, port=0)) as server, httpx.Client(base_url=server.url) as client:
        assert server.writer.registry.policy("p").snapshot_position == int(files[0].stem.split("-")[1]) > 0
        assert client.get("/v1/policies/p/snapshot").content == expected


def test_a_snapshot_that_is_no_snapshot():
    for content in (b"", b"x", b"eigenbandits-snapshot-1\n" + bytes(40)):
        with pytest.raises(ValueError, match="truncated or damaged"):
            unpack_snapshot(content)


def test_a_late_reward_of_a_lost_decision_is_not_learned_as_another_ones(tmp_path):
    settings = Settings(folder=tmp_path / "data", port=0)
    file = settings.folder / "eigenbandits.sqlite"

    def decided(count):
        with running(settings) as server, httpx.Client(base_url=server.url) as client:
            create(client)
            return [decide(client, ACTIONS[:5]).json()["decision"] for _ in range(count)]

    kept = decided(2)
    shutil.copy(file, tmp_path / "backup")
    lost = decided(3)
    shutil.copy(tmp_path / "backup", file)
    for left in settings.folder.glob("*.sqlite-*"):
        left.unlink()
    fresh = decided(2)
    with running(settings) as server, httpx.Client(base_url=server.url) as client:
        answers = [reward(client, id_, 1.0) for id_ in lost]
        assert [code(answer) for answer in answers] == [(409, "other_epoch")] * 2 + [(404, "unknown_decision")]
        assert "restored from a backup" in answers[0].json()["error"]["message"]
        entries = [{"decision": id_, "reward": 1.0} for id_ in [*lost, *kept, *fresh]]
        results = client.post("/v1/policies/p/reward/batch", json={"rewards": entries}).json()["results"]
        assert [one["status"] for one in results] == ["refused"] * 3 + ["learned"] * 4
        assert code(reward(client, kept[0].split("-")[0] + "-1", 1.0)) == (409, "other_epoch")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("""replace(spec, '"noise"', '"color"')""", "'color'"),
        ("""replace(spec, '"PSLB"', '"Future"')""", "algorithm is 'Future'"),
        ("""replace(spec, '{"algorithm"', '{"later": 1, "algorithm"')""", "'later', which this version"),
        ("""'[]'""", "which this version"),
        ("""'{}'""", "are not complete"),
        ("""'{'""", "are not JSON"),
    ],
    ids=["parameter", "algorithm", "field", "list", "empty", "text"],
)
def test_each_policy_fails_alone_and_in_words(tmp_path, change, said):
    settings = Settings(folder=tmp_path, port=0)
    with running(settings) as server, httpx.Client(base_url=server.url) as client:
        for name in ("p", "q"):
            create(client, name)
        vectors = {"ids": ["a", "b"], "vectors": [[1.0, 2.0], [2.0, 1.0]]}
        client.put("/v1/catalogues/c", json=vectors)
    with closing(sqlite3.connect(tmp_path / "eigenbandits.sqlite")) as database:
        database.execute(f"UPDATE policies SET spec = {change} WHERE name = 'p'")
        database.commit()
    verdicts = list(verify.differences(database_of(settings)))
    assert [same for _, same in verdicts] == [False, True]
    assert verdicts[0][0].startswith("p: cannot be rebuilt: ")
    assert said in verdicts[0][0]
    with running(settings) as server, httpx.Client(base_url=server.url) as client:
        assert client.get("/ready").status_code == 200
        assert decide(client, ACTIONS[:5], "q").status_code == 200
        assert code(decide(client, ACTIONS[:5])) == (503, "unavailable")
        assert said in client.get("/v1/status").json()["warnings"][0]
        assert client.delete("/v1/catalogues/c").status_code == 204
        assert client.delete("/v1/policies/p").status_code == 204


def test_alive_is_not_ready(tmp_path, monkeypatch):
    """While policies are loaded, /health is answered, and everything else says what it waits for."""
    settings = Settings(folder=tmp_path, port=0)
    with running(settings) as server, httpx.Client(base_url=server.url) as client:
        create(client)
    loading, go_on = threading.Event(), threading.Event()
    load = recovery.load

    def slow(*args, **more):
        loading.set()
        assert go_on.wait(30.0)
        return load(*args, **more)

    monkeypatch.setattr(recovery, "load", slow)
    server = Server(settings)
    server.start()
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        assert loading.wait(30.0)
        with httpx.Client(base_url=server.url) as client:
            assert client.get("/health").json() == {"status": "ok"}
            answer = client.get("/ready")
            assert answer.status_code == 503
            assert answer.json()["reasons"] == ["the service is starting: 0 of 1 policies are loaded"]
            assert code(decide(client, ACTIONS[:5])) == (503, "unavailable")
            go_on.set()
            assert server.writer.loaded.wait(30.0)
            assert client.get("/ready").status_code == 200
            assert decide(client, ACTIONS[:5]).status_code == 200
    finally:
        go_on.set()
        server.http.should_exit = True
        thread.join()


def test_a_port_in_use_is_said_before_anything_is_opened(tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        server = Server(Settings(folder=tmp_path / "data", port=taken.getsockname()[1]))
        with pytest.raises(OSError, match=r"cannot listen on 127.0.0.1, port \d+ .*choose another port with --port"):
            server.start()
    assert not (tmp_path / "data").exists()
