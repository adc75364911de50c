"""Exports: compact ones of policies with a catalogue, and parts of a log."""

from __future__ import annotations

import asyncio
import io
import threading
import time

import httpx
import numpy as np
import pyarrow.parquet as pq
import pytest
from tests.serve.bodies import code, create
from tests.serve.clocks import ManualClock

from eigenbandits.serve import AsyncClient, Client, Settings, export, running

RNG = np.random.default_rng(0)


def test_compact_has_each_query_once_and_items_by_their_ids(tmp_path):
    vectors = RNG.standard_normal((200, 16)).astype(np.float32)
    queries = RNG.standard_normal((12, 16)).astype(np.float32)
    with running(Settings(folder=tmp_path / "data", port=0)) as server, Client(server.url) as client:
        client.create_catalogue("c", [f"i{i}" for i in range(200)], vectors)
        client.create_policy("p", parameters={"seed": 0}, catalogue="c")
        made = [client.decide("p", query=query) for query in queries[:10]]
        made += [client.decide("p", query=query, items=["i3", "i7"]) for query in queries[10:]]
        for one in made[2:]:
            client.reward("p", one, 1.0)
        for name in ("compact", "all"):
            client.export("p", tmp_path / f"{name}.parquet", columns=name)
        client.export("p", tmp_path / "part.parquet", columns="compact", after=5, through=8)
        client.export("p", tmp_path / "other.parquet", columns="all", after=5, through=8)
    rows = pq.read_table(tmp_path / "compact.parquet").to_pylist()
    whole = pq.read_table(tmp_path / "all.parquet").to_pylist()
    same = ("choices", "rewards", "propensities", "decision", "item", "round", "status")
    assert [[row[name] for name in same] for row in rows] == [[row[name] for name in same] for row in whole]
    assert [row["round"] for row in rows] == list(range(3, 13))
    assert np.array_equal([row["query"] for row in rows], queries[2:])
    assert {row["items"] is None for row in rows[:8]} == {True}
    assert {row["generation"] for row in rows[:8]} == {1}
    assert [row["items"] for row in rows[8:]] == [["i3", "i7"]] * 2
    # With all 200 vectors of 16 numbers for each decision, the other is far larger.
    assert 5 * (tmp_path / "compact.parquet").stat().st_size < (tmp_path / "all.parquet").stat().st_size
    for name in ("part", "other"):
        assert pq.read_table(tmp_path / f"{name}.parquet")["round"].to_pylist() == [6, 7, 8]


def test_decisions_of_some_time(tmp_path):
    clock = ManualClock()
    with running(Settings(folder=tmp_path / "data", port=0), clock.made()) as server, Client(server.url) as client:
        client.create_policy("p")
        for _ in range(250):
            client.reward("p", client.decide("p", np.eye(2)), 1.0)
        start = clock.wall
        for _ in range(5):
            clock.advance(10.0)
            client.reward("p", client.decide("p", np.eye(2)), 1.0)
        for name, bounds in {"middle": (start + 20, start + 40), "before": (None, start + 10)}.items():
            client.export("p", tmp_path / f"{name}.parquet", columns="all", since=bounds[0], until=bounds[1])
    # Before 20 seconds there is more than a page of decisions; that of second 40 is out.
    assert pq.read_table(tmp_path / "middle.parquet")["round"].to_pylist() == [252, 253]
    assert pq.read_table(tmp_path / "before.parquet")["round"].to_pylist() == list(range(1, 251))


def test_an_export_is_sent_while_it_is_made(tmp_path, monkeypatch):
    """The first pieces arrive before the last decisions are read, and nothing goes on for a caller that has left."""
    pages, sent, closed = export.Span.pages, threading.Event(), threading.Event()

    def slowly(span, *args):
        try:
            for page in pages(span, *args):
                for pair in page:
                    yield [pair]
                    assert sent.wait(20.0)
        finally:
            closed.set()

    monkeypatch.setattr(export.Span, "pages", slowly)
    monkeypatch.setattr(export, "_AT_ONCE", 0)
    with running(Settings(folder=tmp_path / "data", port=0)) as server, Client(server.url, timeout=2.0) as client:
        client.create_policy("p", parameters={"seed": 0})
        for made in client.decide_many("p", [{"actions": RNG.standard_normal((5, 4))} for _ in range(20)]):
            client.reward("p", made, 1.0)
        for whole in (True, False):
            sent.clear()
            closed.clear()
            with httpx.stream("GET", f"{server.url}/v1/policies/p/export") as answer:
                pieces = answer.iter_raw()
                file = next(pieces) + next(pieces)
                # Of the first decision, while the second one waits.
                assert len(file) > 100
                if whole:
                    sent.set()
                    file += b"".join(pieces)
            sent.set()
            assert closed.wait(20.0)
            if whole:
                assert pq.read_table(io.BytesIO(file)).num_rows == 20
                client.export("p", tmp_path / "by_client.parquet")
                assert (tmp_path / "by_client.parquet").read_bytes() == file


def test_exports_may_take_longer_than_the_timeout(tmp_path, monkeypatch):
    """What counts is the time until the next piece."""
    pages = export.Span.pages

    def slowly(span, *args):
        for page in pages(span, *args):
            for pair in page:
                time.sleep(0.2)
                yield [pair]

    with running(Settings(folder=tmp_path / "data", port=0)) as server, Client(server.url, timeout=1.5) as client:
        client.create_policy("p", parameters={"seed": 0})
        for made in client.decide_many("p", [{"actions": RNG.standard_normal((5, 4))} for _ in range(12)]):
            client.reward("p", made, 1.0)
        monkeypatch.setattr(export.Span, "pages", slowly)
        monkeypatch.setattr(export, "_AT_ONCE", 0)
        client.export("p", tmp_path / "one.parquet")

        async def other():
            async with AsyncClient(server.url, timeout=1.5) as client:
                await client.export("p", tmp_path / "other.parquet")

        asyncio.run(other())
    for name in ("one", "other"):
        assert pq.read_table(tmp_path / f"{name}.parquet").num_rows == 12


@pytest.mark.parametrize("query", ["columns=compact", "after=-1", "through=x", "since=nan", "until=-1"])
def test_exports_that_there_are_not(service, query):
    create(service)
    assert code(service.get(f"/v1/policies/p/export?{query}"))[0] == 400
