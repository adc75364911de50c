"""Retention: what has ended longer ago than it is kept goes, and the policy stays what it was."""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing

import httpx
import numpy as np
import pytest
from tests.serve.bodies import code, create, decide, reward
from tests.serve.clocks import ManualClock, eventually

from eigenbandits.serve import Settings, running
from eigenbandits.serve.storage import database_of
from eigenbandits.serve.storage.journal import Journal
from eigenbandits.serve.writer import verify

SETS = np.random.default_rng(0).standard_normal((60, 5, 4))


def rows(settings, table: str) -> int:
    connection = database_of(settings).connect()
    try:
        return int(connection.execute(f"SELECT COUNT(*) FROM {table}")[0][0])
    finally:
        connection.close()


def wait(condition) -> None:
    deadline = time.monotonic() + 30.0
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def pairs(client, sets, **more) -> list[str]:
    made = [decide(client, actions, **more).json()["decision"] for actions in sets]
    for id_ in made:
        assert reward(client, id_, 0.5).status_code == 200
    return made


def test_old_decisions_go_and_the_policy_comes_back_bit_for_bit(place):
    clock, settings = ManualClock(), Settings(**place, port=0, keep="1h", snapshot_events=10)
    with running(settings, clock.made()) as server, httpx.Client(base_url=server.url) as client:
        create(client, algorithm="EigenUCB", parameters={"seed": 0}, time_to_live=1e6)
        old = pairs(client, SETS[:20])
        late = decide(client, SETS[20]).json()["decision"]
        clock.advance(1800.0)
        # Two snapshots are taken past the old ones; but they are not old enough yet.
        young = pairs(client, SETS[21:45])
        wait(lambda: len(server.writer._maintenance._stored.get(1, [])) == 2)
        time.sleep(1.2)
        assert rows(settings, "decisions") == 45
        clock.advance(1801.0)
        wait(lambda: rows(settings, "decisions") <= 25)
        assert rows(settings, "rewards") <= 25
        head = server.writer.registry.policy("p").head
        assert 0 < head.dropped_through < head.position
        assert rows(settings, "events") <= head.position - head.dropped_through
        assert code(reward(client, old[0], 1.0)) == (404, "unknown_decision")
        # What waits for its reward is over after that time, too.
        eventually(client, expired=1, pending=0)
        assert code(reward(client, late, 1.0)) == (409, "expired")
        assert reward(client, young[-1], 0.5).json()["status"] == "repeated"
        counts = client.get("/v1/policies/p").json()
        assert (counts["decisions"], counts["rewards"]) == (45, 44)
        pairs(client, SETS[45:50])
        expected = client.get("/v1/policies/p/snapshot").content
        # The end comes without another snapshot.
        server.writer.registry.policy("p").since_snapshot = 0
    ((line, same),) = verify.differences(database_of(settings))
    assert same
    assert "each with the log after it, agree bit for bit" in line
    with running(settings, clock.made()) as server, httpx.Client(base_url=server.url) as client:
        assert client.get("/v1/policies/p/snapshot").content == expected
        export = client.get("/v1/policies/p/export", params={"rewarded": "false"})
        assert export.status_code == 200


def test_a_difference_between_the_snapshots_is_found(tmp_path):
    clock, settings = ManualClock(), Settings(folder=tmp_path, port=0, keep="1h", snapshot_events=10)
    with running(settings, clock.made()) as server, httpx.Client(base_url=server.url) as client:
        create(client)
        pairs(client, SETS[:40])
        wait(lambda: len(server.writer._maintenance._stored.get(1, [])) == 2)
        clock.advance(3601.0)
        wait(lambda: server.writer.registry.policy("p").head.dropped_through > 0)
        pairs(client, SETS[40:50])
    # One reward in the log after the older snapshot is another one.
    with closing(sqlite3.connect(tmp_path / "eigenbandits.sqlite")) as database, database:
        first = sorted(int(path.stem.split("-")[1]) for path in (tmp_path / "snapshots").glob("1-*.eb"))[0]
        sql = "SELECT position, content FROM events WHERE kind = 'learn' AND position > ? ORDER BY position"
        position, content = database.execute(sql, (first,)).fetchone()
        changed = content[:-8] + np.float64(99.0).tobytes()
        database.execute("UPDATE events SET content = ? WHERE position = ?", (changed, position))
    ((line, same),) = verify.differences(database_of(settings))
    assert not same
    assert "DIFFER" in line


def test_a_list_stays_until_all_of_it_has_ended(tmp_path):
    clock, settings = ManualClock(), Settings(folder=tmp_path, port=0, keep="1h", snapshot_events=4)
    with running(settings, clock.made()) as server, httpx.Client(base_url=server.url) as client:
        create(client, algorithm="EigenUCB", parameters={"seed": 0})
        made = [one["decision"] for one in decide(client, SETS[0], count=3).json()["decisions"]]
        assert reward(client, made[0], 1.0).status_code == 200
        clock.advance(3000.0)
        for actions in SETS[1:10]:
            pairs(client, [actions])
            time.sleep(0.1)
        wait(lambda: len(server.writer._maintenance._stored.get(1, [])) == 2)
        hosted = server.writer.registry.policy("p")
        # As after a restart: nothing of it is in memory.
        hosted._open.clear()
        journal = Journal(database_of(settings).connect())
        # The first row ended more than an hour ago, the others have a few seconds left.
        clock.advance(598.0)
        assert reward(client, made[2], 0.25).json()["status"] == "learned"
        clock.advance(600.0)
        eventually(client, expired=1)
        assert 1 in journal.decisions_of(1, [1])
        for actions in SETS[10:30]:
            pairs(client, [actions])
            time.sleep(0.05)
        clock.advance(3700.0)
        wait(lambda: not journal.decisions_of(1, [1, 2, 3]))
        journal.connection.close()
        expected = client.get("/v1/policies/p/snapshot").content
        hosted.since_snapshot = 0
    with running(settings, clock.made()) as server, httpx.Client(base_url=server.url) as client:
        assert client.get("/v1/policies/p/snapshot").content == expected


def test_without_the_setting_everything_is_kept(tmp_path):
    clock, settings = ManualClock(), Settings(folder=tmp_path, port=0, snapshot_events=5)
    with running(settings, clock.made()) as server, httpx.Client(base_url=server.url) as client:
        create(client)
        pairs(client, SETS[:30])
        wait(lambda: len(server.writer._maintenance._stored.get(1, [])) == 2)
        clock.advance(1e9)
        time.sleep(1.5)
    assert rows(settings, "decisions") == rows(settings, "rewards") == 30
    assert [same for _, same in verify.differences(database_of(settings))] == [True]


@pytest.mark.parametrize("text", ["90", "d", "-1d", "1.5h", "0d", "90 d", "1w", "٣d"])
def test_a_time_that_is_none_is_refused(text):
    with pytest.raises(ValueError, match=r"keep is .* expected a number and a unit"):
        Settings(keep=text)


@pytest.mark.parametrize(("text", "seconds"), [("45s", 45.0), ("30m", 1800.0), ("12h", 43200.0), ("90d", 7_776_000.0)])
def test_times(text, seconds):
    assert Settings(keep=text).keep_seconds == seconds
