"""Deciders: what they answer follows from the log and the published belief, whichever of them is asked."""

from __future__ import annotations

import dataclasses
import threading
from functools import partial

import httpx
import numpy as np
import pytest
from tests.serve.deciders.fleet import counts, fleet, journal_of, sent, served, until

from eigenbandits.serve import Settings
from eigenbandits.serve.deciders.decider import Decider
from eigenbandits.serve.learner.learner import Learner
from eigenbandits.serve.storage import database_of
from eigenbandits.serve.storage.lanes import BITS
from eigenbandits.serve.writer import recovery, verify
from eigenbandits.serve.writer.event_codec import decode_set
from eigenbandits.serve.writer.writer import Writer

RNG = np.random.default_rng(0)
SET = [[1.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 1.5]]


def create(client, name="p", **more):
    answer = sent(client, "POST", "/v1/policies", {"name": name, "parameters": {"seed": 7}} | more)
    assert answer.status_code == 201, answer.text


def decide(client, name="p", **more):
    return sent(client, "POST", f"/v1/policies/{name}/decide", {"actions": SET} | more)


def reward(client, decision, value, name="p"):
    return sent(client, "POST", f"/v1/policies/{name}/reward", {"decision": decision, "reward": value})


def rewarded(client, count):
    return counts(client)["rewards"] == count


def writer(client):
    return vars(client)["server"].writer


def belief_of(client):
    return writer(client).registry.policy("p").version


def newer(clients, before):
    """Whether each client's decider has read a later belief."""
    return all(belief_of(client) > then for client, then in zip(clients, before, strict=True))


def code(answer):
    return answer.status_code, answer.json()["error"]["code"]


def test_every_choice_can_be_made_again_from_the_log_and_the_version_of_its_belief(place):
    with fleet(place) as (a, b, _):
        create(a, algorithm="EigenTS", observe_after=10, observe_every=2)
        before = [0, 0]
        for i in range(60):
            actions = RNG.standard_normal((5, 3)).tolist()
            made = decide((a, b)[i % 2], actions=actions).json()
            assert reward((a, b)[i % 3 == 0], made["decision"], actions[made["index"]][0]).status_code == 200
            if i % 20 == 19:
                until(partial(rewarded, a, i + 1))
                until(partial(newer, (a, b), before))
                before = [belief_of(client) for client in (a, b)]
    with journal_of(place) as journal:
        (row,) = journal.policies()
        rows = [one for one, _ in journal.exported(row.id, 0, 1000)]
        assert len(rows) == 60
        versions = sorted({one.belief for one in rows if one.belief})
        assert len(versions) >= 2, "one belief was good for all"
        database, different = database_of(Settings(**place)), 0
        for version in versions:
            # The policy as the log says that it was when this belief was published.
            then = dataclasses.replace(row, position=version)
            policy = recovery.load(database, journal, then, {}, "log").policy
            for made in [one for one in rows if one.belief == version]:
                key = np.array([7 + (row.id << 53), made.round], dtype=np.uint64)
                stream = np.random.Generator(np.random.Philox(key=key))
                actions = decode_set(made.content)[0].actions(None)
                again = policy.propose(actions, stream)
                assert (again.index, again.estimate, again.upper) == (made.index, made.estimate, made.upper)
                assert again.propensity == made.propensity
                different += policy.propose(actions, np.random.default_rng(1)).index != made.index
        assert different, "no stream of randomness would have made a difference"
    assert [same for _, same in verify.differences(database)] == [True]


