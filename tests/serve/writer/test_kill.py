"""The server is killed with -9 again and again under load: nothing acknowledged is lost, nothing is counted twice.

EIGENBANDITS_TEST_KILLS=20 pytest tests/serve/writer/test_kill.py
"""

from __future__ import annotations

import os
import struct
from typing import Any

import numpy as np
import pytest
from tests.serve.processes import ServerProcess
from tests.serve.writer import kill_clients

import eigenbandits as eb
from eigenbandits.policy import files
from eigenbandits.serve import Settings
from eigenbandits.serve.storage import database_of
from eigenbandits.serve.storage.journal import Journal
from eigenbandits.serve.writer import verify

KILLS = int(os.environ.get("EIGENBANDITS_TEST_KILLS", "3"))


@pytest.mark.timeout(120 + 60 * KILLS)
def test_nothing_is_lost_and_nothing_counts_twice(place):
    server = ServerProcess(
        place["folder"], "--snapshot-events", "60", *(["--database", place["database"]] if "database" in place else [])
    )
    crowd = kill_clients.run(server, KILLS, seed=3)
    final = {name: server.call("GET", f"/v1/policies/{name}/snapshot")[1] for name in kill_clients.POLICIES}
    told = {name: server.call("GET", f"/v1/policies/{name}")[1] for name in kill_clients.POLICIES}
    seen = {
        name: server.call("GET", f"/v1/policies/{name}/diagnostics")[1]["diagnostics"] for name in kill_clients.POLICIES
    }
    server.kill()

    database = database_of(Settings(**place))
    connection = database.connect()
    decisions: dict[str, dict[int, Any]] = {}
    rewards: dict[str, dict[int, Any]] = {}
    logs: dict[str, list[tuple[str, bytes]]] = {}
    for row in Journal(connection).policies():
        id_, name = row.id, row.name
        sql = "SELECT number, chosen, content FROM decisions WHERE policy = ? ORDER BY number"
        decisions[name] = {
            number: (chosen, bytes(content)) for number, chosen, content in connection.execute(sql, (id_,))
        }
        sql = "SELECT number, reward, kind FROM rewards WHERE policy = ?"
        rows = connection.execute(sql, (id_,))
        rewards[name] = {number: (reward, kind) for number, reward, kind in rows}
        assert len(rows) == len(rewards[name])
        sql = "SELECT kind, content FROM events WHERE policy = ? ORDER BY position"
        logs[name] = [(kind, bytes(content)) for kind, content in connection.execute(sql, (id_,))]
    verdicts = list(verify.differences(database))
    connection.close()

    acknowledged = 0
    for client in crowd:
        assert client.surprises == []
        for (policy, made), answer in client.decided.items():
            assert decisions[policy][int(made.split("-")[2])][0] == answer["index"]
        for (policy, made), reward in client.rewarded.items():
            assert rewards[policy][int(made.split("-")[2])] in ((reward, "given"), (0.25, "default"))
            acknowledged += 1
    assert acknowledged > 20 * KILLS
    answers = [(policy, id_) for client in crowd for policy, id_ in client.decided]
    assert len(answers) == len(set(answers)), "two clients were given the same decision"

    assert [same for _, same in verdicts] == [True, True], verdicts
    for name in kill_clients.POLICIES:
        # Every reward that is in the table has been learned once, and nothing else has.
        assert seen[name]["rewards_learned"] == len(rewards[name]) == told[name]["rewards"] + told[name]["defaults"]
        assert told[name]["decisions"] == len(decisions[name]) == seen[name]["rounds"]
    twin = policy_from_log(told["drawn"]["parameters"], logs["drawn"], decisions["drawn"])
    assert final["drawn"] == files.to_bytes(twin)


def policy_from_log(parameters, log, decisions):
    """Build a policy from the bytes of its log, with nothing of the service but the layout of those bytes."""
    policy = eb.ProjectedThompson(**parameters)
    open_ = {}
    for kind, content in log:
        if kind == "decide":
            first, count = struct.unpack("<qq", content)
            sets = []
            for number in range(first, first + count):
                form, rows, columns, _ = struct.unpack_from("<BIIq", decisions[number][1])
                assert form == 2  # numbers that came as JSON, in double precision
                sets.append(np.frombuffer(decisions[number][1], "<f8", offset=17).reshape(rows, columns))
            made = [policy.choose(sets[0])] if count == 1 else policy.choose_many(sets)
            for number, decision in zip(range(first, first + count), made, strict=True):
                assert decision.index == decisions[number][0]
                open_[number] = decision
        else:
            half = len(content) // 2
            numbers, rewards = np.frombuffer(content[:half], "<i8"), np.frombuffer(content[half:], "<f8")
            taken = [open_.pop(number) for number in numbers.tolist()]
            if len(taken) == 1:
                policy.learn(taken[0], float(rewards[0]))
            else:
                policy.learn_many(taken, rewards)
    return policy
