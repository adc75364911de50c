"""Deciders, the learner, all of them or the database are killed with -9 under load: nothing is lost or counts twice.

EIGENBANDITS_TEST_KILLS=60 pytest tests/serve/deciders/test_kill_deciders.py
"""

from __future__ import annotations

import os
import signal
import struct
import time
from typing import Any

import numpy as np
import pytest
from tests.serve.processes import ServerProcess
from tests.serve.writer import kill_clients

import eigenbandits as eb
from eigenbandits.policy import files
from eigenbandits.serve import Settings
from eigenbandits.serve.storage import database_of
from eigenbandits.serve.storage.lane_journal import LaneJournal
from eigenbandits.serve.writer import verify
from eigenbandits.serve.writer.policy_spec import PolicySpec

KILLS = int(os.environ.get("EIGENBANDITS_TEST_KILLS", "2"))


class Fleet(ServerProcess):
    """`eigenbandits serve --deciders 2`, whose processes can be killed one by one."""

    def call(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        # One of the deciders may be ready before the other; a connection to one that was killed waits for its return.
        deadline = time.monotonic() + 60.0
        while True:
            try:
                answer = super().call(method, path, body)
            except OSError as error:
                answer = 503, error
            # A refusal of a GET is an answer; none at all, from a machine that is busy, is not.
            if answer[0] != 503 or (method == "GET" and not isinstance(answer[1], OSError)):
                return answer
            assert time.monotonic() < deadline, answer
            time.sleep(0.05)

    def pid(self, name: str) -> int:
        return [one["pid"] for one in self.events() if one["event"] == "process started" and one["process"] == name][-1]

    def kill_one(self, name: str) -> None:
        os.kill(self.pid(name), signal.SIGKILL)

    def kill_all(self) -> None:
        for name in ("decider-0", "decider-1", "committing", "learner"):
            try:
                self.kill_one(name)
            except (ProcessLookupError, IndexError):
                continue  # there is none on PostgreSQL, or it ended a moment ago, and has not been started again
        self.kill()


def play(fleet: Fleet, cluster: Any, kills: int, seed: int) -> list[kill_clients.Client]:
    rng = np.random.default_rng(seed)
    fleet.start()
    fleet.wait_ready()
    kill_clients.set_up(fleet)
    crowd = [kill_clients.Client(fleet, seed * 100 + i) for i in range(6)]
    for client in crowd:
        client.start()
    targets = ["decider-0", "learner", "all", "decider-1", "committing" if cluster is None else "database"]
    # Every kind of death as often as every other, in an order by chance.
    order = [str(name) for _ in range(kills // len(targets) + 1) for name in rng.permutation(targets)][:kills]
    for target in order:
        time.sleep(rng.uniform(0.3, 1.2))
        if target == "database":
            cluster.crash()
            cluster.start()
        elif target == "all":
            fleet.kill_all()
            fleet.start()
        else:
            try:
                fleet.kill_one(target)
            except ProcessLookupError:
                continue
        fleet.wait_ready(seconds=180.0)
    time.sleep(0.5)
    for client in crowd:
        client.stopping.set()
    for client in crowd:
        client.join(30)
        assert not client.is_alive()
    return crowd


def wait_for_learner(database: Any, seconds: float = 180.0) -> None:
    """Wait until everything has been followed, nothing is open that will expire, and the last belief is out."""
    deadline = time.monotonic() + seconds
    while True:
        connection = database.connect()
        journal = LaneJournal(connection)
        through = {(row.policy, row.lane): row.through for row in journal.cursors()}
        tails = journal.tails()
        rows, versions = journal.policies(), journal.versions()
        connection.close()
        done = all(tail.last <= through.get((tail.policy, tail.lane), 0) for tail in tails)
        rest = not any(row.pending for row in rows if row.name == "drawn")
        if done and rest and all(row.position == versions.get(row.id) for row in rows):
            return
        assert time.monotonic() < deadline, (tails, through, rows, versions)
        time.sleep(0.2)


@pytest.mark.timeout(150 + 60 * KILLS)
def test_nothing_is_lost_and_nothing_counts_twice(place, request):
    cluster = request.getfixturevalue("cluster") if "database" in place else None
    options = ["--deciders", "2", "--snapshot-events", "60", "--publish-seconds", "0.2"]
    fleet = Fleet(place["folder"], *options, *(["--database", place["database"]] if cluster else []))
    crowd = play(fleet, cluster, KILLS, seed=3)
    database = database_of(Settings(**place))
    wait_for_learner(database)
    assert fleet.stop() == 0

    connection = database.connect()
    journal = LaneJournal(connection)
    verdicts = list(verify.differences(database))
    assert [same for _, same in verdicts] == [True, True], verdicts
    decisions: dict[str, dict[int, Any]] = {}
    rewards: dict[str, dict[int, Any]] = {}
    for row in journal.policies():
        sql = "SELECT number, chosen, content FROM decisions WHERE policy = ?"
        decisions[row.name] = {
            number: (chosen, bytes(text)) for number, chosen, text in connection.execute(sql, (row.id,))
        }
        sql = "SELECT number, reward, kind FROM rewards WHERE policy = ?"
        rewards[row.name] = {number: (reward, kind) for number, reward, kind in connection.execute(sql, (row.id,))}
        sql = "SELECT kind, content FROM events WHERE policy = ? ORDER BY position"
        log = [(kind, bytes(text)) for kind, text in connection.execute(sql, (row.id,))]
        # The log names every decision once and every reward once, and nothing else.
        followed = [number for kind, text in log if kind == "follow" for number in np.frombuffer(text, "<i8").tolist()]
        assert sorted(followed) == sorted(decisions[row.name])
        learned = [pair for kind, text in log if kind == "learn" for pair in pairs(text)]
        assert sorted(learned) == sorted((number, reward) for number, (reward, _) in rewards[row.name].items())
        assert (row.number, row.rewards + row.defaults) == (len(followed), len(learned))
        published = journal.belief(row.id)
        assert published is not None
        content = database.stored_belief(row.id, published.version, published.content)
        belief = files.from_bytes(content)
        assert belief.diagnostics().as_dict()["rewards_learned"] == len(rewards[row.name])
        if row.name == "drawn":
            parameters = PolicySpec.from_text(row.spec).parameters
            assert content == files.to_bytes(policy_from_log(parameters, log, decisions["drawn"]))
    connection.close()

    acknowledged = 0
    for client in crowd:
        assert client.surprises == []
        for (policy, made), answer in client.decided.items():
            assert decisions[policy][int(made.split("-")[-1])][0] == answer["index"]
        for (policy, made), reward in client.rewarded.items():
            assert rewards[policy][int(made.split("-")[-1])] in ((reward, "given"), (0.25, "default"))
            acknowledged += 1
    assert acknowledged > 20 * KILLS
    answers = [(policy, id_) for client in crowd for policy, id_ in client.decided]
    assert len(answers) == len(set(answers)), "two clients were given the same decision"
    print(f"{KILLS} kills, {len(answers)} decisions and {acknowledged} rewards acknowledged")


def pairs(content: bytes) -> list[tuple[int, float]]:
    half = len(content) // 2
    numbers, rewards = np.frombuffer(content[:half], "<i8"), np.frombuffer(content[half:], "<f8")
    return list(zip(numbers.tolist(), rewards.tolist(), strict=True))


def policy_from_log(parameters, log, decisions):
    """Build a policy from the bytes of its log, with nothing of the service but the layout of those bytes."""
    policy = eb.ProjectedThompson(**parameters)

    def offered(number):
        form, rows, columns, _ = struct.unpack_from("<BIIq", decisions[number][1])
        assert form == 2  # numbers that came as JSON, in double precision
        return np.frombuffer(decisions[number][1], "<f8", rows * columns, 17).reshape(rows, columns)

    for kind, content in log:
        if kind == "follow":
            for number in np.frombuffer(content, "<i8").tolist():
                policy.choose(offered(number))
        elif kind == "learn":
            learned = pairs(content)
            taken = np.array([offered(number)[decisions[number][0]] for number, _ in learned])
            if len(learned) == 1:
                policy.learn(taken[0], learned[0][1])
            else:
                policy.learn_many(taken, [reward for _, reward in learned])
        else:
            assert kind == "publish"
            policy.belief.follow(policy.subspace.frame())
    return policy
