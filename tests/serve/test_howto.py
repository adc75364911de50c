"""The calls with curl in the documentation, carried out as they stand there against a service of their own."""

import json
import shutil
import sqlite3
import subprocess
from contextlib import closing
from typing import Any

import numpy as np
import pytest
from tests.docs.pages import ROOT, Block, blocks

pytest.importorskip("uvicorn", reason='the service is not installed; run: pip install "eigenbandits[serve]"')
from eigenbandits.serve import Client, Settings, running

PAGE = ROOT / "docs" / "howto" / "serve.md"
# Its calls continue those of the page.
POLICIES = ROOT / "docs" / "howto" / "serve-policies.md"
URL = "http://127.0.0.1:8765"


def alike(answer: Any, shown: Any) -> bool:
    """Whether an answer is what the page shows; … stands for anything."""
    if shown == "…":
        return True
    if isinstance(shown, dict):
        return isinstance(answer, dict) and set(answer) == set(shown) and all(alike(answer[k], shown[k]) for k in shown)
    return bool(answer == shown)


def calls() -> list[tuple[Block, Block | None]]:
    """The blocks of both pages that call curl, each with the block behind it that shows the answer, if there is one."""
    found = blocks(PAGE) + blocks(POLICIES)
    pairs = zip(found, [*found[1:], None], strict=True)
    return [
        (block, after if after is not None and after.title == "answered" else None)
        for block, after in pairs
        if block.language == "sh" and "curl" in block.code
    ]


@pytest.mark.skipif(shutil.which("curl") is None, reason="there is no curl here; on Debian: apt-get install curl.")
def test_every_call_does_what_the_page_says(tmp_path):
    assert len(calls()) >= 14
    with running(Settings(folder=tmp_path / "data", port=0)) as server:
        # The ids on the page were made in this epoch.
        server.writer.epoch = 0x5F3A9C0D1E2B
        for block, shown in calls():
            assert URL in block.code
            # One line of output for each call, with its status behind it.
            code = block.code.replace(URL, server.url).replace("curl ", r'curl -sS -w " %{http_code}\n" ')
            done = subprocess.run(["bash", "-euc", code], cwd=tmp_path, capture_output=True, text=True, check=True)
            lines = done.stdout.splitlines()
            assert len(lines) == block.code.count("curl "), done.stdout
            for line in lines:
                body, _, status = line.rpartition(" ")
                if shown is not None:
                    assert alike(json.loads(body), json.loads(shown.code)), (block.code, line)
                else:
                    assert status in ("200", "201", "204"), (block.code, line)
    assert (tmp_path / "news.parquet").read_bytes()[:4] == b"PAR1"


def test_a_copy_that_sqlite_made_while_it_ran_is_a_whole_service(tmp_path):
    code = next(block.code for block in blocks(PAGE) if "VACUUM INTO" in block.code)
    copying, statement = code.splitlines()[0], code.split('"')[1]
    assert statement == "VACUUM INTO 'backup/eigenbandits.sqlite'"
    copy = tmp_path / "backup"
    with running(Settings(folder=tmp_path / "decisions", port=0)) as server, Client(server.url) as client:
        client.create_policy("news", "OFUL", {"noise": 0.5})
        for reward in (1.0, 0.0, 1.0):
            client.reward("news", client.decide("news", np.eye(3)).decision, reward)
        open_one = client.decide("news", np.eye(3)).decision
        subprocess.run(["bash", "-euc", copying], cwd=tmp_path, check=True)
        with closing(sqlite3.connect(tmp_path / "decisions" / "eigenbandits.sqlite")) as database:
            database.execute(statement.replace("backup/", f"{copy}/"))
        # What comes later is not in the copy.
        client.reward("news", open_one, 1.0)
        expected = client.diagnostics("news")
    with running(Settings(folder=copy, port=0)) as server, Client(server.url) as client:
        found = client.policy("news")
        assert (found["decisions"], found["rewards"], found["pending"]) == (4, 3, 1)
        assert client.reward("news", open_one, 1.0) == "learned"
        assert client.diagnostics("news")["radius_ambient"] == expected["radius_ambient"]
