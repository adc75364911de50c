"""The log of requests: an id for each, and nothing in it that is not for others."""

from __future__ import annotations

import json

import numpy as np
from tests.serve.bodies import code, create, decide, reward

ACTIONS = np.random.default_rng(0).standard_normal((3, 4))


def test_every_answer_has_an_id_and_failures_tell_nothing(service, monkeypatch):
    create(service)
    secret = "/etc/secret/path"

    def broken(*_):
        raise RuntimeError(secret)

    hosted = service.server.writer.registry.policy("p")
    before = decide(service, ACTIONS).json()["decision"]
    monkeypatch.setattr(hosted.policy.belief, "view", broken)
    answer = decide(service, ACTIONS)
    assert code(answer) == (500, "internal")
    assert secret not in answer.text
    # The policy was loaded again from the log, which knows nothing of the failure.
    assert reward(service, before, 1.0).status_code == 200
    assert decide(service, ACTIONS).json()["round"] == 2
    monkeypatch.setattr(service.server.writer.registry, "policy", broken)
    answers = [decide(service, ACTIONS), service.get("/v1/policies/p"), service.get("/v1/policies/p/diagnostics")]
    assert {code(one) for one in answers} == {(500, "internal")}
    assert not any(secret in one.text for one in answers)
    ids = [one.headers["x-request-id"] for one in (answer, *answers)]
    assert len(set(ids)) == 4


def test_no_vector_is_logged(service, caplog):
    caplog.set_level("DEBUG")
    create(service)
    reward(service, decide(service, [[0.123456789, 1.0]]).json()["decision"], 0.987654321)
    decide(service, [[0.123456789, 1.0, 2.0]])
    told = json.dumps([str(vars(record)) for record in caplog.records])
    assert "request" in told
    assert "0.12345" not in told
    assert "0.98765" not in told
