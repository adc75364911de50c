"""What requests may say besides the actions, holdouts, imports and retention, with deciders."""

from __future__ import annotations

import time

import httpx
import numpy as np
from tests.serve.deciders.fleet import counts, fleet, journal_of, sent, served, until

import eigenbandits as eb
from eigenbandits.serve import Client, Settings, running
from eigenbandits.serve.client import log_entries
from eigenbandits.serve.deciders.decider import Decider
from eigenbandits.serve.learner.learner import Learner
from eigenbandits.serve.storage import database_of
from eigenbandits.serve.writer import verify

RNG = np.random.default_rng(0)
SETS = RNG.standard_normal((60, 5, 3))
THETA = np.array([1.0, -0.5, 0.25])


def agrees(place):
    return [same for _, same in verify.differences(database_of(Settings(**place)))]


def create(client, name="p", **more):
    answer = sent(client, "POST", "/v1/policies", {"name": name, "parameters": {"seed": 7}} | more)
    assert answer.status_code == 201, answer.text


def decide(client, actions, name="p", **more):
    return sent(client, "POST", f"/v1/policies/{name}/decide", {"actions": np.asarray(actions).tolist()} | more)


def reward(client, decision, value, name="p"):
    answer = sent(client, "POST", f"/v1/policies/{name}/reward", {"decision": decision, "reward": value})
    assert answer.status_code == 200, answer.text


def code(answer):
    return answer.status_code, answer.json()["error"]["code"]


def test_rows_that_may_not_be_chosen_and_scores(place):
    with fleet(place) as (a, b, learner):
        create(a, observe_after=20, observe_every=3)
        for i, actions in enumerate(SETS):
            scores = (actions @ THETA).tolist()
            made = decide((a, b)[i % 2], actions, scores=scores, exclude=[i % 5], request=f"r{i}").json()
            assert made["index"] != i % 5
            assert decide((b, a)[i % 2], actions, scores=scores, exclude=[i % 5], request=f"r{i}").json() == made
            reward((a, b)[i % 3 == 0], made["decision"], scores[made["index"]])
        # From the first decision on, or never.
        refused = decide(a, SETS[0])
        assert (refused.status_code, refused.json()["error"]["field"]) == (400, "scores")
        assert code(decide(a, SETS[0], scores=[1.0] * 5, count=2)) == (409, "not_with_deciders")
        until(lambda: counts(a)["rewards"] == 60)
        hosted = vars(learner)["server"].writer.registry.policy("p")
        # The sums are those of the decisions' rows: a score is a column.
        assert hosted.policy.scoring.used
        assert hosted.policy.diagnostics().rewards_learned == 60
    assert agrees(place) == [True]


def test_two_deciders_agree_on_scores_before_there_is_a_belief(place):
    """Without a learner nothing is published; the one that commits first settles it."""
    with served(place, Learner) as learner:
        create(learner)
    with served(place, Learner) as learner, served(place, Decider) as a, served(place, Decider) as b:
        assert decide(a, SETS[0], scores=[1.0, 2.0, 3.0, 4.0, 5.0]).status_code == 200
        refused = decide(b, SETS[0])
        assert (refused.status_code, refused.json()["error"]["field"]) == (400, "scores")
        until(lambda: counts(a)["decisions"] == 1)
        assert not vars(learner)["server"].writer.registry.broken


