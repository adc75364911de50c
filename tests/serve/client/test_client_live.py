"""The client against the service itself: what it says is what the library does."""

import threading

import numpy as np
import pytest

import eigenbandits as eb
from eigenbandits.serve.client import AccessError, Client, ConflictError, InvalidRequestError, NotFoundError

pytest.importorskip("uvicorn", reason='the service is not installed; run: pip install "eigenbandits[serve]"')
from eigenbandits.serve import Settings, running


@pytest.fixture
def client(tmp_path):
    with running(Settings(folder=tmp_path, port=0)) as server, Client(server.url) as made:
        yield made


def test_decisions_and_rewards_are_those_of_the_library(client):
    rng = np.random.default_rng(0)
    twin = eb.EigenUCB(seed=3)
    client.create_policy("news", parameters={"seed": 3})
    for _ in range(40):
        actions = rng.standard_normal((5, 8)).astype(np.float32)
        mine, own = client.decide("news", actions), twin.choose(actions)
        assert (mine.index, mine.round) == (own.index, own.round)
        assert mine.upper == pytest.approx(own.upper)
        reward = float(rng.random() < 0.5)
        assert client.reward("news", mine.decision, reward) == "learned"
        twin.learn(own, reward)
    found = client.diagnostics("news")
    assert found["rewards_learned"] == 40
    assert found["spectrum"] == pytest.approx(list(twin.diagnostics().as_dict()["spectrum"]))


def test_a_catalogue_is_multiplied_centred_and_changed(client):
    rng = np.random.default_rng(1)
    vectors = rng.standard_normal((6, 4)).astype(np.float32)
    ids = [f"tag-{i}" for i in range(6)]
    assert client.create_catalogue("tags", ids, vectors)["items"] == 6
    client.create_policy("tagging", "OFUL", {"noise": 0.5}, catalogue="tags")
    twin = eb.OFUL(noise=0.5)
    mean = vectors.astype(np.float64).mean(axis=0)
    for step in range(12):
        if step == 6:
            client.remove_items("tags", ["tag-2"])
            client.add_items("tags", ["tag-9"], vectors[2:3])
        names = ["tag-5", "tag-0", "tag-9" if step >= 6 else "tag-2"]
        query = rng.standard_normal(4).astype(np.float32)
        rows = vectors[[5, 0, 2]].astype(np.float64)
        mine = client.decide("tagging", query=query, items=names)
        own = twin.choose((query.astype(np.float64) - mean) * (rows - mean))
        assert mine.item == names[own.index]
        client.reward("tagging", mine.decision, float(step % 2))
        twin.learn(own, float(step % 2))
    assert sorted(client.items("tags")) == ["tag-0", "tag-1", "tag-3", "tag-4", "tag-5", "tag-9"]
    with pytest.raises(ConflictError) as caught:
        client.delete_catalogue("tags")
    assert caught.value.code == "catalogue_in_use"
    client.delete_policy("tagging")
    client.delete_catalogue("tags")
    assert client.catalogues() == []


def test_batches_do_what_single_calls_do(client):
    rng = np.random.default_rng(2)
    for name in ("one", "many"):
        client.create_policy(name, "Greedy", {"seed": 0})
    sets = [rng.standard_normal((int(k), 3)) for k in rng.integers(2, 6, size=7)]
    single = [client.decide("one", actions) for actions in sets]
    many = client.decide_many("many", [{"actions": actions} for actions in sets], batch=3)
    assert [made.index for made in many] == [made.index for made in single]
    told = client.reward_many("many", {made.decision: 1.0 for made in many} | {"nonsense": 1.0}, batch=3)
    assert [one["status"] for one in told] == ["learned"] * 7 + ["refused"]
    assert client.policy("many")["rewards"] == 7


def test_the_same_request_is_the_same_decision_and_a_reward_counts_once(client):
    client.create_policy("news", "Random", {"seed": 0})
    first = client.decide("news", np.eye(4), request="r-1")
    assert client.decide("news", np.eye(4), request="r-1") == first
    assert client.policy("news")["decisions"] == 1
    assert [client.reward("news", first.decision, 1.0) for _ in range(3)] == ["learned", "repeated", "repeated"]
    with pytest.raises(ConflictError) as caught:
        client.reward("news", first.decision, 0.0)
    assert caught.value.code == "different_reward"
    assert client.policy("news")["rewards"] == 1


