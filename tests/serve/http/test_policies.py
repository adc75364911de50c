"""Policies that are edited: what changes, for which decisions, and what does not."""

from __future__ import annotations

import httpx
import pytest
from tests.serve.bodies import code, create, decide, reward
from tests.serve.clocks import ManualClock, eventually

from eigenbandits.serve import Client, Settings, running
from eigenbandits.serve.storage import database_of
from eigenbandits.serve.writer import verify

SET = [[1.0, 0.0], [0.0, 2.0]]


def edit(client, **changes):
    return client.patch("/v1/policies/p", json=changes)


def test_a_shorter_time_to_live_holds_for_decisions_that_wait_and_survives_a_restart(place):
    clock, settings = ManualClock(), Settings(**place, port=0)
    with running(settings, clock.made()) as server, httpx.Client(base_url=server.url, timeout=30.0) as client:
        create(client, time_to_live=1000.0)
        decide(client, SET)
        clock.advance(101.0)
        # So that it has been looked for decisions that are over, with the long time to live.
        rounds = server.writer._maintenance.rounds
        while server.writer._maintenance.rounds < rounds + 2:
            client.get("/health")
        assert client.get("/v1/policies/p").json()["pending"] == 1
        with Client(server.url) as own:
            changed = own.edit_policy("p", time_to_live=100.0, default_reward=0.25)
        assert (changed["time_to_live"], changed["default_reward"]) == (100.0, 0.25)
        eventually(client, pending=0, defaults=1)
    with running(settings, clock.made()) as server, httpx.Client(base_url=server.url) as client:
        found = client.get("/v1/policies/p").json()
        assert (found["time_to_live"], found["default_reward"], found["defaults"]) == (100.0, 0.25, 1)
        assert edit(client, time_to_live=None).json()["time_to_live"] is None
    assert [same for _, same in verify.differences(database_of(settings))] == [True]


def test_bounds_hold_from_now_on(service):
    create(service)
    made = [decide(service, SET).json()["decision"] for _ in range(2)]
    assert edit(service, least_reward=0.0, largest_reward=1.0).status_code == 200
    assert reward(service, made[0], 2.0).status_code == 400
    assert edit(service, largest_reward=None).json()["least_reward"] == 0.0
    assert reward(service, made[0], 2.0).status_code == 200
    assert reward(service, made[1], -1.0).status_code == 400


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"parameters": {"seed": 1}}, "parameters"),
        ({"time_to_live": 0.0}, "time_to_live"),
        ({"default_reward": True}, "default_reward"),
        ({"time_to_live": None}, "learn_at"),
        ({"least_reward": 2.0}, "default_reward"),
        ({"least_reward": 2.0, "largest_reward": 1.0}, "least_reward"),
    ],
)
def test_what_does_not_fit_changes_nothing(service, changes, field):
    create(service, time_to_live=10.0, default_reward=0.0, learn_at="time_to_live")
    before = service.get("/v1/policies/p").json()
    refused = edit(service, **changes)
    assert code(refused)[0] == 400
    assert refused.json()["error"]["field"] == field
    assert service.get("/v1/policies/p").json() == before


def test_a_policy_that_is_not_there_cannot_be_edited(service):
    assert code(edit(service)) == (404, "unknown_policy")
