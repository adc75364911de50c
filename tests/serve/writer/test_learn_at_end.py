"""Policies that learn when the time to live is over: clicks without zeros, rewards in parts, corrections."""

from __future__ import annotations

from typing import Any

import httpx
import numpy as np
import pytest
from tests.serve.bodies import code, create, decide, reward
from tests.serve.clocks import ManualClock, eventually
from tests.serve.metrics import samples

import eigenbandits as eb
from eigenbandits.policy import files
from eigenbandits.serve import Settings, running
from eigenbandits.serve.storage import database_of
from eigenbandits.serve.writer import verify

RNG = np.random.default_rng(0)
AT_END: dict[str, Any] = {"time_to_live": 100.0, "default_reward": 0.0, "learn_at": "time_to_live"}


def test_clicks_alone_do_not_make_the_mean(tmp_path):
    """500 decisions, 10 clicks: what is learned, and shown, is 10 of 500."""
    clock, settings = ManualClock(), Settings(folder=tmp_path, port=0)
    sets = RNG.standard_normal((500, 4, 3))
    with running(settings, clock.made()) as server, httpx.Client(base_url=server.url, timeout=30.0) as client:
        create(client, algorithm="OFUL", parameters={"noise": 0.5, "seed": 1}, **AT_END)
        ids, chosen = [], []
        for start in range(0, 500, 100):
            body = {"requests": [{"actions": one.tolist()} for one in sets[start : start + 100]]}
            made = client.post("/v1/policies/p/decide/batch", json=body).json()["decisions"]
            ids += [one["decision"] for one in made]
            chosen += [one["index"] for one in made]
        clicked = [7, 3, 490, 100, 101, 102, 250, 20, 60, 499]
        for i in clicked:
            assert reward(client, ids[i], 1.0).json()["status"] == "recorded"
        assert client.get("/v1/policies/p/diagnostics").json()["diagnostics"]["rewards_learned"] == 0
        assert client.get("/v1/policies/p").json()["pending"] == 500
        clock.advance(101.0)
        eventually(client, pending=0, rewards=10, defaults=490)
        assert samples(client)["eigenbandits_reward_mean", "p"] == 10 / 500
        buckets = client.get("/v1/policies/p/history").json()["buckets"]
        names = ("rewards", "reward_sum", "defaults", "default_sum")
        total = {name: sum(one[name] for one in buckets) for name in names}
        assert total == {"rewards": 10, "reward_sum": 10.0, "defaults": 490, "default_sum": 0.0}
        # The belief is that of a policy which has learned all of them, in their order.
        plain = eb.OFUL(noise=0.5, seed=1)
        decisions = [plain.choose(one) for one in sets]
        assert [one.index for one in decisions] == chosen
        for i, decision in enumerate(decisions):
            plain.learn(decision, float(i in clicked))
        served = files.from_bytes(files.to_bytes(server.writer.registry.policy("p").policy))
        probe = RNG.standard_normal((50, 3))
        assert served.choose(probe).estimate == pytest.approx(plain.choose(probe).estimate, rel=1e-6)
    assert [same for _, same in verify.differences(database_of(settings))] == [True]


def test_parts_add_up_and_corrections_replace(place):
    clock, settings = ManualClock(), Settings(**place, port=0)

    def sent(client, id_, value, **more):
        return client.post("/v1/policies/p/reward", json={"decision": id_, "reward": value} | more)

    with running(settings, clock.made()) as server, httpx.Client(base_url=server.url) as client:
        create(client, **AT_END)
        first, second = (decide(client, np.eye(3)).json()["decision"] for _ in range(2))
        assert sent(client, first, 0.25, part="click").json()["status"] == "recorded"
        assert sent(client, first, 0.25, part="click").json()["status"] == "repeated"
        assert code(sent(client, first, 0.5, part="click")) == (409, "different_reward")
        assert sent(client, first, 0.5, part="click", correct=True).json()["status"] == "corrected"
        assert sent(client, first, 2.0, part="purchase").json()["status"] == "recorded"
        assert sent(client, second, 1.0).json()["status"] == "recorded"
        body = {
            "rewards": [{"decision": second, "reward": -1.0, "correct": True}, {"decision": first, "reward": 0.125}]
        }
        results = client.post("/v1/policies/p/reward/batch", json=body).json()["results"]
        assert [one["status"] for one in results] == ["corrected", "recorded"]
    # What was recorded outlives a restart.
    with running(settings, clock.made()) as server, httpx.Client(base_url=server.url) as client:
        assert sent(client, second, -1.0).json()["status"] == "repeated"
        clock.advance(101.0)
        eventually(client, pending=0, rewards=2, defaults=0)
        connection = server.writer.database.connect()
        rows = connection.execute("SELECT number, reward, kind FROM rewards ORDER BY number")
        assert rows == [(1, 0.5 + 2.0 + 0.125, "given"), (2, -1.0, "given")]
        assert connection.execute("SELECT COUNT(*) FROM parts") == [(0,)]
        connection.close()
        assert code(sent(client, first, 9.0, part="late")) == (409, "different_reward")
    assert [same for _, same in verify.differences(database_of(settings))] == [True]


def test_what_does_not_fit_together_is_refused(service):
    for missing in ("time_to_live", "default_reward"):
        body = {name: value for name, value in AT_END.items() if name != missing}
        assert code(create(service, **body)) == (400, "invalid_request")
    assert code(create(service, least_reward=1.0, largest_reward=0.0)) == (400, "invalid_request")
    assert code(create(service, least_reward=0.0, default_reward=-1.0)) == (400, "invalid_request")
    create(service, least_reward=0.0, largest_reward=1.0)
    made = decide(service, np.eye(3)).json()["decision"]
    answer = reward(service, made, 1.5)
    assert code(answer) == (400, "reward_out_of_bounds")
    assert "from 0.0 to 1.0" in answer.json()["error"]["message"]
    for more in ({"part": "click"}, {"correct": True}):
        body = {"decision": made, "reward": 1.0} | more
        assert code(service.post("/v1/policies/p/reward", json=body)) == (409, "learned_at_once")
    for wrong in ({"correct": 1}, {"part": ""}, {"part": 5}, {"color": 1}):
        body = {"decision": made, "reward": 1.0} | wrong
        assert service.post("/v1/policies/p/reward", json=body).status_code in (400, 409)
    assert reward(service, made, 1.0).json()["status"] == "learned"
