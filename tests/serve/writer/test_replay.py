"""Every algorithm comes back bit for bit: from its log alone, and from a snapshot and the log after it."""

from __future__ import annotations

import inspect
from typing import Any

import httpx
import numpy as np
import pytest
from tests.serve.bodies import BINARY, create, decide, packed, reward

import eigenbandits as eb
from eigenbandits.policy import files
from eigenbandits.serve import Settings, running
from eigenbandits.serve.writer.policy_spec import ALGORITHMS


def needs_noise(kind: type[eb.Policy]) -> bool:
    noise = inspect.signature(kind).parameters.get("noise")
    return noise is not None and noise.default is inspect.Parameter.empty


VARIANTS: dict[str, dict[str, Any]] = {
    name.lower(): {"algorithm": name, "parameters": {"noise": 0.5} if needs_noise(kind) else {}}
    for name, kind in ALGORITHMS.items()
}
EXTRAS: tuple[dict[str, Any], ...] = (
    {"rank": 2},
    {"rank": 2, "intersect": False, "rule": "sampled", "samples": 20},
    {"rank": 2, "rule": "exact"},
    {"rank": 2, "subspace": "streaming"},
    {"center": "set", "dtype": "float32"},
)
for extra in EXTRAS:
    VARIANTS[f"pslb{len(VARIANTS)}"] = {"algorithm": "PSLB", "parameters": {"noise": 0.5} | extra}
VARIANTS["certified"] = {
    "algorithm": "EigenUCB",
    "parameters": {"noise": 0.5, "theta_bound": 1.0, "certified": True},
}
for spec in ("cbrap", "soful", "cbscfd"):
    VARIANTS[spec]["parameters"] |= {"rank": 3} if spec == "cbrap" else {"size": 3}


def play(client: httpx.Client, name: str, rng: np.random.Generator, rounds: int) -> None:
    """Decide alone and in batches, and reward some of it alone, in batches and out of order."""
    waiting: list[str] = []
    for round_ in range(rounds):
        sets = rng.standard_normal((1 + round_ % 3, 4, 6)).astype("<f4")
        path = f"/v1/policies/{name}/decide/batch?dim=6&sets={len(sets)}"
        answer = client.post(path, content=sets.tobytes(), headers=BINARY)
        waiting += [one["decision"] for one in answer.json()["decisions"]]
        count = int(rng.integers(0, 4))
        taken, waiting = waiting[:count], waiting[count:]
        rewards = [{"decision": one, "reward": float(rng.random())} for one in reversed(taken)]
        if rewards:
            results = client.post(f"/v1/policies/{name}/reward/batch", json={"rewards": rewards}).json()["results"]
            assert [one["status"] for one in results] == ["learned"] * len(rewards)


def states(client: httpx.Client) -> dict[str, bytes]:
    return {name: client.get(f"/v1/policies/{name}/snapshot").content for name in VARIANTS}


def test_every_algorithm_comes_back(tmp_path):
    settings = Settings(folder=tmp_path, port=0)
    rng = np.random.default_rng(0)
    with running(settings) as server, httpx.Client(base_url=server.url, timeout=30.0) as client:
        for name, spec in VARIANTS.items():
            assert create(client, name, observe_after=12, observe_every=3, **spec).status_code == 201
            play(client, name, rng, 8)
    # Stopped in order, so that each has a snapshot; the log goes on after it, and the end comes without another.
    with running(settings) as server, httpx.Client(base_url=server.url, timeout=30.0) as client:
        for name in VARIANTS:
            play(client, name, rng, 8)
        expected = states(client)
        for hosted in server.writer.registry.policies.values():
            hosted.since_snapshot = 0
    with running(settings) as server, httpx.Client(base_url=server.url, timeout=30.0) as client:
        positions = [(one.snapshot_position, one.head.position) for one in server.writer.registry.policies.values()]
        assert all(0 < snapshot < head for snapshot, head in positions)
        assert states(client) == expected
    for file in (tmp_path / "snapshots").iterdir():
        file.unlink()
    with running(settings) as server, httpx.Client(base_url=server.url, timeout=30.0) as client:
        assert {one.snapshot_position for one in server.writer.registry.policies.values()} == {0}
        assert states(client) == expected


@pytest.mark.parametrize("way", ["snapshot", "log", "evicted"])
@pytest.mark.parametrize(
    "parameters",
    [{}, {"center": "set"}, {"dtype": "float32"}, {"certified": True, "noise": 0.1, "theta_bound": 1.0}],
)
def test_what_was_said_of_a_decision_outlives_a_restart(tmp_path, monkeypatch, way, parameters):
    """The flagship learns from what it said before a reward came; a twin that never stopped ends in the same bytes."""
    if way == "evicted":
        # Nothing stays in memory: every decision that is rewarded is read from the log.
        monkeypatch.setattr("eigenbandits.serve.writer.hosted_policy._KEPT", 0)
    settings = Settings(folder=tmp_path, port=0)
    twin = eb.EigenUCB(seed=3, **parameters)
    rng = np.random.default_rng(1)
    sets = rng.standard_normal((60, 5, 6))
    rewards = (sets[:, :, 0] + 0.1 * rng.standard_normal((60, 5))).tolist()
    open_: list[tuple[str, eb.Decision, float]] = []

    def go_on(client: httpx.Client, rounds: range) -> None:
        for i in rounds:
            made = decide(client, sets[i]).json()
            decision = twin.choose(sets[i])
            assert made["index"] == decision.index
            open_.append((made["decision"], decision, rewards[i][decision.index]))
            if i % 3:
                # Always the second oldest, so that the very first is open to the end.
                name, waiting, earned = open_.pop(min(1, len(open_) - 1))
                assert reward(client, name, earned).json()["status"] == "learned"
                twin.learn(waiting, earned)

    with running(settings) as server, httpx.Client(base_url=server.url, timeout=30.0) as client:
        assert create(client, algorithm="EigenUCB", parameters=parameters | {"seed": 3}).status_code == 201
        go_on(client, range(40))
    if way == "log":
        for file in (tmp_path / "snapshots").iterdir():
            file.unlink()
    assert len(open_) > 10
    with running(settings) as server, httpx.Client(base_url=server.url, timeout=30.0) as client:
        go_on(client, range(40, 60))
        for name, waiting, earned in reversed(open_):
            assert reward(client, name, earned).json()["status"] == "learned"
            twin.learn(waiting, earned)
        assert client.get("/v1/policies/p/snapshot").content == files.to_bytes(twin)


@pytest.mark.parametrize("every", [1, 5])
def test_the_subspace_is_shown_the_share_that_was_asked_for(service, every):
    create(service, observe_after=7, observe_every=every)
    for _ in range(40):
        body = {"actions": packed(np.random.default_rng(1).standard_normal((3, 4))), "dim": 4}
        assert service.post("/v1/policies/p/decide", json=body).status_code == 200
    seen = service.get("/v1/policies/p/diagnostics").json()["diagnostics"]["decision_sets_seen"]
    # The first 7, and of 8 … 40 those that every divides: all, or 10, 15, …, 40.
    assert seen == (40 if every == 1 else 7 + 7)
