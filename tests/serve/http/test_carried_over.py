"""Another encoder's vectors beside the old ones, and what replicas have learned: from the log alone, too."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
import pytest
from tests.serve.bodies import code, create, decide, reward

import eigenbandits as eb
from eigenbandits.policy import files
from eigenbandits.serve import Client, Settings, running
from eigenbandits.serve.client import ConflictError, InvalidRequestError, NotFoundError
from eigenbandits.serve.storage import database_of
from eigenbandits.serve.writer import verify

RNG = np.random.default_rng(0)
ITEMS = RNG.standard_normal((60, 5)).astype(np.float32)
QUERIES = RNG.standard_normal((30, 5)).astype(np.float32)
THETA = np.array([1.0, -0.5, 0.25, 0.0, 0.0])
IDS = [f"i{n:02d}" for n in range(60)]
PLAIN: dict[str, Any] = {"algorithm": "EigenUCB", "parameters": {"seed": 1}}


def agrees(settings):
    return {line.split(":")[0]: same for line, same in verify.differences(database_of(settings))}


def turned(dim: int, width: int) -> Any:
    """A map of d numbers to d′ that keeps all angles."""
    return np.linalg.qr(np.random.default_rng(9).standard_normal((width, dim)))[0].T


def state(server, name="p"):
    return files.to_bytes(server.writer.registry.policy(name).policy)


def test_a_new_generation_of_a_catalogue_beside_the_old_one(place):
    """Rows of the products' own space, so that query ⊙ item is the same up to a scale per coordinate."""
    settings = Settings(**place, port=0)
    scale = np.array([2.0, 0.5, 1.0, 3.0, 1.5], dtype=np.float32)
    with running(settings) as server, Client(server.url) as client:
        client.create_catalogue("v1", IDS, ITEMS, center="none")
        client.create_policy("old", **PLAIN, catalogue="v1", time_to_live=1e6)
        for i in range(60):
            made = client.decide("old", query=QUERIES[i % 30])
            client.reward("old", made, float((QUERIES[i % 30] * ITEMS[IDS.index(str(made.item))]) @ THETA))
        late = client.decide("old", query=QUERIES[0])
        client.create_catalogue("v2", [*IDS[5:], "fresh"], np.vstack([ITEMS[5:] * scale, ITEMS[:1]]), center="none")
        with pytest.raises(InvalidRequestError, match="have queries; send some queries"):
            client.translate_policy("new", "old", catalogue="v2")
        done = client.translate_policy("new", "old", catalogue="v2", old_queries=QUERIES, new_queries=QUERIES * scale)
        assert done["policy"]["clone_of"] == "old"
        assert done["policy"]["time_to_live"] == 1e6
        assert done["translation"]["pairs"] == 55 * 30
        assert done["translation"]["loss"] < 1e-3
        # The same again is the same policy, and nothing is done.
        again = client.translate_policy("new", "old", catalogue="v2", old_queries=QUERIES, new_queries=QUERIES * scale)
        assert again["translation"] is None
        # It chooses as the old one does, on vectors that the old one has never seen.
        same = 0
        for query in QUERIES:
            before = client.decide("old", query=query, items=IDS[5:25])
            after = client.decide("new", query=query * scale, items=IDS[5:25])
            same += before.item == after.item
            client.reward("new", after, 0.5)
        assert same >= 27
        # The old one goes on: its own vectors, its own pending decisions, its own log.
        assert client.reward("old", late, 1.0) == "learned"
        assert client.policy("new")["decisions"] == 30
        with pytest.raises(ConflictError):
            client.delete_catalogue("v1")
        states = state(server, "old"), state(server, "new")
    assert agrees(settings) == {"old": True, "new": True}
    for path in (settings.folder / "snapshots").glob("*.eb"):
        path.unlink()
    with running(settings) as server:
        assert (state(server, "old"), state(server, "new")) == states


def test_actions_of_another_length_and_no_mixing(service):
    create(service, **PLAIN)
    turn = turned(5, 8)
    actions = RNG.standard_normal((400, 5)).astype(np.float32)
    with Client(str(service.base_url)) as client:
        for i in range(0, 100, 5):
            made = client.decide("p", actions[i : i + 5])
            client.reward("p", made, float(actions[i + made.index] @ THETA))
        done = client.translate_policy("q", "p", old_actions=actions, new_actions=actions @ turn)
        assert (done["policy"]["dim"], done["translation"]["new_dim"], done["translation"]["guarded"]) == (8, 8, True)
        twin = files.from_bytes(state(service.server))
        twin.translate(actions, (actions @ turn).astype(np.float32))
        assert client.decide("q", actions[:5] @ turn).estimate == pytest.approx(
            twin.choose((actions[:5] @ turn).astype(np.float32)).estimate
        )
        with pytest.raises(InvalidRequestError):
            client.decide("q", actions[:5])
        with pytest.raises(InvalidRequestError):
            client.decide("p", actions[:5] @ turn)


