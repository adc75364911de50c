"""Deciding and rewarding over HTTP does what the library does in one process."""

from __future__ import annotations

import numpy as np
import pytest
from tests.serve.bodies import BINARY, code, create, decide, packed, reward

import eigenbandits as eb
from eigenbandits.policy import files

RNG = np.random.default_rng(0)
ACTIONS = np.random.default_rng(1).standard_normal((3, 4))


def snapshot(client, name="p"):
    return client.get(f"/v1/policies/{name}/snapshot").content


def test_the_service_goes_as_the_library_does(service):
    made = create(service, algorithm="ProjectedThompson", parameters={"noise": 0.5, "seed": 7}, observe_after=10**6)
    assert made.status_code == 201
    twin = eb.ProjectedThompson(noise=0.5, seed=7)
    for round_ in range(1, 30):
        actions = RNG.standard_normal((int(RNG.integers(1, 9)), 5))
        answer, expected = decide(service, actions).json(), twin.choose(actions)
        told = [answer[key] for key in ("index", "round", "estimate", "upper", "propensity")]
        assert told == [expected.index, round_, expected.estimate, expected.upper, expected.propensity]
        assert answer["item"] is None
        if round_ % 3:
            twin.learn(expected, 0.5)
            assert reward(service, answer["decision"], 0.5).json()["status"] == "learned"
    assert snapshot(service) == files.to_bytes(twin)
    found = service.get("/v1/policies/p").json()
    assert (found["decisions"], found["rewards"], found["pending"], found["dim"]) == (29, 20, 9, 5)


def test_a_list_takes_as_much_of_the_log_as_its_policy_reads(service):
    """In single precision where the policy rounds it first, with the same choice; in double precision elsewhere."""
    actions = RNG.standard_normal((50, 40))
    for dtype in ("float32", "float64"):
        create(service, dtype, parameters={"seed": 1, "noise": 0.5, "dtype": dtype})
        answer = decide(service, actions, dtype).json()
        twin = eb.PSLB(seed=1, noise=0.5, dtype=dtype)
        assert (answer["index"], answer["upper"]) == ((made := twin.choose(actions)).index, made.upper)
        journal = service.server.writer._reading
        id_ = service.server.writer.registry.policy(dtype).id
        (row,) = journal.decisions(id_, 1, 1)
        size = actions.size * np.dtype(dtype).itemsize
        assert size <= len(row.content) < size + 1000


