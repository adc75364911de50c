"""Policies with a budget or a guard: what the library does, over HTTP, and from the log alone."""

from __future__ import annotations

from typing import Any

import httpx
import numpy as np
import pytest
from tests.serve.bodies import code, create, decide, reward

import eigenbandits as eb
from eigenbandits.policy import files
from eigenbandits.serve import Client, Settings, running
from eigenbandits.serve.client import ConflictError, InvalidRequestError, log_entries
from eigenbandits.serve.storage import database_of
from eigenbandits.serve.writer import verify

RNG = np.random.default_rng(0)
SETS = RNG.standard_normal((40, 3, 4)).astype(np.float32)
PRICES = np.array([0.01, 0.1, 1.0])
EARNED = RNG.random((40, 3))
FLAGSHIP: dict[str, Any] = {"algorithm": "EigenUCB", "parameters": {"seed": 1}, "observe_after": 10**9}
GUARD = {"alpha": 0.3, "noise": 0.5, "theta_bound": 1.0}


def agrees(settings):
    return [same for _, same in verify.differences(database_of(settings))]


def state(server, name="p"):
    return files.to_bytes(server.writer.registry.policy(name).policy)


def test_a_budget_is_the_librarys_step_by_step_and_comes_back(place):
    """Some costs are known before, some are paid later, some never become known."""
    settings = Settings(**place, port=0)
    twin = eb.Budgeted(eb.EigenUCB(seed=1), 0.2)
    with running(settings) as server, Client(server.url) as client:
        client.create_policy("p", **FLAGSHIP, budget={"budget": 0.2})
        for i, actions in enumerate(SETS):
            known = [None, 0.1, None] if i % 2 else None
            made = client.decide("p", actions, costs=known)
            own = twin.choose(actions, costs=None if known is None else np.array(known, dtype=float))
            assert made.index == own.index
            assert made.cost == pytest.approx(own.cost)
            earned, paid = float(EARNED[i, made.index]), float(PRICES[made.index]) if i % 3 else None
            assert client.reward("p", made, earned, cost=paid) == "learned"
            twin.learn(own, earned, paid)
        details = client.diagnostics("p")
        assert details["spent"] == pytest.approx(twin.spent)
        assert details["price"] == pytest.approx(twin.diagnostics().details["price"])
        late = client.decide_many("p", [{"actions": SETS[i], "costs": [0.0, None, None]} for i in range(6)])
        assert all(one.cost is not None for one in late)
        before = state(server)
    assert agrees(settings) == [True]
    for path in (settings.folder / "snapshots").glob("*.eb"):
        path.unlink()
    with running(settings) as server, Client(server.url) as client:
        assert state(server) == before
        # Decisions from before the restart are paid for by what they were expected to cost then.
        rewards: dict[Any, float] = dict.fromkeys(late, 0.5)
        costs: dict[Any, float] = dict.fromkeys(late[:3], 0.3)
        assert {one["status"] for one in client.reward_many("p", rewards, costs=costs)} == {"learned"}
        expected = details["spent"] + sum(float(one.cost or 0.0) for one in late[3:]) + 3 * 0.3
        assert client.diagnostics("p")["spent"] == pytest.approx(expected)
    assert agrees(settings) == [True]


def test_a_cost_counts_once_and_another_one_is_refused(service, tmp_path):
    create(service, **FLAGSHIP, budget={"budget": 0.2})
    made = decide(service, SETS[0], costs=[0.5, None, 0.1]).json()
    path = "/v1/policies/p/reward"
    body = {"decision": made["decision"], "reward": 1.0, "cost": 0.4}
    assert service.post(path, json=body).json()["status"] == "learned"
    assert service.post(path, json=body).json()["status"] == "repeated"
    assert code(service.post(path, json=body | {"cost": 0.3})) == (409, "different_reward")
    assert code(reward(service, made["decision"], 1.0)) == (409, "different_reward")
    (tmp_path / "log.parquet").write_bytes(service.get("/v1/policies/p/export?columns=all").content)
    import pyarrow.parquet as pq

    assert pq.read_table(tmp_path / "log.parquet")["cost"].to_pylist() == [0.4]


def test_the_same_request_with_other_costs_is_another_request(service):
    create(service, **FLAGSHIP, budget={"budget": 0.2})
    first = decide(service, SETS[0], costs=[0.5, None, 0.1], request="r").json()
    assert decide(service, SETS[0], costs=[0.5, None, 0.1], request="r").json() == first
    assert code(decide(service, SETS[0], costs=[0.5, 0.2, 0.1], request="r")) == (409, "different_request")


