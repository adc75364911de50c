"""The committing process: deciders share its transactions, and survive its end."""

from __future__ import annotations

import socket
import threading
from contextlib import ExitStack, contextmanager
from functools import partial

import numpy as np
import pytest
from tests.serve.deciders.fleet import committing, counts, journal_of, sent, served, until

from eigenbandits.serve import Settings
from eigenbandits.serve.deciders import commit_process, entries
from eigenbandits.serve.deciders.batch import DeciderBatch
from eigenbandits.serve.deciders.commit_process import CommitProcess, Messages, message_of
from eigenbandits.serve.deciders.decider import Decider
from eigenbandits.serve.deciders.entries import Entries, Outcome
from eigenbandits.serve.learner.learner import Learner
from eigenbandits.serve.storage import database_of


@pytest.fixture
def listening(tmp_path_factory):
    with socket.socket(socket.AF_UNIX) as one:
        one.bind(str(tmp_path_factory.mktemp("s") / "s"))
        one.listen()
        yield one


@contextmanager
def running(place, listening):
    process = CommitProcess(database_of(Settings(**place)), listening)
    thread = threading.Thread(target=process.run)
    thread.start()
    try:
        yield
    finally:
        process.stop()
        thread.join()


def connected(listening):
    peer = socket.socket(socket.AF_UNIX)
    peer.settimeout(20.0)
    peer.connect(listening.getsockname())
    return peer


def rewards(arrival, id_="1-ff-1"):
    """Entries with the reward of a decision that does not exist."""
    return message_of(
        tuple(Entries(1, 0.0, {}, {}, [], [(1, False, [(arrival, (1, 255, 1.0, id_, "", False, None))])]))
    )


def outcomes(peer, count):
    messages, found = Messages(), list[Outcome]()
    while len(found) < count:
        data = peer.recv(2**16)
        assert data, "the connection was closed"
        found += [Outcome(*one) for one in messages.read(data)]
    return found


def test_all_that_are_waiting_share_a_transaction_and_each_is_told_what_came_of_its_own(
    tmp_path, listening, monkeypatch
):
    sizes, add = [], entries.add

    def counted(database, journal, all_entries):
        sizes.append(len(all_entries))
        return add(database, journal, all_entries)

    monkeypatch.setattr(commit_process, "add", counted)
    place = {"folder": tmp_path / "data"}
    with (
        connected(listening) as one,
        connected(listening) as other,
        running(place, listening),
        journal_of(place) as own,
    ):
        for peer in (one, other):
            peer.sendall(rewards(0))
            outcomes(peer, 1)
        sizes.clear()
        # While somebody else writes, entries gather; the last message is not complete yet.
        half = rewards(5, "later")
        with own.connection.transaction():
            for i in range(3):
                one.sendall(rewards(i, f"one-{i}"))
            other.sendall(rewards(3, "other-0") + half[:20])
        told = [found.rewarded[0][0] for found in outcomes(one, 3)]
        assert [(status, text.split("'")[1]) for status, _, text, _ in told] == [(404, f"one-{i}") for i in range(3)]
        assert "other-0" in outcomes(other, 1)[0].rewarded[0][0][2]
        # What arrived before the process began to wait was in a transaction before the rest.
        assert sum(sizes) == 4
        assert len(sizes) <= 2
        other.sendall(half[20:])
        assert "later" in outcomes(other, 1)[0].rewarded[0][0][2]


def test_one_that_does_not_read_its_answers_holds_up_nobody_for_long(tmp_path, listening, monkeypatch):
    monkeypatch.setattr(commit_process, "_PATIENCE", 0.2)
    with connected(listening) as deaf, connected(listening) as other, running({"folder": tmp_path / "data"}, listening):
        other.sendall(rewards(1))
        outcomes(other, 1)
        # Its answers soon take more than what fits between two processes.
        with pytest.raises(OSError, match=r"Broken pipe|reset"):
            deaf.sendall(100 * rewards(0, "x" * 2**17))
        other.sendall(rewards(2))
        assert len(outcomes(other, 1)) == 1


