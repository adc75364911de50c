"""A damaged page of SQLite: what needs it is refused, and no other policy notices."""

from __future__ import annotations

import httpx
import numpy as np
from tests.serve.bodies import code, create, decide, reward
from tests.serve.metrics import samples

from eigenbandits.serve import Settings, running
from eigenbandits.serve.errors import DamagedError
from eigenbandits.serve.storage.journal import Journal
from eigenbandits.serve.storage.schema import DECISIONS

PAGE = 4096
# Its bytes are found in the file, so that the page of the first decision can be damaged.
MARK = np.float64(1.2345678901234567)


def test_a_decision_that_cannot_be_read_is_refused_alone(tmp_path):
    settings = Settings(folder=tmp_path, port=0)
    with running(settings) as server, httpx.Client(base_url=server.url) as client:
        for name in ("p", "q"):
            create(client, name)
        first = decide(client, [[MARK, 1.0], [0.0, 1.0]], request="first").json()["decision"]
        for _ in range(100):
            decide(client, np.eye(2))
        last = decide(client, np.eye(2)).json()["decision"]
    file = tmp_path / "eigenbandits.sqlite"
    content = bytearray(file.read_bytes())
    page = content.index(MARK.tobytes()) // PAGE * PAGE
    content[page : page + 8] = b"\xff" * 8
    file.write_bytes(content)
    with running(settings) as server, httpx.Client(base_url=server.url) as client:
        for _ in range(3):
            assert code(reward(client, first, 1.0)) == (503, "damaged")
            assert code(decide(client, [[MARK, 1.0]], request="first")) == (503, "damaged")
            assert decide(client, np.eye(2), "q").status_code == 200
            assert client.get("/ready").status_code == 200
        assert decide(client, np.eye(2)).status_code == 200
        assert reward(client, last, 1.0).json()["status"] == "learned"
        assert samples(client)["eigenbandits_storage_errors_total",] == 0.0


def test_rows_that_cannot_be_written_are_refused_alone(service, monkeypatch):
    for name in ("p", "q"):
        create(service, name)
        decide(service, np.eye(2), name)
    writer = service.server.writer
    damaged = writer.registry.policy("p").id
    before = service.get("/v1/policies/p/snapshot").content
    add = Journal.add

    def failing(journal, table, rows):
        if table is DECISIONS and any(row.policy == damaged for row in rows):
            raise DamagedError("database disk image is malformed")
        add(journal, table, rows)

    with monkeypatch.context() as patched:
        patched.setattr(Journal, "add", failing)
        for _ in range(3):
            assert code(decide(service, np.eye(2))) == (503, "damaged")
            assert decide(service, np.eye(2), "q").status_code == 200
            assert service.get("/ready").status_code == 200
    assert service.get("/v1/policies/p/snapshot").content == before
    assert decide(service, np.eye(2)).json()["round"] == 2
    assert decide(service, np.eye(2), "q").json()["round"] == 5
