"""Status: counts, history, export, metrics, and the page."""

from __future__ import annotations

import time

import numpy as np
import pyarrow.parquet as pq
import pytest
from tests.serve.bodies import BINARY, code, create, decide, packed, reward
from tests.serve.metrics import samples

import eigenbandits as eb

RNG = np.random.default_rng(0)


def test_the_export_is_a_log_for_off_policy_evaluation(service, tmp_path):
    create(service, algorithm="EpsilonGreedy", parameters={"epsilon": 0.5, "seed": 2})
    sets, made, rewards = [], [], []
    for i in range(12):
        sets.append(RNG.standard_normal((3 + i % 2, 4)).astype(np.float32))
        raw = service.post("/v1/policies/p/decide?dim=4", content=sets[-1].tobytes(), headers=BINARY)
        made.append(raw.json())
        rewards.append(i / 10)
        if i % 4:
            reward(service, made[-1]["decision"], rewards[-1])
    rewarded = [i for i in range(12) if i % 4]
    file = tmp_path / "log.parquet"
    answer = service.get("/v1/policies/p/export")
    assert answer.headers["content-type"] == "application/vnd.apache.parquet"
    file.write_bytes(answer.content)
    log = eb.environments.Log.read(file)
    assert len(log) == len(rewarded)
    for event, i in enumerate(rewarded):
        np.testing.assert_array_equal(log.decision_set(event), sets[i])
    assert log.chosen.tolist() == [made[i]["index"] for i in rewarded]
    assert log.earned.tolist() == [rewards[i] for i in rewarded]
    assert log.probabilities.tolist() == [made[i]["propensity"] for i in rewarded]
    # Evaluating the logged policy's own choices gives what it earned.
    value = eb.environments.Replay(log).value(eb.EpsilonGreedy(epsilon=0.5, seed=0), method="dr")
    assert np.isfinite(value.value)
    everything = service.get("/v1/policies/p/export", params={"columns": "all", "rewarded": "false"})
    file.write_bytes(everything.content)
    table = pq.read_table(file).to_pydict()
    assert table["decision"] == [one["decision"] for one in made]
    assert table["status"] == ["rewarded" if i % 4 else "pending" for i in range(12)]
    assert table["rewards"] == [rewards[i] if i % 4 else None for i in range(12)]
    assert all(then is None or then >= now for now, then in zip(table["decided_at"], table["rewarded_at"], strict=True))


def test_a_certain_choice_is_exported_with_certainty_and_items_by_their_vectors(service, tmp_path):
    items = np.array([[1.0, 2.0], [3.0, 5.0], [6.0, 1.0]], dtype=np.float32)
    body = {"ids": list("abc"), "vectors": packed(items), "dim": 2, "center": "none"}
    service.put("/v1/catalogues/c", json=body)
    create(service, catalogue="c")
    answer = service.post("/v1/policies/p/decide", json={"query": [2.0, 0.5], "items": ["c", "a"]}).json()
    reward(service, answer["decision"], 1.0)
    service.delete("/v1/catalogues/c/items/c")
    file = tmp_path / "log.parquet"
    file.write_bytes(service.get("/v1/policies/p/export", params={"columns": "all"}).content)
    (row,) = pq.read_table(file).to_pylist()
    assert row["actions"] == [[12.0, 0.5], [2.0, 1.0]]
    assert (row["propensities"], row["item"], row["choices"]) == (1.0, answer["item"], answer["index"])


def test_history_and_counts(service):
    create(service)
    for value in (1.0, 0.5, 0.25):
        reward(service, decide(service, RNG.standard_normal((3, 4))).json()["decision"], value)
    decide(service, RNG.standard_normal((3, 4)))
    found = service.get("/v1/policies/p/history", params={"seconds": 60}).json()
    assert found["bucket_seconds"] == 10
    total = {
        key: sum(one[key] for one in found["buckets"]) for key in ("decisions", "rewards", "reward_sum", "defaults")
    }
    assert total == {"decisions": 4, "rewards": 3, "reward_sum": 1.75, "defaults": 0}
    assert all(one["start"] % 10 == 0 and abs(one["start"] - time.time()) < 60 for one in found["buckets"])
    status = service.get("/v1/status").json()
    assert (status["ready"], status["policies"], status["pending"]) == (True, 1, 1)
    assert status["latency"]["decide"]["count"] == 4
    assert 0.0 < status["latency"]["reward"]["p50_ms"] <= status["latency"]["reward"]["p99_ms"]
    assert status["version"] == eb.__version__
    create(service, "quiet")
    decide(service, RNG.standard_normal((3, 4)), "no-such-policy")
    listed = {one["name"]: one["latency"] for one in service.get("/v1/policies").json()["policies"]}
    assert set(listed) == {"p", "quiet"}
    assert listed["p"]["decide"] == status["latency"]["decide"]
    assert listed["quiet"]["decide"] == {"count": 0, "p50_ms": None, "p90_ms": None, "p99_ms": None}


def test_metrics_count_what_happened(service):
    create(service)
    made = [decide(service, RNG.standard_normal((3, 4))).json()["decision"] for _ in range(3)]
    for value in (1.0, 1.0, 0.0):
        reward(service, made[0], value)
    reward(service, made[1], 0.5)
    deadline = time.monotonic() + 10.0
    # Counting follows the answer.
    while samples(service)["eigenbandits_rewards_total", "learned", "p"] < 2.0:
        assert time.monotonic() < deadline
    found = samples(service)
    assert found["eigenbandits_decisions_total", "p"] == 3.0
    assert found["eigenbandits_rewards_total", "p", "repeated"] == 1.0
    assert found["eigenbandits_rewards_total", "p", "refused"] == 1.0
    assert found["eigenbandits_pending_decisions", "p"] == 1.0
    assert found["eigenbandits_reward_mean", "p"] == 0.75
    assert found["eigenbandits_ready",] == 1.0
    assert found["eigenbandits_requests_total", "200", "decide"] == 3.0
    assert found["eigenbandits_requests_total", "409", "reward"] == 1.0
    assert found["eigenbandits_request_seconds_count", "decide"] == 3.0
    assert found["eigenbandits_commit_seconds_count",] >= 5.0
    service.delete("/v1/policies/p")
    assert ("eigenbandits_pending_decisions", "p") not in samples(service)


def test_a_deleted_policy_is_gone_and_its_name_is_free(service):
    create(service)
    made = decide(service, RNG.standard_normal((3, 4))).json()["decision"]
    assert service.delete("/v1/policies/p").status_code == 204
    assert code(service.get("/v1/policies/p")) == (404, "unknown_policy")
    assert code(service.delete("/v1/policies/p")) == (404, "unknown_policy")
    create(service)
    assert code(reward(service, made, 1.0)) == (404, "unknown_decision")
    assert decide(service, RNG.standard_normal((3, 7))).json()["round"] == 1


@pytest.mark.parametrize("path", ["/", "/page/index.html"])
def test_the_page_is_served_and_loads_nothing_from_elsewhere(service, path):
    answer = service.get(path)
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/html")
    assert "default-src 'none'" in answer.headers["content-security-policy"]