def test_deciders_go_on_when_the_committing_process_was_replaced(tmp_path, listening):
    place = {"folder": tmp_path / "data"}
    body = {"actions": np.eye(3).tolist()}
    with served(place, Learner), served(place, partial(Decider, committing=listening.getsockname())) as a:
        with running(place, listening):
            assert sent(a, "POST", "/v1/policies", {"name": "p", "parameters": {"seed": 1}}).status_code == 201
            made = [sent(a, "POST", "/v1/policies/p/decide", body).json()["decision"] for _ in range(5)]
        answers = []
        asking = threading.Thread(target=lambda: answers.append(a.post("/v1/policies/p/decide", json=body)))
        asking.start()
        # It has ended; connections wait for the next one, or are refused for the moment.
        with running(place, listening):
            asking.join()
            assert answers[0].status_code in (200, 503)
            again = sent(a, "POST", "/v1/policies/p/decide", body)
            assert again.status_code == 200
            given = [
                sent(a, "POST", "/v1/policies/p/reward", {"decision": one, "reward": 1.0}).json()
                for one in [*made, again.json()["decision"]]
            ]
            assert [one["status"] for one in given] == ["learned"] * 6
            until(lambda: counts(a)["rewards"] == 6)
    with journal_of(place) as journal:
        rows = [row for row, _ in journal.exported(1, 0, 100)]
        assert {row.decision for row in rows} >= {*made, again.json()["decision"]}
        # Another connection, another lane.
        assert len({row.round >> 40 for row in rows}) == 2


def test_small_commands_wake_no_thread_and_large_ones_leave_the_event_loop_alone(tmp_path, monkeypatch):
    place, threads, apply = {"folder": tmp_path / "data"}, [], DeciderBatch.apply

    def noted(batch, commands):
        threads.append(threading.current_thread().name)
        apply(batch, commands)

    with ExitStack() as stack:
        stack.enter_context(served(place, Learner))
        address = stack.enter_context(committing(place))
        a = stack.enter_context(served(place, partial(Decider, committing=address)))
        assert sent(a, "POST", "/v1/policies", {"name": "p", "parameters": {"seed": 1}}).status_code == 201
        monkeypatch.setattr(DeciderBatch, "apply", noted)
        hosted = vars(a)["server"].writer.registry.policy("p")
        body = {"actions": np.eye(3).tolist()}
        # The writer's thread may be looking for news just then.
        until(lambda: sent(a, "POST", "/v1/policies/p/decide", body).status_code == 200 and threads[-1] == "http")
        hosted.seconds_per_number = 1.0
        assert sent(a, "POST", "/v1/policies/p/decide", body).status_code == 200
        assert threads[-1] == "writer"


def test_answers_go_to_their_commands_whichever_thread_has_sent_them(tmp_path):
    place, refused = {"folder": tmp_path / "data"}, list[str]()
    with ExitStack() as stack:
        stack.enter_context(served(place, Learner))
        address = stack.enter_context(committing(place))
        a = stack.enter_context(served(place, partial(Decider, committing=address)))
        for name in ("small", "large"):
            assert sent(a, "POST", "/v1/policies", {"name": name, "parameters": {"seed": 1}}).status_code == 201
        # Taken for so large that the writer's thread applies its commands.
        vars(a)["server"].writer.registry.policy("large").seconds_per_number = 0.01

        def ask(name, count):
            for size in range(2, count + 2):
                body = {"actions": np.eye(3)[np.arange(size) % 3].tolist()}
                made = a.post(f"/v1/policies/{name}/decide", json=body)
                decided = made.json().get("decision", "none")
                given = a.post(f"/v1/policies/{name}/reward", json={"decision": decided, "reward": 1.0})
                refused.extend(one.text for one in (made, given) if one.status_code != 200)

        asking = [threading.Thread(target=ask, args=(name, 40)) for name in ("small", "large") * 4]
        for thread in asking:
            thread.start()
        for thread in asking:
            thread.join()
    assert refused == []