def test_a_ceiling_is_never_exceeded(service):
    create(service, **FLAGSHIP, budget={"budget": 0.2, "ceiling": 0.3})
    for actions in SETS[:10]:
        assert decide(service, actions, costs=[0.25, 0.5, 1.0]).json()["index"] == 0
    refused = decide(service, SETS[0], costs=[0.4, 0.5, 1.0])
    assert refused.status_code == 400
    assert "more than the ceiling of 0.3; the cheapest costs 0.4" in refused.json()["error"]["message"]
    assert decide(service, SETS[0], costs=[1.0, 0.1, 1.0]).json()["index"] == 1
    assert agrees(service.server.writer.settings) == [True]


def test_logged_decisions_bring_their_costs(service):
    create(service, **FLAGSHIP, budget={"budget": 0.2})
    log = eb.offpolicy.Log(SETS, RNG.integers(0, 3, 40), RNG.random(40))
    entries = [one | {"cost": float(PRICES[one["index"]])} for one in log_entries(log, "log")]
    with Client(str(service.base_url)) as client:
        assert client.import_decisions("p", entries) == {"learned": 40}
        paid = sum(PRICES[log.chosen])
        assert client.diagnostics("p")["spent"] == pytest.approx(paid)
    assert agrees(service.server.writer.settings) == [True]


@pytest.mark.parametrize("shadow", [True, False])
def test_a_guard_is_the_librarys_step_by_step_and_comes_back(place, shadow):
    settings = Settings(**place, port=0)
    twin = eb.Guarded(eb.EigenUCB(seed=1), baseline=1, shadow=shadow, **GUARD)
    with running(settings) as server, Client(server.url) as client:
        client.create_policy("p", **FLAGSHIP, guard=GUARD | {"baseline": 1, "shadow": shadow})
        for i, actions in enumerate(SETS):
            made, own = client.decide("p", actions), twin.choose(actions)
            assert made.index == own.index
            assert not shadow or made.index == 1
            client.reward("p", made, float(EARNED[i, made.index]))
            twin.learn(own, float(EARNED[i, made.index]))
        details, expected = client.diagnostics("p"), twin.diagnostics().details
        for name in ("kept_to_baseline", "agreed_with_baseline", "reserve", "gain_least", "gain_most"):
            assert details[name] == pytest.approx(expected[name])
        before = state(server)
    assert agrees(settings) == [True]
    for path in (settings.folder / "snapshots").glob("*.eb"):
        path.unlink()
    with running(settings) as server:
        assert state(server) == before


def test_a_policy_leaves_the_shadow_with_all_that_it_has_learned(tmp_path):
    settings = Settings(folder=tmp_path, port=0)
    with running(settings) as server, Client(server.url) as client:
        client.create_policy("trial", **FLAGSHIP, guard=GUARD | {"shadow": True})
        for i, actions in enumerate(SETS):
            client.reward("trial", client.decide("trial", actions), float(EARNED[i, 0]))
        with pytest.raises(InvalidRequestError, match="only shadow may differ"):
            client.clone_policy("live", "trial", guard=GUARD | {"alpha": 0.9})
        client.clone_policy("live", "trial", guard=GUARD | {"shadow": False})
        both: list[Any] = [server.writer.registry.policy(name).policy for name in ("trial", "live")]
        trial, live = both
        assert type(live).__name__ == "Guarded"
        assert not live.shadow
        np.testing.assert_array_equal(live.belief.center, trial.belief.center)
        np.testing.assert_array_equal(live.proved.center, trial.proved.center)
        before = client.diagnostics("live")["kept_to_baseline"]
        for actions in SETS[:5]:
            client.reward("live", client.decide("live", actions), 0.5)
            client.decide("trial", actions)
        assert client.diagnostics("live")["kept_to_baseline"] >= before
    assert agrees(settings) == [True, True]


def test_a_baseline_may_be_a_vector(tmp_path):
    settings, weights = Settings(folder=tmp_path, port=0), [1.0, -1.0, 0.5, 0.0]
    with running(settings) as server, Client(server.url) as client:
        client.create_policy("p", **FLAGSHIP, guard=GUARD | {"baseline": weights, "shadow": True})
        for actions in SETS[:10]:
            made = client.decide("p", actions)
            assert made.index == int((actions @ np.array(weights)).argmax())
            client.reward("p", made, 0.5)
        before = state(server)
    with running(settings) as server:
        assert state(server) == before
    assert agrees(settings) == [True]