@pytest.mark.parametrize(
    ("sent", "field"),
    [
        ({"catalogue": "c"}, "catalogue"),
        ({}, "old_actions"),
        ({"old_actions": [[1.0] * 5] * 30, "new_actions": [[1.0] * 5] * 29}, "new_actions"),
        ({"old_actions": [[1.0] * 4] * 30, "new_actions": [[1.0] * 5] * 30}, "old_actions"),
        ({"old_actions": [[1.0] * 5] * 3, "new_actions": [[1.0] * 5] * 3}, None),
    ],
)
def test_pairs_that_do_not_fit_are_refused(shared_service, sent, field):
    create(shared_service, "x", **PLAIN)
    decide(shared_service, ITEMS[:4], "x")
    answer = shared_service.post("/v1/policies/x/translate", json={"name": "y"} | sent)
    assert answer.status_code == 400, answer.text
    assert answer.json()["error"].get("field") == field
    assert code(shared_service.get("/v1/policies/y")) == (404, "unknown_policy")


def test_what_the_service_does_not_translate_is_refused(service):
    create(service, **PLAIN)
    create(service, "paid", **PLAIN, budget={"budget": 1.0})
    decide(service, ITEMS[:4], scores=[1.0, 2.0, 3.0, 4.0])
    decide(service, ITEMS[:4], "paid")
    pairs = {"old_actions": ITEMS.tolist(), "new_actions": ITEMS.tolist()}
    for name, said in (("p", "This policy has scores"), ("paid", "a Budgeted policy cannot be translated")):
        answer = service.post(f"/v1/policies/{name}/translate", json={"name": "new"} | pairs)
        assert answer.status_code == 400
        assert said in answer.json()["error"]["message"]


def rewarded(client, name, sets):
    """Decide and reward; return the actions that were chosen."""
    found = []
    for actions in sets:
        made = client.decide(name, actions)
        client.reward(name, made, float(actions[made.index] @ THETA))
        found.append(actions[made.index].astype(np.float64))
    return found


def test_two_services_merge_what_they_have_learned(tmp_path):
    """The sums are those of one policy that has learned everything, what both started with once."""
    sets = RNG.standard_normal((90, 4, 5)).astype(np.float32)

    spec: dict[str, Any] = {"algorithm": "OFUL", "parameters": {"noise": 0.5, "center": "none", "seed": 0}}
    first, second = (Settings(folder=tmp_path / name, port=0) for name in ("a", "b"))
    with running(first) as one, running(second) as two, Client(one.url) as here, Client(two.url) as there:
        for client in (here, there):
            client.create_policy("p", **spec)
            # Both begin with the same thirty, as two copies of one folder would.
            common = rewarded(client, "p", sets[:30])
        base = here.snapshot("p")
        rows = np.array(common + rewarded(here, "p", sets[30:60]) + rewarded(there, "p", sets[60:]))
        assert here.merge_policy("p", [there.snapshot("p")], base=base, request="monday") == "merged"
        assert here.merge_policy("p", [there.snapshot("p")], base=base, request="monday") == "repeated"
        with pytest.raises(ConflictError) as caught:
            here.merge_policy("p", [base], request="monday")
        assert caught.value.code == "different_request"
        policy: Any = one.writer.registry.policy("p").policy
        expected = np.linalg.solve(rows.T @ rows + np.eye(5), rows.T @ (rows @ THETA))
        np.testing.assert_allclose(policy.belief.center, expected, atol=1e-9)
        assert policy.diagnostics().rewards_learned == 90
        assert two.writer.registry.policy("p").policy.diagnostics().rewards_learned == 60
        # The next merge adds what is new since the last one.
        merged = there.snapshot("p")
        rows = np.vstack([rows, rewarded(there, "p", sets[:10])])
        assert here.merge_policy("p", [there.snapshot("p")], base=merged, request="tuesday") == "merged"
        policy = one.writer.registry.policy("p").policy
        expected = np.linalg.solve(rows.T @ rows + np.eye(5), rows.T @ (rows @ THETA))
        np.testing.assert_allclose(policy.belief.center, expected, atol=1e-9)
        late = here.decide("p", sets[0])
        before = files.to_bytes(policy)
    assert agrees(first) == {"p": True}
    for path in (tmp_path / "a" / "snapshots").glob("*.eb"):
        path.unlink()
    with running(first) as one, Client(one.url) as here:
        assert state(one) == before
        assert here.reward("p", late, 1.0) == "learned"


def test_what_cannot_be_merged_is_refused_and_may_be_sent_again(service):
    create(service, **PLAIN)
    create(service, "paid", **PLAIN, budget={"budget": 1.0})
    made = decide(service, ITEMS[:4]).json()
    reward(service, made["decision"], 1.0)
    before = state(service.server)
    with Client(str(service.base_url)) as client:
        other = eb.OFUL(noise=0.5)
        other.learn(np.ones(5), 1.0)
        for replicas, name in (([other], "p"), ([eb.EigenUCB(seed=0)], "paid")):
            with pytest.raises(InvalidRequestError, match="cannot be merged"):
                client.merge_policy(name, replicas, request="r")
        with pytest.raises(NotFoundError):
            client.merge_policy("none", [other], request="r")
        for text in ("x", base64.b64encode(b"no policy").decode()):
            answer = service.post("/v1/policies/p/merge", json={"replicas": [text], "request": "r"})
            assert (answer.status_code, answer.json()["error"]["field"]) == (400, "replicas[0]")
        assert state(service.server) == before
        # Nothing was noted under the id.
        twin = eb.EigenUCB(seed=7)
        twin.learn(ITEMS[7].astype(float), 0.5)
        assert client.merge_policy("p", [twin], request="r") == "merged"
        assert client.diagnostics("p")["rewards_learned"] == 2
        client.delete_policy("p")
        create(service, **PLAIN)
        assert client.merge_policy("p", [twin], request="r") == "merged"
