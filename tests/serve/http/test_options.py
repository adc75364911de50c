"""What a request may say beside the actions: which may be chosen, scores, lists; and a holdout against a baseline."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import httpx
import numpy as np
import pytest
from tests.serve.bodies import code, create, decide, reward

import eigenbandits as eb
from eigenbandits.serve import Client, Settings, running
from eigenbandits.serve.http import lift
from eigenbandits.serve.storage import database_of
from eigenbandits.serve.storage.schema import ChooserRow
from eigenbandits.serve.writer import verify
from eigenbandits.serve.writer.event_codec import decode_decision, encode_decision

RNG = np.random.default_rng(0)
SETS = RNG.standard_normal((30, 5, 4))
FLAGSHIP: dict[str, Any] = {"algorithm": "EigenUCB", "parameters": {"seed": 1}, "observe_after": 10**9}


def test_rows_that_may_not_be_chosen_and_scores_are_those_of_the_library(service):
    """Step by step the same as the policy itself; and after a restart from the log alone."""
    create(service, **FLAGSHIP)
    policy = eb.EigenUCB(seed=1)
    for i, actions in enumerate(SETS):
        scores = actions @ np.ones(4)
        out = [i % 5, (i + 1) % 5]
        options: dict[str, Any] = {"exclude": out} if i % 2 else {"allowed": sorted(set(range(5)) - set(out))}
        made = decide(service, actions, scores=scores.tolist(), **options).json()
        expected = policy.choose(actions, allowed=sorted(set(range(5)) - set(out)), scores=scores)
        assert (made["index"], made["estimate"]) == (expected.index, expected.estimate)
        assert made["index"] not in out
        reward(service, made["decision"], float(scores[made["index"]]))
        policy.learn(expected, float(scores[made["index"]]))
    settings = service.server.writer.settings
    assert [same for _, same in verify.differences(database_of(settings))] == [True]


def test_a_list_has_a_reward_for_each_of_its_items(place):
    settings = Settings(**place, port=0)
    policy = eb.EigenUCB(seed=1)
    with running(settings) as server, Client(server.url) as client:
        client.create_policy("p", parameters={"seed": 1}, observe_after=10**9)
        for actions in SETS:
            made = client.decide_list("p", actions, count=3, exclude=[0])
            expected = policy.choose_list(actions.astype(np.float32), 3, allowed=[1, 2, 3, 4])
            assert [one.index for one in made] == [one.index for one in expected.decisions]
            assert len({one.decision for one in made}) == 3
            rewards: dict[Any, float] = {one: float(actions[one.index].sum()) for one in made}
            assert {one["status"] for one in client.reward_many("p", rewards)} == {"learned"}
            policy.learn(expected, list(rewards.values()))
        again = [client.decide_list("p", SETS[0], count=2, request="mine") for _ in range(2)]
        assert again[0] == again[1]
        late = again[0][1]
        with pytest.raises(Exception, match="a different body"):
            client.decide_list("p", SETS[0], count=3, request="mine")
        assert client.policy("p")["decisions"] == 92
    # The second of a list, from the log.
    with running(settings) as server, Client(server.url) as client:
        server.writer.registry.policy("p")._open.clear()
        assert client.reward("p", late, 1.0) == "learned"
    assert [same for _, same in verify.differences(database_of(settings))] == [True]


def test_items_of_a_catalogue_by_their_ids(service):
    vectors = RNG.standard_normal((6, 4))
    service.put("/v1/catalogues/c", json={"ids": list("abcdef"), "vectors": vectors.tolist()})
    create(service, catalogue="c")

    def picked(**body):
        return service.post("/v1/policies/p/decide", json=body)

    for _ in range(10):
        # What was seen may be gone from the catalogue since.
        assert picked(exclude=["a", "b", "gone"]).json()["item"] in "cdef"
        assert picked(allowed=["a", "b"]).json()["item"] in "ab"
        assert picked(items=["a", "b", "c"], exclude=["a"], allowed=["a", "c"]).json()["item"] == "c"
    chosen = [one["item"] for one in picked(count=4, exclude=["a"]).json()["decisions"]]
    assert len(set(chosen)) == 4
    assert "a" not in chosen
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"allowed": ["gone"]}, "unknown_item"),
        ({"exclude": list("abcdef")}, "invalid_request"),
        ({"exclude": [0]}, "unknown_item"),
        ({"exclude": "a"}, "invalid_request"),
        ({"count": 7}, "invalid_request"),
        ({"count": 0}, "invalid_request"),
        ({"scores": [1.0] * 6}, "invalid_request"),
        ({"items": ["a", "b"], "scores": [1.0]}, "invalid_request"),
        ({"items": ["a", "b"], "scores": [1.0, "x"]}, "invalid_request"),
    ]
    for body, expected in wrong:
        assert code(picked(**body)) == (400, expected), body
    many = {"requests": [{"count": 2}]}
    assert code(service.post("/v1/policies/p/decide/batch", json=many)) == (400, "invalid_request")


def test_pruned_sets_keep_the_score_of_the_chosen_row(tmp_path):
    settings = Settings(folder=tmp_path, port=0)
    with running(settings) as server, httpx.Client(base_url=server.url) as client:
        create(client, **FLAGSHIP)
        hosted = server.writer.registry.policy("p")
        made = decide(client, SETS[0], scores=[1.0, 2.0, 3.0, 4.0, 5.0], exclude=[0]).json()
        journal: Any = server.writer._reading
        row = journal.decisions_of(hosted.id, [1])[1]
        whole: Any
        whole, forecast = decode_decision(row.content)
        assert whole.options.excluded.tolist() == [0]
        pruned = replace(row, content=encode_decision(whole.pruned(row.index), forecast))
        assert len(pruned.content) < len(row.content)
        rows: list[Any] = [hosted.decision(one, journal).lifted for one in (pruned, row)]
        assert np.array_equal(*rows)
        assert made["index"] == row.index


@pytest.mark.parametrize("baseline", ["first", "random", "scores"])
def test_a_holdout_is_the_baselines_and_the_log_leads_to_the_same(tmp_path, baseline):
    settings = Settings(folder=tmp_path, port=0)
    with running(settings) as server, httpx.Client(base_url=server.url, timeout=30.0) as client:
        create(client, holdout=0.5, baseline=baseline, **FLAGSHIP)
        options = {"scores": [0.0, 1.0, 5.0, 9.0, 3.0], "exclude": [0, 3]}
        entries = [{"actions": one.tolist()} | options for one in SETS]
        earned: dict[int, float] = {}
        for start in range(0, 30, 3):
            body = {"requests": entries[start : start + 3]}
            made = client.post("/v1/policies/p/decide/batch", json=body).json()["decisions"]
            earned |= {one["round"]: one["index"] + start / 30 for one in made}
            rewards = [{"decision": one["decision"], "reward": earned[one["round"]]} for one in made]
            client.post("/v1/policies/p/reward/batch", json={"rewards": rewards})
        journal: Any = server.writer._reading
        rows = journal.decisions(server.writer.registry.policy("p").id, 1, 30)
        chosen = {row.index for row in rows if row.chooser == 1}
        assert {"first": chosen == {1}, "scores": chosen == {2}, "random": chosen <= {1, 2, 4}}[baseline]
        held, own = ([earned[row.round] for row in rows if row.chooser == chooser] for chooser in (1, 0))
        # Half of 30, five standard deviations either way.
        assert abs(len(held) - 15) <= 5 * math.sqrt(30 / 4)
        found = client.get("/v1/policies/p/lift").json()
        assert found["baseline"] == {"count": len(held), "mean": pytest.approx(np.mean(held))}
        assert found["policy"] == {"count": len(own), "mean": pytest.approx(np.mean(own))}
        assert found["lift"] == pytest.approx(np.mean(own) - np.mean(held))
        width = sum(lift.half_width(len(one), float(np.var(one, ddof=1)), 0.975) for one in (held, own))
        assert (found["low"], found["high"]) == pytest.approx((found["lift"] - width, found["lift"] + width))
    assert [same for _, same in verify.differences(database_of(settings))] == [True]


def test_the_interval_of_a_mean_covers_at_all_times():
    """2,000 streams of 2,000 clicks with probability 0.3, looked at after every click from the 50th on."""
    rng = np.random.default_rng(5)
    clicks = rng.random((2000, 2000)) < 0.3
    counts = np.arange(1, 2001)
    means = clicks.cumsum(axis=1) / counts
    widths = np.array([lift.half_width(int(n), 1.0, 0.95) for n in counts])
    inside = np.abs(means - 0.3) <= widths * np.sqrt(means * (1.0 - means) * counts / np.maximum(counts - 1, 1))
    covered = inside[:, 49:].all(axis=1).mean()
    # At least 95 %, up to five standard errors of 2,000 streams; the usual interval fails most of them.
    assert covered >= 0.95 - 5 * math.sqrt(0.05 * 0.95 / 2000)
    usual = np.abs(means - 0.3) <= 1.96 * np.sqrt(means * (1.0 - means) / counts)
    assert usual[:, 49:].all(axis=1).mean() < 0.8


def test_too_little_has_no_interval():
    empty, one = ChooserRow(1, 0, 0, 0.0, 0.0), ChooserRow(1, 1, 1, 2.0, 4.0)
    assert lift.compared(empty, one)["lift"] is None
    found = lift.compared(ChooserRow(1, 0, 4, 8.0, 20.0), one)
    assert (found["lift"], found["low"], found["high"]) == (0.0, None, None)
