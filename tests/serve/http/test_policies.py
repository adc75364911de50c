"""Policies that are edited, and clones: what changes, for which decisions, and what does not."""

from __future__ import annotations

import httpx
import numpy as np
import pytest
from tests.serve.bodies import code, create, decide, reward
from tests.serve.clocks import ManualClock, eventually

import eigenbandits as eb
from eigenbandits.policy import files
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


def test_a_clone_goes_on_where_the_other_was_and_each_learns_alone(place):
    settings = Settings(**place, port=0)
    rng = np.random.default_rng(0)
    sets = rng.standard_normal((40, 4, 3)).astype(np.float32)
    # What both should do: a policy of the library, copied after twenty rounds.
    plain = eb.EigenTS(seed=1)
    with running(settings) as server, Client(server.url) as client:
        client.create_policy("first", "EigenTS", {"seed": 1}, observe_after=10**9, time_to_live=60.0)
        for actions in sets[:20]:
            made, expected = client.decide("first", actions), plain.choose(actions)
            assert made.index == expected.index
            client.reward("first", made, float(actions[made.index, 0]))
            plain.learn(expected, float(actions[expected.index, 0]))
        for _ in range(2):
            cloned = client.clone_policy("second", "first", time_to_live=30.0)
        assert (cloned["clone_of"], cloned["time_to_live"], cloned["decisions"]) == ("first", 30.0, 0)
        assert cloned["parameters"] == {"seed": 1}
        for name, sign in (("first", 1.0), ("second", -1.0)):
            copied = files.from_bytes(files.to_bytes(plain))
            for actions in sets[20:]:
                made, expected = client.decide(name, actions), copied.choose(actions)
                assert (made.index, made.estimate) == (expected.index, expected.estimate)
                client.reward(name, made, sign * float(actions[made.index, 0]))
                copied.learn(expected, sign * float(actions[expected.index, 0]))
        client.delete_policy("first")
    # From the log alone, in which the other policy is no more.
    assert [same for _, same in verify.differences(database_of(settings))] == [True]


def test_a_clone_has_the_algorithm_of_the_other(service):
    create(service)
    refused = service.post("/v1/policies", json={"name": "q", "clone_of": "p", "algorithm": "LinUCB"})
    assert (refused.status_code, refused.json()["error"]["field"]) == (400, "algorithm")
    assert code(service.post("/v1/policies", json={"name": "q", "clone_of": "none"})) == (404, "unknown_policy")