def test_the_same_policy_again_is_no_error_and_another_is(client):
    made = client.create_policy("news", "OFUL", {"noise": 0.5})
    assert client.create_policy("news", "OFUL", {"noise": 0.5})["name"] == made["name"]
    with pytest.raises(ConflictError):
        client.create_policy("news", "OFUL", {"noise": 0.25})
    assert [one["name"] for one in client.policies()] == ["news"]


def test_the_log_comes_back_as_the_library_reads_it(client, tmp_path):
    rng = np.random.default_rng(3)
    client.create_policy("news", "EpsilonGreedy", {"epsilon": 0.5, "seed": 0})
    offered, earned = [], []
    for _ in range(10):
        actions = rng.standard_normal((3, 2)).astype(np.float32)
        made = client.decide("news", actions)
        offered.append(actions)
        earned.append(float(made.index))
        client.reward("news", made.decision, earned[-1])
    client.export("news", tmp_path / "log.parquet")
    log = eb.environments.Log.read(tmp_path / "log.parquet")
    assert np.asarray(log.rewards) == pytest.approx(earned)
    assert np.asarray(log.choices) == pytest.approx(earned)
    assert all(np.allclose(mine, theirs) for mine, theirs in zip(offered, np.asarray(log.actions), strict=True))


def test_keys_and_what_they_allow(client):
    admin = client.create_key("boss", ["admin"])
    with pytest.raises(AccessError) as caught:
        client.policies()
    assert caught.value.code == "missing_key"
    url = client._transport.service.url
    with Client(url, key=admin["key"]) as boss:
        boss.create_policy("news", "Random", {"seed": 0}, dim=2)
        web = boss.create_key("web", ["decide"])
        with Client(url, key=web["key"]) as clerk:
            made = clerk.decide("news", np.eye(2))
            with pytest.raises(AccessError) as caught:
                clerk.reward("news", made.decision, 1.0)
            assert caught.value.code == "missing_scope"
            boss.revoke_key(web["id"])
            with pytest.raises(AccessError) as caught:
                clerk.decide("news", np.eye(2))
            assert caught.value.code == "wrong_key"
        keys = boss.keys()
        assert {key["name"] for key in keys} == {"boss", "web"}


@pytest.mark.parametrize(
    ("call", "kind", "code"),
    [
        (lambda c: c.decide("none", np.eye(2)), NotFoundError, "unknown_policy"),
        (lambda c: c.decide("news", np.eye(3)), InvalidRequestError, "wrong_dimension"),
        (lambda c: c.decide("news", [[np.nan, 1.0]]), InvalidRequestError, "not_finite"),
        (lambda c: c.reward("news", "1-999", 1.0), NotFoundError, "unknown_decision"),
        (lambda c: c.create_policy("x", "NoSuch"), InvalidRequestError, "invalid_request"),
    ],
)
def test_refusals_have_their_class_and_code(client, call, kind, code):
    client.create_policy("news", "Random", {"seed": 0})
    client.decide("news", np.eye(2))
    with pytest.raises(kind) as caught:
        call(client)
    assert caught.value.code == code
    assert caught.value.request_id


def test_many_threads_share_a_client(client):
    client.create_policy("news", "Random", {"seed": 0})
    made = []

    def work():
        for _ in range(10):
            decided = client.decide("news", np.eye(3))
            client.reward("news", decided.decision, 1.0)
            made.append(decided.decision)

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(set(made)) == 60
    found = client.policy("news")
    assert (found["decisions"], found["rewards"], found["pending"]) == (60, 60, 0)


def test_status_and_history_count_what_was_done(client):
    client.create_policy("news", "Random", {"seed": 0})
    for reward in (1.0, 0.0, 1.0):
        client.reward("news", client.decide("news", np.eye(3)).decision, reward)
    client.decide("news", np.eye(3))
    buckets = client.history("news")["buckets"]
    assert sum(bucket["decisions"] for bucket in buckets) == 4
    assert sum(bucket["reward_sum"] for bucket in buckets) == pytest.approx(2.0)
    status = client.status()
    assert status["ready"]
    assert status["pending"] == 1