def test_a_holdout_that_was_made_before_the_move_goes_on(place):
    with (
        running(Settings(**place, port=0)) as server,
        httpx.Client(base_url=server.url) as client,
    ):
        create(client, holdout=0.5, baseline="first")
        for actions in SETS[:10]:
            made = decide(client, actions).json()
            reward(client, made["decision"], 1.0)
        before = client.get("/v1/policies/p/lift").json()
    assert before["policy"]["count"] + before["baseline"]["count"] == 10
    with fleet(place) as (a, b, _):
        earned = []
        for i, actions in enumerate(SETS[10:]):
            made = decide((a, b)[i % 2], actions).json()
            reward(a, made["decision"], float(actions[made["index"]] @ THETA))
            earned.append(float(actions[made["index"]] @ THETA))
        until(lambda: counts(a)["rewards"] == 60)
        found = sent(a, "GET", "/v1/policies/p/lift").json()
    held = found["baseline"]["count"] - before["baseline"]["count"]
    assert 10 <= held <= 40
    assert found["policy"]["count"] + found["baseline"]["count"] == 60
    with journal_of(place) as journal:
        rows = [row for row, _ in journal.exported(1, 0, 100)][10:]
        assert all(row.index == 0 for row in rows if row.chooser == 1)
        mean = np.mean([value for value, row in zip(earned, sorted(rows, key=lambda one: one.decided_at), strict=True)])
        total = sum(found[chooser]["count"] * found[chooser]["mean"] for chooser in ("policy", "baseline"))
        assert abs(total - 10.0 - 50 * mean) < 1e-6
    assert agrees(place) == [True]


def test_logged_decisions_are_learned_once(place):
    log = eb.offpolicy.Log(SETS, RNG.integers(0, 5, 60), RNG.random(60), np.full(60, 0.2))
    with fleet(place) as (a, b, learner):
        create(a, algorithm="OFUL", parameters={"noise": 0.5, "center": "none"}, dim=3)
        for client, status in ((a, "learned"), (b, "repeated")):
            with Client(str(client.base_url)) as own:
                assert own.import_decisions("p", log_entries(log, "log"), batch_bytes=2000) == {status: 60}
        until(lambda: counts(a)["rewards"] == 60)
        belief = vars(learner)["server"].writer.registry.policy("p").policy.belief
        rows = SETS[np.arange(60), log.chosen].astype(np.float32).astype(np.float64)
        expected = np.linalg.solve(rows.T @ rows + np.eye(3), rows.T @ log.earned)
        np.testing.assert_allclose(belief.center, expected, atol=1e-6)
        other = eb.offpolicy.Log(SETS, (log.chosen + 1) % 5, log.earned)
        entry = {"actions": SETS[0].tolist(), "index": int(other.chosen[0]), "request": "log-0", "reward": 1.0}
        assert code(sent(b, "POST", "/v1/policies/p/import", {"decisions": [entry]})) == (409, "different_request")
    assert agrees(place) == [True]


def test_a_policy_that_only_one_process_can_keep_is_left_out_after_the_move(tmp_path):
    place = {"folder": tmp_path}
    with running(Settings(**place, port=0)) as server, httpx.Client(base_url=server.url) as client:
        create(client, "paid", budget={"budget": 1.0})
        create(client)
        made = decide(client, SETS[0], "paid", costs=[0.1] * 5).json()
        reward(client, made["decision"], 1.0, "paid")
    with fleet(place) as (a, _, learner):
        assert decide(a, SETS[0]).status_code == 200
        for client in (a, learner):
            (warning,) = sent(client, "GET", "/v1/status").json()["warnings"]
            assert "it has a budget, which deciders do not support" in warning
        assert client.post("/v1/policies/paid/decide", json={"actions": SETS[0].tolist()}).status_code == 503
    assert agrees(place) == [True, True]


def test_old_decisions_go_with_deciders_too(place):
    with served(place | {"keep": "1s", "snapshot_events": 10}, Learner) as learner:
        with served(place, Decider) as a:
            create(a)
            for actions in SETS[:40]:
                reward(a, decide(a, actions).json()["decision"], 0.5)
                time.sleep(0.05)
            waiting = decide(a, SETS[40]).json()["decision"]
            until(lambda: counts(a)["expired"] == 1)
            for actions in SETS[41:]:
                reward(a, decide(a, actions).json()["decision"], 0.5)
                time.sleep(0.05)
            head = vars(learner)["server"].writer.registry.policy("p").head
            until(lambda: head.dropped_through > 0)
            assert waiting
        until(lambda: vars(learner)["server"].writer.registry.policy("p").head.rewards == 59)
    with journal_of(place) as journal:
        assert 0 < len(journal.exported(1, 0, 100)) < 60
    ((line, same),) = verify.differences(database_of(Settings(**place)))
    assert same
    assert "each with the log after it, agree bit for bit" in line