def test_a_request_id_gives_one_decision_whichever_decider_is_asked_and_when(place):
    with fleet(place) as (a, b, _):
        create(a)
        first = decide(a, request="r").json()
        assert decide(b, request="r").json() == decide(a, request="r").json() == first
        # Both at once, many times: whoever commits first has made the decision.
        answers: list[list[str]] = [[] for _ in range(4)]

        def ask(client, mine):
            with httpx.Client(base_url=client.base_url, timeout=30.0) as own:
                mine += [decide(own, request=f"r{i}").json()["decision"] for i in range(25)]

        threads = [threading.Thread(target=ask, args=((a, b)[i % 2], answers[i])) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert all(mine == answers[0] for mine in answers)
        assert len(set(answers[0])) == 25
        until(lambda: counts(a)["decisions"] == 26)


def test_a_reward_counts_once_and_the_first_one_stands(place):
    with fleet(place) as (a, b, _):
        create(a)
        made = decide(a).json()["decision"]
        assert reward(b, made, 1.0).json() == {"decision": made, "status": "learned"}
        assert reward(a, made, 1.0).json() == {"decision": made, "status": "repeated"}
        assert code(reward(a, made, 0.0)) == (409, "different_reward")
        policy, epoch, number = made.split("-")
        assert code(reward(a, f"{policy}-{epoch}-{int(number) + 1000}", 1.0)) == (404, "unknown_decision")
        other = f"{policy}-{int(epoch, 16) ^ 1:x}-{number}"
        assert code(reward(b, other, 1.0)) == (409, "other_epoch")
        until(lambda: counts(b) == {"decisions": 1, "rewards": 1, "defaults": 0, "expired": 0, "pending": 0})


def test_parts_of_rewards_are_learned_when_the_time_is_over(place):
    with fleet(place) as (a, b, _):
        create(a, time_to_live=3.0, default_reward=0.0, learn_at="time_to_live")
        made = decide(a).json()["decision"]
        decide(b)

        def part(client, name, value, **more):
            body = {"decision": made, "reward": value, "part": name} | more
            return sent(client, "POST", "/v1/policies/p/reward", body)

        assert part(a, "click", 1.0).json()["status"] == "recorded"
        assert part(b, "click", 1.0).json()["status"] == "repeated"
        assert part(b, "stay", 2.0).json()["status"] == "recorded"
        assert code(part(a, "stay", 3.0)) == (409, "different_reward")
        assert part(a, "stay", 4.0, correct=True).json()["status"] == "corrected"
        until(lambda: counts(a) == {"decisions": 2, "rewards": 1, "defaults": 1, "expired": 0, "pending": 0})
        with journal_of(place) as journal:
            assert journal.connection.execute("SELECT reward FROM rewards WHERE kind = 'given'") == [(5.0,)]
            assert journal.connection.execute("SELECT COUNT(*) FROM parts") == [(0,)]


@pytest.mark.parametrize(("default", "ended"), [(0.0, "defaults"), (None, "expired")])
def test_the_learner_ends_decisions_whose_time_is_over(tmp_path, default, ended):
    place = {"folder": tmp_path / "data"}
    with fleet(place) as (a, b, _):
        create(a, time_to_live=0.3, default_reward=default)
        first, _ = decide(a).json()["decision"], decide(b)
        until(lambda: counts(a)[ended] == 2)
        assert counts(a)["pending"] == 0
        assert code(reward(b, first, 1.0)) == (409, "expired")
    assert [same for _, same in verify.differences(database_of(Settings(**place)))] == [True]


def test_two_deciders_agree_on_the_length_of_vectors_before_anything_is_published(tmp_path):
    place = {"folder": tmp_path / "data"}
    with served(place, Learner):
        pass  # opens the database, and is gone
    with served(place, Decider) as a, served(place, Decider) as b:
        create(a)
        assert decide(a).status_code == 200
        answer = decide(b, actions=[[1.0, 2.0], [0.0, 1.0]])
        assert code(answer) == (400, "wrong_dimension")
        assert decide(b).status_code == 200


def has_items(client, ids, version):
    """Whether one of the processes knows these items, as of this version."""
    items, found = (sent(client, "GET", f"/v1/catalogues/c{more}").json() for more in ("/items", ""))
    return (items["ids"], found["version"]) == (ids, version)


def test_what_one_decider_changes_all_others_know(tmp_path):
    place = {"folder": tmp_path / "data"}
    with fleet(place) as (a, b, learner):
        ids = ["one", "two", "three"]
        assert sent(a, "PUT", "/v1/catalogues/c", {"ids": ids, "vectors": SET}).status_code == 201
        create(b, catalogue="c")
        body = {"query": [1.0, 1.0, 1.0]}
        assert sent(a, "POST", "/v1/policies/p/decide", body).json()["item"] in ids
        sent(b, "POST", "/v1/catalogues/c/items", {"ids": ["four"], "vectors": [[9.0, 9.0, 9.0]]})
        sent(a, "DELETE", "/v1/catalogues/c/items/one")
        sent(b, "POST", "/v1/catalogues/c/items", {"ids": ["two"], "vectors": [[0.0, 0.0, 7.0]]})
        for client in (a, b, learner):
            until(partial(has_items, client, ["four", "three", "two"], 4))
        made = sent(b, "POST", "/v1/policies/p/decide", body | {"items": ["four", "two"]}).json()
        assert reward(a, made["decision"], 1.0).json()["status"] == "learned"
        until(lambda: counts(a)["rewards"] == 1)
        # The same vectors everywhere, those of replaced items included.
        held = [writer(one).registry.catalogues["c"] for one in (a, b, learner)]
        for other in held[1:]:
            assert np.array_equal(held[0].centered[:5], other.centered[:5])
            assert (held[0].slot_of, held[0].names) == (other.slot_of, other.names)
        assert sent(a, "DELETE", "/v1/policies/p").status_code == 204
        until(lambda: sent(b, "GET", "/v1/policies/p").status_code == 404)
        until(lambda: not writer(learner).registry.policies)
        tables = ("decisions", "rewards", "events", "tails", "cursors", "beliefs")
        with journal_of(place) as journal:
            # The learner sweeps up what the decider has left.
            until(lambda: not any(journal.connection.execute(f"SELECT 1 FROM {table} LIMIT 1") for table in tables))


def test_without_a_learner_deciders_go_on_and_say_how_old_their_belief_is(tmp_path):
    place = {"folder": tmp_path / "data"}
    with served(place, Decider) as early:
        assert early.get("/ready").status_code == 503
    with served(place, Learner), served(place, Decider) as a:
        create(a)
        reward(a, decide(a).json()["decision"], 1.0)
        until(lambda: counts(a)["rewards"] == 1)
    with served(place, Decider) as a:
        made = [decide(a).json()["decision"] for _ in range(5)]
        assert [reward(a, one, 1.0).json()["status"] for one in made] == ["learned"] * 5
        age = a.get("/ready").json()["belief_age"]
        until(lambda: a.get("/ready").json()["belief_age"] > age + 0.2)
        assert counts(a)["rewards"] == 1
        with served(place, Learner):
            until(lambda: counts(a)["rewards"] == 6)
            until(lambda: a.get("/ready").json()["belief_age"] < 5.0)
    assert [same for _, same in verify.differences(database_of(Settings(**place)))] == [True]


def test_a_database_of_one_process_goes_on_with_deciders_but_not_back(tmp_path):
    place = {"folder": tmp_path / "data"}
    with served(place, Writer) as alone:
        create(alone, time_to_live=8.0, default_reward=0.0)
        old = [decide(alone).json()["decision"] for _ in range(4)]
        reward(alone, old[0], 1.0)
    with fleet(place) as (a, b, _):
        assert reward(a, old[1], 1.0).json()["status"] == "learned"
        assert reward(b, old[0], 1.0).json()["status"] == "repeated"
        until(lambda: counts(a) == {"decisions": 4, "rewards": 2, "defaults": 2, "expired": 0, "pending": 0})
        decide(b)
        until(lambda: counts(a)["decisions"] == 5)
    assert [same for _, same in verify.differences(database_of(Settings(**place)))] == [True]
    with pytest.raises(ValueError, match="served by deciders and a learner"), served(place, Writer):
        pass


def test_a_lane_is_dropped_once_its_process_is_gone_and_all_of_it_was_followed(place):
    with served(place, Learner) as learner:
        with served(place, Decider) as a:
            create(a)
            lane = int(decide(a).json()["decision"].split("-")[2]) >> BITS
            duties = writer(learner)._maintenance
            until(lambda: duties._version.get(1))
            duties._rarely = 0.0
            with journal_of(place) as journal:
                until(lambda: duties._rarely)
                assert lane in [one.lane for one in journal.lanes()], "it was dropped while it could be written to"
        duties._rarely = 0.0
        with journal_of(place) as journal:
            until(lambda: lane not in [one.lane for one in journal.lanes()])
            assert lane not in [one.lane for one in journal.tails()]


def test_the_learner_decides_nothing(tmp_path):
    with fleet({"folder": tmp_path / "data"}) as (a, _, learner):
        create(a)
        until(lambda: writer(learner).registry.policies)
        assert code(learner.post("/v1/policies/p/decide", json={"actions": SET})) == (421, "not_a_decider")


@pytest.mark.parametrize("role", [Decider, Learner])
@pytest.mark.parametrize(
    ("name", "value"), [("budget", {"budget": 1.0}), ("guard", {"noise": 0.5, "theta_bound": 1.0, "shadow": True})]
)
def test_what_only_one_process_can_keep_is_refused_by_either_role(tmp_path, role, name, value):
    with fleet({"folder": tmp_path}) as (decider, _, learner):
        client = decider if role is Decider else learner
        assert writer(client).settings.deciders == 0
        refused = sent(client, "POST", "/v1/policies", {"name": "p", name: value})
        assert code(refused) == (409, "not_with_deciders")
        assert refused.json()["error"]["field"] == name


def test_an_edit_at_one_decider_reaches_the_learner_and_the_other(place):
    with fleet(place) as (a, b, _):
        create(a, time_to_live=1000.0)
        decide(b)
        until(lambda: counts(a)["decisions"] == 1)
        assert sent(a, "PATCH", "/v1/policies/p", {"time_to_live": 0.1, "default_reward": 0.5}).status_code == 200
        until(lambda: sent(b, "GET", "/v1/policies/p").json()["time_to_live"] == 0.1)
        until(lambda: counts(a)["defaults"] == 1)


def test_a_clone_starts_from_the_published_belief_and_is_published_itself(place):
    with fleet(place) as (a, b, _):
        create(a)
        for _ in range(5):
            reward(a, decide(a).json()["decision"], 1.0)
        until(partial(rewarded, a, 5))
        until(lambda: writer(a).registry.policy("p").policy.round == 5)
        made = sent(a, "POST", "/v1/policies", {"name": "q", "clone_of": "p"})
        assert made.status_code == 201, made.text
        until(lambda: sent(b, "GET", "/v1/policies/q").status_code == 200)
        until(lambda: writer(b).registry.policy("q").policy.round == 5)
    assert [same for _, same in verify.differences(database_of(Settings(**place)))] == [True, True]
