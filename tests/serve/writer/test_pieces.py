"""Long work in pieces: huge batches, deletions and uploads, with other requests carried out in between."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from contextlib import closing

import httpx
import numpy as np
import pytest
from tests.serve.bodies import BINARY, code, create, decide, packed

from eigenbandits.serve import Settings, running
from eigenbandits.serve.storage import database_of
from eigenbandits.serve.storage.checkpoints import KEPT_WAL
from eigenbandits.serve.storage.journal import Journal
from eigenbandits.serve.writer import administration, verify
from eigenbandits.serve.writer.command_queue import CommandQueue
from eigenbandits.serve.writer.commands import DecideCommand, Task

RNG = np.random.default_rng(0)


def command(policy: int, cost: float) -> DecideCommand:
    return DecideCommand(policy, [], [], asyncio.Future(loop=asyncio.new_event_loop()), cost)


def test_policies_take_turns_and_batches_end_where_the_budget_does():
    queue = CommandQueue()
    flood = [command(1, 1.0) for _ in range(5)]
    others = [command(2, 0.5), command(2, 0.5), command(3, 0.5)]
    task = Task(lambda journal: None, cost=0.0)
    queue.put([*flood, *others, task])
    assert (len(queue), queue.waiting(1), queue.waiting(9)) == (9, 5, 0)
    # One of each policy in turn; the next round would go beyond the budget.
    assert queue.take(0.0, 256, 2.0) == [flood[0], others[0], others[2]]
    assert queue.take(0.0, 256, 2.0) == [task, flood[1], others[1], flood[2]]
    # At least one, however much it costs; and no more than are wanted.
    assert queue.take(0.0, 256, 0.1) == [flood[3]]
    assert queue.take(0.0, 0, 0.1) == []
    assert queue.take(0.0, 256, 9.0) == [flood[4]]
    assert (queue.take(0.001, 256, 1.0), len(queue)) == ([], 0)


def test_a_large_batch_is_decided_in_pieces(service):
    create(service)
    create(service, "other")
    decide(service, np.ones((2, 8)))
    writer = service.server.writer
    hosted = writer.registry.policy("p")
    # By this estimate a piece is a tenth of the batch.
    hosted.seconds_per_number = 0.02 / (20 * 5 * 8)
    hosted.note_choices = lambda seconds, numbers: None
    sets = RNG.standard_normal((200, 5, 8)).astype("<f4")
    url = "/v1/policies/p/decide/batch?dim=8&sets=200"
    made = service.post(url, content=sets.tobytes(), headers=BINARY).json()["decisions"]
    assert [one["round"] for one in made] == list(range(2, 202))
    journal = Journal(writer.database.connect())
    events = [event.kind for event in journal.events(hosted.id, 0, 10**9)]
    journal.connection.close()
    # Two pieces may share a batch.
    assert 6 <= len(events) <= 11
    # Rewards are learned in pieces, too, and each has its result.
    hosted.seconds_per_reward = 0.02 / 50
    hosted.note_rewards = lambda seconds, count: None
    entries = [{"decision": one["decision"], "reward": 1.0} for one in made]
    results = service.post("/v1/policies/p/reward/batch", json={"rewards": entries}).json()["results"]
    assert [one["decision"] for one in results] == [one["decision"] for one in made]
    assert {one["status"] for one in results} == {"learned"}
    assert [same for _, same in verify.differences(database_of(writer.settings))] == [True, True]


def test_a_batch_that_would_take_too_long_is_refused_before_anything_is_decided(service):
    create(service)
    decide(service, np.ones((2, 8)))
    hosted = service.server.writer.registry.policy("p")
    hosted.seconds_per_number = 1.0
    sets = np.ones((20, 5, 8), dtype="<f4")
    answer = service.post("/v1/policies/p/decide/batch?dim=8&sets=20", content=sets.tobytes(), headers=BINARY)
    assert code(answer) == (413, "batch_too_costly")
    assert "about 800 seconds" in answer.json()["error"]["message"]
    assert service.get("/v1/policies/p").json()["decisions"] == 1
    # A single decision cannot be cut, and is made.
    assert decide(service, np.ones((2, 8))).status_code == 200


def test_vectors_of_different_lengths_in_the_first_batch_decide_nothing(service):
    create(service)
    body = {"requests": [{"actions": [[1.0, 2.0]]}, {"actions": [[1.0, 2.0, 3.0]]}]}
    assert code(service.post("/v1/policies/p/decide/batch", json=body)) == (400, "wrong_dimension")
    assert service.get("/v1/policies/p").json()["decisions"] == 0


def rows_of(settings, policy) -> int:
    """How many rows of a policy or a catalogue there are in the database."""
    connection = database_of(settings).connect()
    tables = ("decisions", "events", "rewards", "history")
    counts = [connection.execute(f"SELECT COUNT(*) FROM {name} WHERE policy = ?", (policy,)) for name in tables]
    counts.append(connection.execute("SELECT COUNT(*) FROM items WHERE catalogue = ?", (policy,)))
    connection.close()
    return sum(count[0][0] for count in counts)


def wait_until_gone(settings, policy) -> None:
    deadline = time.monotonic() + 60.0
    while rows_of(settings, policy):
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_policy_is_deleted_in_pieces(place, monkeypatch):
    settings = Settings(**place, port=0)
    with running(settings) as server, httpx.Client(base_url=server.url, timeout=30.0) as client:
        for name in ("p", "other"):
            create(client, name)
        sets = RNG.standard_normal((1000, 2, 3)).astype("<f4")
        for name in ("p", "other"):
            url = f"/v1/policies/{name}/decide/batch?dim=3&sets=1000"
            assert client.post(url, content=sets.tobytes(), headers=BINARY).status_code == 200
        id_ = server.writer.registry.policy("p").id
        pieces: list[int] = []
        sweep = Journal.sweep

        def counted(journal, kind, id_, limit):
            pieces.append(limit)
            return sweep(journal, kind, id_, min(limit, 100))

        monkeypatch.setattr(Journal, "sweep", counted)
        assert client.delete("/v1/policies/p").status_code == 204
        assert code(decide(client, np.ones((2, 3)))) == (404, "unknown_policy")
        assert create(client).status_code == 201
        assert decide(client, np.ones((2, 3)), "other").status_code == 200
        wait_until_gone(settings, id_)
        assert len(pieces) >= 10
        assert client.get("/v1/policies/other").json()["decisions"] == 1001
        assert rows_of(settings, server.writer.registry.policy("other").id) > 1001


def test_a_deletion_that_was_cut_off_goes_on_at_the_next_start(tmp_path, monkeypatch):
    settings = Settings(folder=tmp_path, port=0)
    monkeypatch.setattr(Journal, "sweep", lambda *args: True)
    with running(settings) as server, httpx.Client(base_url=server.url) as client:
        create(client)
        decide(client, np.ones((2, 3)))
        id_ = server.writer.registry.policy("p").id
        client.delete("/v1/policies/p")
    assert rows_of(settings, id_) > 0
    monkeypatch.undo()
    with running(settings):
        wait_until_gone(settings, id_)


def test_a_large_upload_is_written_in_pieces(service, monkeypatch):
    """Other requests are carried out in between, and none sees half of the items."""
    monkeypatch.setattr(administration, "_ITEMS_AT_ONCE", 10)
    vectors = RNG.standard_normal((105, 3))
    ids = [f"i{i}" for i in range(105)]
    seen: list[int] = []
    insert = administration.Administration._insert

    def watched(journal, catalogue, start, *rest):
        known = service.server.writer.registry.catalogues.get("c")
        seen.append(-1 if known is None else len(known.slot_of))
        insert(journal, catalogue, start, *rest)

    monkeypatch.setattr(administration.Administration, "_insert", staticmethod(watched))
    body = {"ids": ids, "vectors": vectors.tolist()}
    assert service.put("/v1/catalogues/c", json=body).status_code == 201
    assert seen == [-1] * 11
    seen.clear()
    assert service.put("/v1/catalogues/c", json=body).status_code == 200
    assert seen == []
    more = {"ids": [f"j{i}" for i in range(25)], "vectors": vectors[:25].tolist()}
    assert service.post("/v1/catalogues/c/items", json=more).json() == {"items": 130, "version": 2}
    assert seen == [105] * 3
    create(service, catalogue="c")
    assert service.post("/v1/policies/p/decide", json={}).status_code == 200


def test_an_upload_that_was_cut_off_leaves_nothing(place, monkeypatch):
    settings = Settings(**place, port=0)
    monkeypatch.setattr(administration, "_ITEMS_AT_ONCE", 2)
    insert = administration.Administration._insert
    body = {"ids": list("abcdef"), "vectors": np.ones((6, 3)).tolist(), "center": "none"}
    with running(settings) as server, httpx.Client(base_url=server.url, timeout=30.0) as client:

        def broken(journal, catalogue, start, ids, array, version, part):
            insert(journal, catalogue, start, ids, array, version, part)
            if part.start >= 2:
                raise RuntimeError("as if it had ended here")

        with monkeypatch.context() as patched:
            patched.setattr(administration.Administration, "_insert", staticmethod(broken))
            assert client.put("/v1/catalogues/c", json=body).status_code == 500
            assert code(client.get("/v1/catalogues/c")) == (404, "unknown_catalogue")
            wait_until_gone(settings, 1)
        assert client.put("/v1/catalogues/c", json=body).status_code == 201
        id_ = server.writer.registry.catalogue("c").id
        with monkeypatch.context() as patched:
            patched.setattr(administration.Administration, "_insert", staticmethod(broken))
            more = {"ids": list("ghij"), "vectors": np.ones((4, 3)).tolist()}
            assert client.post("/v1/catalogues/c/items", json=more).status_code == 500
        assert client.post("/v1/catalogues/c/items", json=more).json() == {"items": 10, "version": 2}
        assert rows_of(settings, id_) == 10
    # As a process that was killed between two steps would have left it.
    connection = database_of(settings).connect()
    connection.execute("INSERT INTO items VALUES (?, 10, 'x', 3, NULL, ?)", (id_, bytes(12)))
    connection.close()
    with running(settings) as server, httpx.Client(base_url=server.url) as client:
        assert rows_of(settings, id_) == 10
        one = {"ids": ["k"], "vectors": [[1.0, 2.0, 3.0]]}
        assert client.post("/v1/catalogues/c/items", json=one).json() == {"items": 11, "version": 3}


def test_items_that_an_upload_was_about_to_replace_are_there_after_it_was_cut_off(place, monkeypatch):
    settings = Settings(**place, port=0)
    monkeypatch.setattr(administration, "_ITEMS_AT_ONCE", 2)
    body = {"ids": list("abcde"), "vectors": np.eye(5, 3).tolist(), "center": "none"}
    again = {"ids": list("edcba"), "vectors": np.full((5, 3), 2.0).tolist()}
    with running(settings) as server, httpx.Client(base_url=server.url, timeout=30.0) as client:
        assert client.put("/v1/catalogues/c", json=body).status_code == 201
        marked: list[int] = []

        def broken(journal, catalogue, version, slots):
            remove_items(journal, catalogue, version, slots)
            marked.append(len(slots))
            if len(marked) == 2:
                raise RuntimeError("as if it had ended here")

        remove_items = Journal.remove_items
        with monkeypatch.context() as patched:
            patched.setattr(Journal, "remove_items", broken)
            assert client.post("/v1/catalogues/c/items", json=again).status_code == 500
        assert marked == [2, 2]
        assert client.get("/v1/catalogues/c").json()["items"] == 5
        id_ = server.writer.registry.catalogue("c").id
    # As a process that was killed between two steps would have left it.
    connection = database_of(settings).connect()
    connection.execute("INSERT INTO items VALUES (?, 5, 'a', 2, NULL, ?)", (id_, bytes(12)))
    connection.execute("UPDATE items SET removed = 2 WHERE catalogue = ? AND slot < 3", (id_,))
    connection.close()
    with running(settings) as server, httpx.Client(base_url=server.url) as client:
        found = server.writer.registry.catalogue("c")
        assert found.slot_of == {name: slot for slot, name in enumerate("abcde")}
        assert client.post("/v1/catalogues/c/items", json={"ids": ["f"], "vectors": [[1, 2, 3]]}).status_code == 200
    # The marks are gone, too, and do not count at the version that the last upload has reached.
    with running(settings) as server:
        assert sorted(server.writer.registry.catalogue("c").slot_of) == list("abcdef")


def test_sqlite_shrinks_and_its_log_stays_small(tmp_path):
    settings = Settings(folder=tmp_path, port=0)
    with running(settings) as server, httpx.Client(base_url=server.url, timeout=60.0) as client:
        create(client)
        sets = np.ones((100, 50, 100), dtype="<f4")
        for _ in range(15):
            answer = client.post("/v1/policies/p/decide/batch?dim=100&sets=100", content=sets.tobytes(), headers=BINARY)
            assert answer.status_code == 200
        client.delete("/v1/policies/p")
        file = tmp_path / "eigenbandits.sqlite"
        deadline = time.monotonic() + 60.0
        while file.stat().st_size > 8e6 or server.writer._maintenance.busy:
            assert time.monotonic() < deadline, file.stat().st_size
            time.sleep(0.05)
        # The next transactions begin the log again, at its largest permitted size.
        create(client, "q")
        while file.with_name(file.name + "-wal").stat().st_size > KEPT_WAL:
            assert time.monotonic() < deadline
            decide(client, np.ones((2, 3)), "q")
            time.sleep(0.2)
    with closing(sqlite3.connect(file)) as database:
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_json_in_pieces_is_json(service):
    """A large body is read in pieces, with the same result as a small one, and the same refusals."""
    count, dim = 1500, 40
    ids = [f'item \\ "{i}" ]], é {"x" * 50}' for i in range(count)]
    vectors = RNG.standard_normal((count, dim)).astype(np.float32)
    listed = {"mean": [0.5] * dim, "ids": ids, "vectors": vectors.tolist(), "center": "items", "dim": None}
    assert len(str(listed)) > 500_000
    assert service.put("/v1/catalogues/listed", json=listed).status_code == 201
    in_base64 = listed | {"vectors": packed(vectors), "dim": dim}
    answer = service.put("/v1/catalogues/listed", json=in_base64)
    # The same vectors: the request is repeated.
    assert answer.status_code == 200, answer.text
    kept = service.server.writer.registry.catalogue("listed")
    assert kept.names == ids
    assert np.array_equal(kept.centered[:count], vectors - np.float32(0.5))
    rows = vectors.tolist()
    wrong = [
        (listed | {"vectors": [*rows[:-1], [1.0]]}, "invalid_request"),
        (listed | {"vectors": [*rows[:-1], [*rows[-1][:-1], True]]}, "invalid_request"),
        (listed | {"vectors": [*rows[:-1], [*rows[-1][:-1], "1"]]}, "invalid_request"),
        (listed | {"vectors": [*rows[:-1], [*rows[-1][:-1], 1e300]]}, "not_finite"),
        (listed | {"vectors": rows[:-1]}, "invalid_request"),
        (listed | {"ids": [*ids[:-1], 5]}, "invalid_json"),
        (listed | {"ids": [*ids[:-1], ids[0]]}, "invalid_request"),
        (listed | {"color": 1}, "invalid_request"),
        (listed | {"center": {"x": 1}}, "invalid_request"),
        (listed | {"dim": 7}, "wrong_dimension"),
        (in_base64 | {"vectors": packed(vectors)[:-8] + "!!!!!!!!"}, "invalid_request"),
    ]
    for body, expected in wrong:
        answer = service.put("/v1/catalogues/wrong", json=body)
        assert code(answer) == (400, expected), answer.text
    text = httpx.Request("PUT", "http://x", json=listed).content
    headers = {"content-type": "application/json"}
    for cut in (text[:-1], text[: len(text) // 2], text + b"}", text.replace(b"]]", b"],]"), text.replace(b"[[", b"[")):
        assert service.put("/v1/catalogues/wrong", content=cut, headers=headers).status_code == 400
    assert service.get("/v1/catalogues").json()["catalogues"][0]["name"] == "listed"


@pytest.mark.parametrize("spaces", [b" ", b"\n\t"])
def test_spaces_between_the_tokens_do_not_matter(service, spaces):
    vectors = RNG.standard_normal((3000, 20)).round(3)
    rows = b",".join(
        b"[" + spaces + b",".join(b"%a" % one for one in row) + spaces + b"]" + spaces for row in vectors.tolist()
    )
    ids = spaces.join([b"[", *(b'"%d",' % i for i in range(2999)), b'"2999"', b"]"])
    body = spaces.join([b"{", b'"ids"', b":", ids, b",", b'"vectors"', b":", b"[", rows, b"]", b"}"])
    answer = service.put("/v1/catalogues/c", content=body, headers={"content-type": "application/json"})
    assert answer.json()["items"] == 3000