def test_logged_decisions_of_the_baseline_teach_the_guard(service):
    create(service, **FLAGSHIP, guard=GUARD | {"baseline": 2})
    log = eb.offpolicy.Log(SETS, np.full(40, 2), EARNED[:, 2])
    with Client(str(service.base_url)) as client:
        assert client.import_decisions("p", log_entries(log, "log")) == {"learned": 40}
    rows = SETS[:, 2].astype(np.float64)
    proved = service.server.writer.registry.policy("p").policy.proved
    ridge = proved.evidence.ridge if hasattr(proved.evidence, "ridge") else 1.0
    expected = np.linalg.solve(rows.T @ rows + ridge * np.eye(4), rows.T @ EARNED[:, 2])
    np.testing.assert_allclose(proved.center, expected, rtol=1e-6)
    assert agrees(service.server.writer.settings) == [True]


@pytest.mark.parametrize(
    ("settings", "field"),
    [
        ({"budget": {}}, "budget.budget"),
        ({"budget": {"budget": -1.0}}, "budget"),
        ({"budget": {"budget": 1.0, "policy": 1}}, "budget.policy"),
        ({"budget": {"budget": 1.0, "spend": 1}}, "budget.spend"),
        ({"budget": {"budget": 1.0, "window": 10**9}}, "budget.window"),
        ({"guard": {"noise": 0.5}}, "guard.theta_bound"),
        ({"guard": GUARD | {"alpha": 2.0}}, "guard"),
        ({"guard": GUARD, "budget": {"budget": 1.0}}, "guard"),
        ({"algorithm": "Random", "budget": {"budget": 1.0}}, "budget"),
    ],
)
def test_settings_that_do_not_fit_are_refused(shared_service, settings, field):
    answer = create(shared_service, "no", **{"algorithm": "EigenUCB", "parameters": {}} | settings)
    assert answer.status_code == 400
    assert answer.json()["error"]["field"] == field


@pytest.mark.parametrize(
    ("more", "sent"),
    [
        ({"budget": {"budget": 1.0}}, {"costs": [1.0]}),
        ({"budget": {"budget": 1.0}}, {"costs": [1.0, -1.0, 0.0]}),
        ({"budget": {"budget": 1.0}}, {"costs": [1.0, "x", 0.0]}),
        ({"budget": {"budget": 1.0}}, {"count": 2}),
        ({}, {"costs": [1.0, 1.0, 1.0]}),
    ],
)
def test_costs_that_do_not_fit_change_nothing(service, more, sent):
    create(service, **FLAGSHIP, **more)
    assert decide(service, SETS[0], **sent).status_code == 400
    assert service.get("/v1/policies/p").json()["decisions"] == 0


def test_a_cost_without_a_budget_or_at_the_end_of_the_time_to_live_is_refused(service):
    create(service, **FLAGSHIP)
    create(
        service, "q", **FLAGSHIP, budget={"budget": 1.0}, learn_at="time_to_live", time_to_live=9.0, default_reward=0.0
    )
    for name in ("p", "q"):
        made = decide(service, SETS[0], name).json()["decision"]
        answer = service.post(f"/v1/policies/{name}/reward", json={"decision": made, "reward": 1.0, "cost": 1.0})
        assert (answer.status_code, answer.json()["error"]["field"]) == (400, "cost")


def test_the_same_policy_again_is_fine_and_one_with_another_budget_is_not(service):
    with Client(str(service.base_url)) as client:
        client.create_policy("p", **FLAGSHIP, budget={"budget": 1.0})
        assert client.create_policy("p", **FLAGSHIP, budget={"budget": 1.0})["budget"] == {"budget": 1.0}
        with pytest.raises(ConflictError):
            client.create_policy("p", **FLAGSHIP, budget={"budget": 2.0})
        with pytest.raises(InvalidRequestError):
            client.clone_policy("q", "p", budget={"budget": 2.0})


def test_a_database_without_costs_takes_them(tmp_path):
    """Columns that are new are there after the next start."""
    import sqlite3

    settings = Settings(folder=tmp_path, port=0)
    with running(settings) as server, httpx.Client(base_url=server.url) as client:
        create(client)
        made = decide(client, SETS[0]).json()["decision"]
    with sqlite3.connect(tmp_path / "eigenbandits.sqlite") as database:
        for table in ("decisions", "rewards"):
            database.execute(f"ALTER TABLE {table} DROP COLUMN cost")
    database.close()
    with running(settings) as server, httpx.Client(base_url=server.url) as client:
        assert reward(client, made, 1.0).json()["status"] == "learned"
        create(client, "paid", **FLAGSHIP, budget={"budget": 1.0})
        assert decide(client, SETS[0], "paid", costs=[0.1, 0.2, 0.3]).json()["cost"] in (0.1, 0.2, 0.3)
