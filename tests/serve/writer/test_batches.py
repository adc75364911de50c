"""Batches: a command that fails does not spoil the others, and nothing is kept longer than needed."""

from __future__ import annotations

import asyncio
import gc
import time

import numpy as np
from tests.serve.bodies import create, decide, reward

from eigenbandits.serve.errors import Refusal
from eigenbandits.serve.writer.batch import Batch, parts
from eigenbandits.serve.writer.commands import DecideCommand, Task
from eigenbandits.serve.writer.decision_sets import InlineSet


def together(writer, policy: int, arrays) -> list:
    """DecideCommand for decisions that are sure to be in one batch; return the rows or refusals."""

    async def ask():
        loop = asyncio.get_running_loop()
        writer.submit(Task(lambda journal: time.sleep(0.3)))
        jobs = [
            DecideCommand(policy, [InlineSet(np.asarray(one, dtype=float))], [None], loop.create_future())
            for one in arrays
        ]
        for job in jobs:
            writer.submit(job)
        return await asyncio.gather(*(job.future for job in jobs), return_exceptions=True)

    return asyncio.run(ask())


def test_one_wrong_request_does_not_spoil_the_others_of_its_batch(service):
    create(service)
    writer = service.server.writer
    first, second, third = together(writer, writer.registry.policy("p").id, [np.eye(3), np.ones((2, 4)), np.eye(3)])
    assert (first[0].round, third[0].round) == (1, 2)
    assert isinstance(second, Refusal)
    assert second.code == "wrong_dimension"


def test_what_a_policy_cannot_do_is_refused_to_those_alone_who_asked_for_it(service, monkeypatch):
    create(service)
    writer = service.server.writer
    decide(service, np.eye(3))
    hosted = writer.registry.policy("p")
    choose = type(hosted).choose

    def picky(self, sets, forced):
        if any(np.all(one.actions(None) == 7.0) for one in sets):
            raise ValueError("sevens")
        return choose(self, sets, forced)

    monkeypatch.setattr(type(hosted), "choose", picky)
    first, second, third = together(writer, hosted.id, [np.eye(3), np.full((2, 3), 7.0), np.eye(3)])
    assert (first[0].round, third[0].round) == (2, 3)
    assert isinstance(second, Refusal)
    assert "sevens" in second.message


def test_batches_do_not_keep_each_other_alive(service):
    create(service)
    for _ in range(40):
        reward(service, decide(service, np.eye(3)).json()["decision"], 1.0)
    assert sum(type(one) is Batch for one in gc.get_objects()) < 10


def test_large_batches_are_cut_so_that_memory_lasts():
    cut = list(parts([1_000_000] * 9, 4_000_000))
    assert [(part.start, part.stop) for part in cut] == [(0, 4), (4, 8), (8, 9)]
    assert list(parts([], 1.0)) == []
