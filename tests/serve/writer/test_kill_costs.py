"""Kill -9 under load with budgets, guards and retention: every cost counts once, and the log leads to the same policy.

EIGENBANDITS_TEST_KILLS=20 pytest tests/serve/writer/test_kill_costs.py
"""

from __future__ import annotations

import os
import threading
import time
from typing import Any

import numpy as np
import pytest
from tests.serve.processes import ServerProcess

from eigenbandits.serve import Settings
from eigenbandits.serve.client import Client, ConflictError, ServedDecision, UnavailableError
from eigenbandits.serve.storage import database_of
from eigenbandits.serve.writer import verify

KILLS = int(os.environ.get("EIGENBANDITS_TEST_KILLS", "2"))
PRICES = (0.02, 0.1, 0.5)
POLICIES: dict[str, dict[str, Any]] = {
    "priced": {"parameters": {"seed": 0}, "budget": {"budget": 0.1}, "observe_after": 10**9},
    "guarded": {"parameters": {"seed": 0}, "guard": {"noise": 0.5, "theta_bound": 1.0, "alpha": 0.3}},
}


class Caller(threading.Thread):
    """Decides and rewards, again and again until it is answered; keeps what it was told."""

    def __init__(self, server: ServerProcess, number: int) -> None:
        super().__init__(daemon=True)
        self.server = server
        self.number = number
        self.rng = np.random.default_rng(number)
        self.decided: dict[str, list[ServedDecision]] = {name: [] for name in POLICIES}
        self.paid: dict[str, float] = {}
        self.late: set[str] = set()
        self.stopping = threading.Event()

    def run(self) -> None:
        count = 0
        while not self.stopping.is_set():
            count += 1
            name = ("priced", "guarded")[count % 3 == 0]
            known: dict[str, Any] = {"costs": [PRICES[0], None, None]} if name == "priced" and count % 2 else {}
            actions, request = self.rng.standard_normal((3, 4)), f"{self.number}-{count}"
            made = self.answered("decide", name, actions, request=request, **known)
            self.decided[name].append(made)
            cost = {"cost": PRICES[made.index]} if name == "priced" and count % 5 else {}
            try:
                self.answered("reward", name, made, float(actions[made.index, 0]), **cost)
                if cost:
                    self.paid[made.decision] = cost["cost"]
            except ConflictError as error:
                self.late.add(made.decision if error.code == "expired" else error.code)

    def answered(self, call: str, *args: Any, **more: Any) -> Any:
        deadline = time.monotonic() + 60.0
        while True:
            try:
                with Client(self.server.url, patience=0.0) as client:
                    return getattr(client, call)(*args, **more)
            except UnavailableError:
                assert time.monotonic() < deadline
                time.sleep(0.02)


@pytest.mark.timeout(120 + 60 * KILLS)
def test_every_cost_counts_once_and_the_log_alone_leads_there(tmp_path):
    every_cost_counts_once({"folder": tmp_path / "data"}, "")


@pytest.mark.timeout(120 + 60 * KILLS)
def test_every_cost_counts_once_while_old_decisions_are_deleted(place):
    every_cost_counts_once(place, "2s")


def every_cost_counts_once(place: dict[str, Any], keep: str) -> None:
    more = ["--snapshot-events", "40", *(["--keep", keep] if keep else [])]
    server = ServerProcess(place["folder"], *more, *(["--database", place["database"]] if "database" in place else []))
    server.start()
    with Client(server.url) as client:
        for name, spec in POLICIES.items():
            client.create_policy(name, **spec)
    callers = [Caller(server, number) for number in range(4)]
    for caller in callers:
        caller.start()
    rng = np.random.default_rng(0)
    for _ in range(KILLS):
        time.sleep(rng.uniform(0.3, 1.5))
        server.kill()
        server.start()
        server.wait_ready()
    time.sleep(0.5)
    for caller in callers:
        caller.stopping.set()
    for caller in callers:
        caller.join(90)
        assert not caller.is_alive()
    with Client(server.url) as client:
        found = {name: client.policy(name) for name in POLICIES}
        spent = client.diagnostics("priced")["spent"]
        learned = {name: client.diagnostics(name)["rewards_learned"] for name in POLICIES}
        if keep:
            deadline = time.monotonic() + 60.0
            while not rows_of(place) < sum(one["decisions"] for one in found.values()):
                # Snapshots move on with what happens.
                client.reward("guarded", client.decide("guarded", np.eye(4)[:3]), 0.0)
                assert time.monotonic() < deadline
    server.kill()
    for name in POLICIES:
        made = [one for caller in callers for one in caller.decided[name]]
        late = {id_ for caller in callers for id_ in caller.late}
        assert len({one.decision for one in made}) == len(made) == found[name]["decisions"]
        assert found[name]["rewards"] == learned[name] == sum(one.decision not in late for one in made)
    paid = {id_: cost for caller in callers for id_, cost in caller.paid.items()}
    expected = sum(paid.get(one.decision, one.cost or 0.0) for caller in callers for one in caller.decided["priced"])
    assert spent == pytest.approx(expected)
    verdicts = list(verify.differences(database_of(Settings(**place))))
    assert [same for _, same in verdicts] == [True, True], verdicts
    assert bool(keep) == any("each with the log after it" in line for line, _ in verdicts)


def rows_of(place) -> int:
    connection = database_of(Settings(**place)).connect()
    try:
        return int(connection.execute("SELECT COUNT(*) FROM decisions")[0][0])
    finally:
        connection.close()
