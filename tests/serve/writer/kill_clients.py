"""Clients that keep asking and rewarding while their server is killed, and what they were promised."""

from __future__ import annotations

import http.client
import json
import threading
import time
from typing import Any
from urllib.parse import urlsplit

import numpy as np
from tests.serve.processes import ServerProcess

DIM, ITEMS = 6, 30
IDS = [f"item{i}" for i in range(ITEMS)]
POLICIES: dict[str, dict[str, Any]] = {
    # Catalogue, sparing observation, a deterministic rule.
    "picked": {
        "algorithm": "EigenUCB",
        "catalogue": "things",
        "observe_after": 20,
        "observe_every": 3,
    },
    # Vectors in the request, a rule that draws, and decisions that run out of time while everything goes on.
    "drawn": {
        "algorithm": "ProjectedThompson",
        "parameters": {"noise": 0.5},
        "time_to_live": 1.0,
        "default_reward": 0.25,
        "observe_after": 10**9,
    },
}


def set_up(server: ServerProcess) -> None:
    vectors = np.random.default_rng(5).standard_normal((ITEMS, DIM))
    status, _ = server.call("PUT", "/v1/catalogues/things", {"ids": IDS, "vectors": vectors.tolist()})
    assert status == 201
    for name, spec in POLICIES.items():
        assert server.call("POST", "/v1/policies", {"name": name, **spec})[0] == 201


class Client(threading.Thread):
    """Decides and rewards until told to stop; keeps what the server has acknowledged."""

    def __init__(self, server: ServerProcess, number: int) -> None:
        super().__init__(daemon=True)
        self.server = server
        self.rng = np.random.default_rng(number)
        self.name = f"client{number}"
        self.decided: dict[tuple[str, str], dict] = {}
        self.rewarded: dict[tuple[str, str], float] = {}
        self.surprises: list[tuple[int, dict]] = []
        self.stopping = threading.Event()
        self._connection: http.client.HTTPConnection | None = None
        self._count = 0

    def run(self) -> None:
        while not self.stopping.is_set():
            policy = str(self.rng.choice(list(POLICIES)))
            decision = self._decide(policy)
            if decision is None or self.rng.random() < 0.1:
                continue  # some decisions never get a reward
            reward = float(self.rng.integers(0, 3)) / 2.0
            for _ in range(1 + (self.rng.random() < 0.2)):  # some rewards are sent twice though they arrived
                self._reward(policy, decision, reward)

    def _decide(self, policy: str) -> str | None:
        self._count += 1
        body: dict[str, Any] = {"request": f"{self.name}-{self._count}"} if self.rng.random() < 0.5 else {}
        if policy == "picked":
            chosen = self.rng.choice(ITEMS, size=5, replace=False)
            body |= {"query": self.rng.standard_normal(DIM).tolist(), "items": [IDS[i] for i in chosen]}
        else:
            body |= {"actions": self.rng.standard_normal((4, DIM)).tolist()}
        answer = self._until_answered(f"/v1/policies/{policy}/decide", body, again="request" in body)
        if answer is None:
            return None
        self.decided[policy, answer["decision"]] = answer
        return answer["decision"]

    def _reward(self, policy: str, decision: str, reward: float) -> None:
        body = {"decision": decision, "reward": reward}
        answer = self._until_answered(f"/v1/policies/{policy}/reward", body, again=True)
        if answer is not None:
            self.rewarded[policy, decision] = reward

    def _until_answered(self, path: str, body: dict, again: bool) -> dict | None:
        """Send until there is an answer; None where none came to what must not be sent again, or after the end."""
        while not self.stopping.is_set():
            try:
                if self._connection is None:
                    parts = urlsplit(self.server.url)
                    self._connection = http.client.HTTPConnection(str(parts.hostname), parts.port, timeout=20)
                headers = {"content-type": "application/json"}
                self._connection.request("POST", path, json.dumps(body), headers)
                answer = self._connection.getresponse()
                content = json.loads(answer.read())
            except (OSError, http.client.HTTPException, ValueError):
                self._connection = None
                time.sleep(0.02)
                if not again:
                    return None
                continue
            if answer.status == 200:
                return content
            if answer.status == 503:
                time.sleep(0.02)
                continue
            if answer.status == 409 and content["error"]["code"] == "expired":
                return None  # took too long to get there: refused, which is an answer too
            self.surprises.append((answer.status, content))
            return None
        return None


def run(server: ServerProcess, kills: int, seed: int, clients: int = 8) -> list[Client]:
    """Run clients against a server that is killed at random moments; leaves the server running, and at rest."""
    rng = np.random.default_rng(seed)
    server.start()
    set_up(server)
    crowd = [Client(server, seed * 100 + i) for i in range(clients)]
    for client in crowd:
        client.start()
    for _ in range(kills):
        time.sleep(rng.uniform(0.2, 1.0))
        server.kill()
        server.start()
        server.wait_ready()
    time.sleep(0.5)
    for client in crowd:
        client.stopping.set()
    for client in crowd:
        client.join(30)
        assert not client.is_alive()
    # What is still open would expire between two questions about it, and their answers would differ.
    deadline = time.monotonic() + 30.0
    while server.call("GET", "/v1/policies/drawn")[1]["pending"]:
        assert time.monotonic() < deadline, "open decisions do not expire"
        time.sleep(0.05)
    return crowd
