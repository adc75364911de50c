"""Recovery: damaged snapshots, snapshots of another history, and the proof beside a running server."""

from __future__ import annotations

import shutil
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import httpx
import numpy as np
import pytest
from tests.serve.bodies import code, create, decide, reward

from eigenbandits.serve import Settings, running
from eigenbandits.serve.storage import database_of
from eigenbandits.serve.writer import verify
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
    with running(settings) as server, httpx.Client(base_url=server.url) as client:
        assert server.writer.registry.policy("p").snapshot_position == int(files[0].stem.split("-")[1]) > 0
        assert client.get("/v1/policies/p/snapshot").content == expected


def test_a_snapshot_that_is_no_snapshot():
    for content in (b"", b"x", b"eigenbandits-snapshot-1\n" + bytes(40)):
        with pytest.raises(ValueError, match="cut short or damaged"):
            unpack_snapshot(content)


def test_a_policy_of_another_version_is_left_out_and_the_others_go_on(tmp_path):
    """Parameters that this version of the library does not know, in one of two policies."""
    settings = Settings(folder=tmp_path, port=0)
    with running(settings) as server, httpx.Client(base_url=server.url) as client:
        for name in ("p", "q"):
            create(client, name)
    with closing(sqlite3.connect(tmp_path / "eigenbandits.sqlite")) as database:
        database.execute("""UPDATE policies SET spec = replace(spec, '"noise"', '"color"') WHERE name = 'p'""")
        database.commit()
    with running(settings) as server, httpx.Client(base_url=server.url) as client:
        assert client.get("/ready").status_code == 200
        assert decide(client, ACTIONS[:5], "q").status_code == 200
        assert code(decide(client, ACTIONS[:5])) == (503, "unavailable")
        (warning,) = client.get("/v1/status").json()["warnings"]
        assert "'p' cannot be rebuilt" in warning
        assert "'color'" in warning
    verdicts = list(verify.differences(database_of(settings)))
    assert [same for _, same in verdicts] == [False, True]
    assert verdicts[0][0].startswith("p: cannot be rebuilt: ")


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