@pytest.mark.parametrize("center", ["none", "mean", "set", "differences"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_decision_read_from_the_log_again_teaches_the_same(shared_service, center, dtype):
    parameters = {"noise": 0.5, "seed": 7, "center": center, "dtype": dtype}
    name = f"{center}-{dtype}"
    create(shared_service, name, parameters=parameters)
    twin = eb.PSLB(**parameters)
    sets = [RNG.standard_normal((4, 5)).astype(np.float32) for _ in range(6)]
    made = []
    for actions in sets:
        body = actions.tobytes()
        made.append(
            shared_service.post(f"/v1/policies/{name}/decide?dim=5", content=body, headers=BINARY).json()["decision"]
        )
    decisions = [twin.choose(actions.astype(np.float64)) for actions in sets]
    # Nothing is in memory any more.
    shared_service.server.writer.registry.policy(name)._open.clear()
    for id_, decision in zip(made, decisions, strict=True):
        assert reward(shared_service, id_, 1.5, name).status_code == 200
        twin.learn(decision, 1.5)
    assert snapshot(shared_service, name) == files.to_bytes(twin)


def test_a_batch_is_one_choice_on_one_belief(service):
    create(service, parameters={"noise": 0.5, "seed": 7})
    twin = eb.PSLB(noise=0.5, seed=7)
    sets = RNG.standard_normal((6, 3, 4)).astype(np.float32)
    requests = [{"actions": packed(actions), "dim": 4} for actions in sets[:3]]
    answers = service.post("/v1/policies/p/decide/batch", json={"requests": requests}).json()["decisions"]
    raw = service.post("/v1/policies/p/decide/batch?dim=4&sets=3", content=sets[3:].tobytes(), headers=BINARY)
    answers += raw.json()["decisions"]
    expected = twin.choose_many(sets[:3].astype(np.float64)) + twin.choose_many(sets[3:].astype(np.float64))
    assert [answer["index"] for answer in answers] == [decision.index for decision in expected]
    rewards = [{"decision": answer["decision"], "reward": i / 2} for i, answer in enumerate(answers)]
    rewards += [rewards[0], {**rewards[1], "reward": 9.0}, {"decision": "99-1", "reward": 1.0}]
    results = service.post("/v1/policies/p/reward/batch", json={"rewards": rewards}).json()["results"]
    assert [one["status"] for one in results] == ["learned"] * 6 + ["repeated", "refused", "refused"]
    assert [one["error"]["code"] for one in results[7:]] == ["different_reward", "unknown_decision"]
    twin.learn_many(expected, [0.0, 0.5, 1.0, 1.5, 2.0, 2.5])
    assert snapshot(service) == files.to_bytes(twin)


def test_a_batch_of_decisions_is_all_or_none(service):
    create(service)
    wrong = {"requests": [{"actions": [[1.0, 2.0]]}, {"actions": [[1.0, 2.0, 3.0]]}]}
    assert code(service.post("/v1/policies/p/decide/batch", json=wrong)) == (400, "wrong_dimension")
    worse = {"requests": [{"actions": [[1.0, 2.0]]}, {"actions": [["one"]]}]}
    answer = service.post("/v1/policies/p/decide/batch", json=worse)
    assert answer.json()["error"]["field"] == "requests[1].actions"
    assert service.get("/v1/policies/p").json()["decisions"] == 0
    assert decide(service, [[1.0, 2.0, 3.0]]).status_code == 200


def test_a_reward_counts_once_and_the_first_one_stands(service):
    create(service)
    made = decide(service, RNG.standard_normal((3, 4))).json()["decision"]
    assert reward(service, made, 1.0).json() == {"decision": made, "status": "learned"}
    assert reward(service, made, 1.0).json() == {"decision": made, "status": "repeated"}
    assert code(reward(service, made, 0.5)) == (409, "different_reward")
    assert reward(service, made, 1.0).json()["status"] == "repeated"
    diagnostics = service.get("/v1/policies/p/diagnostics").json()["diagnostics"]
    assert diagnostics["rewards_learned"] == 1


def test_the_same_request_id_gives_the_same_decision(service):
    create(service)
    actions = RNG.standard_normal((3, 4))
    first = decide(service, actions, request="mine").json()
    assert decide(service, actions, request="mine").json() == first
    raw = service.post(
        "/v1/policies/p/decide", params={"request": "mine"}, content=actions.astype("<f4").tobytes(), headers=BINARY
    )
    assert raw.json() == first
    both = {"requests": [{"actions": actions.tolist(), "request": one} for one in ("mine", "new", "new")]}
    again = service.post("/v1/policies/p/decide/batch", json=both).json()["decisions"]
    assert again[0] == first
    assert again[1] == again[2] != first
    assert service.get("/v1/policies/p").json()["decisions"] == 2


@pytest.mark.parametrize(
    "id_",
    [
        "own-0",
        "own-2",
        "own-0-1",
        "own-g-1",
        "own-999999999999999999999",
        "99-1",
        "own",
        "",
        "own--1",
        "own-1 ",
        "x" * 200,
    ],
)
def test_decisions_that_were_never_made_are_unknown(shared_service, id_):
    # The number of the policy stands in front of its decisions.
    create(shared_service, "known")
    own = decide(shared_service, ACTIONS, "known", request="once").json()["decision"].split("-")[0]
    answer = reward(shared_service, id_.replace("own", own), 1.0, "known")
    assert code(answer) in [(404, "unknown_decision"), (409, "other_epoch"), (400, "invalid_request")]
    assert shared_service.get("/v1/policies/known").json()["rewards"] == 0


def test_what_the_policy_refuses_is_told_and_changes_nothing(service):
    create(service, parameters={"noise": 0.5, "rank": 9, "seed": 1})
    answer = decide(service, RNG.standard_normal((3, 4)))
    assert code(answer) == (400, "invalid_request")
    assert "rank is 9" in answer.json()["error"]["message"]
    assert snapshot(service) == files.to_bytes(eb.PSLB(noise=0.5, rank=9, seed=1))
    assert decide(service, RNG.standard_normal((3, 12))).status_code == 200


def test_a_request_id_is_for_one_body(service):
    create(service)
    first = decide(service, ACTIONS, request="mine").json()
    assert decide(service, ACTIONS, request="mine").json() == first
    assert code(decide(service, -ACTIONS, request="mine")) == (409, "different_request")
    assert code(decide(service, ACTIONS[:2], request="mine")) == (409, "different_request")
    entries = [{"actions": one.tolist(), "request": "twice"} for one in (ACTIONS, -ACTIONS)]
    assert code(service.post("/v1/policies/p/decide/batch", json={"requests": entries})) == (409, "different_request")
    assert service.get("/v1/policies/p").json()["decisions"] == 1


def test_a_request_id_is_for_one_query_and_the_same_items(service):
    vectors = RNG.standard_normal((4, 3))
    service.put("/v1/catalogues/c", json={"ids": list("abcd"), "vectors": vectors.tolist()})
    create(service, catalogue="c")

    def asked(**body):
        return service.post("/v1/policies/p/decide", json={"request": "mine"} | body)

    first = asked(query=[1.0, 2.0, 3.0], items=["a", "b"]).json()
    # An item that was replaced in the meantime is still the same item to the caller.
    service.post("/v1/catalogues/c/items", json={"ids": ["a"], "vectors": [[1.0, 1.0, 1.0]]})
    assert asked(query=[1.0, 2.0, 3.0], items=["a", "b"]).json() == first
    for other in ({"query": [1.0, 2.0, 4.0], "items": ["a", "b"]}, {"query": [1.0, 2.0, 3.0]}, {"items": ["a", "b"]}):
        assert code(asked(**other)) == (409, "different_request")
    assert code(asked(query=[1.0, 2.0, 3.0], items=["b", "a"])) == (409, "different_request")
