"""Settings from a file, the environment and options; and the command line."""

from __future__ import annotations

import subprocess
import sys

import httpx
import pytest
from typer.testing import CliRunner

from eigenbandits import cli
from eigenbandits.serve import Settings, running


def invoke(*arguments, **environment):
    return CliRunner().invoke(cli.app(), [str(argument) for argument in arguments], env=environment)


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "serve.toml"
    path.write_text('port = 1\nhost = "127.0.0.2"\nmax_dim = 10\nopen_metrics = true\nrate = 3\n')
    return path


def test_the_environment_overrules_the_file_and_options_overrule_both(file):
    environment = {"EIGENBANDITS_PORT": "2", "EIGENBANDITS_MAX_DIM": "20", "EIGENBANDITS_OTHER": "x", "PORT": "9"}
    found = Settings.read(file, environment, max_dim=30, max_actions=None)
    assert (found.host, found.port, found.max_dim, found.max_actions) == ("127.0.0.2", 2, 30, 10_000)
    assert found.open_metrics is True
    assert found.rate == 3.0
    assert Settings.read(None, {"EIGENBANDITS_OPEN_METRICS": "false"}).open_metrics is False


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("port = 'x'", "port is 'x'; expected a whole number."),
        ("port = 1.5", "port is 1.5; expected a whole number."),
        ("port = 70000", "port is 70000; expected at most 65535."),
        ("port = true", "port is True; expected a whole number."),
        ("open_metrics = 3", "open_metrics is 3; expected true or false."),
        ("max_dim = 0", "max_dim is 0; expected at least 1."),
        ("request_timeout = nan", "request_timeout is nan; expected at least 0.01."),
        ("color = 1", "sets 'color', which is not a setting"),
        ("port = ", "is not TOML"),
        ("database = 'mysql://x'", "database is neither empty nor a postgresql:// address"),
        ("log_level = 'loud'", "log_level is 'loud'"),
    ],
)
def test_settings_that_make_no_sense(tmp_path, text, message):
    path = tmp_path / "serve.toml"
    path.write_text(text)
    result = invoke("serve", "--check", "--config", path)
    assert result.exit_code == 2
    assert message in " ".join(result.output.split())


def test_check_shows_the_settings_but_no_password(file):
    address = "postgresql://me:secret@db.example/x"
    result = invoke("serve", "--check", "--config", file, "--port", 7, "--database", address)
    assert result.exit_code == 0
    assert "port = 7" in result.output
    assert "host = 127.0.0.2" in result.output
    assert "secret" not in result.output
    assert "db.example/x" in result.output


def test_a_missing_file_is_named(tmp_path):
    result = invoke("serve", "--check", "--config", tmp_path / "none.toml")
    assert result.exit_code == 2
    assert "none.toml cannot be read" in " ".join(result.output.split())


def test_keys_by_command_reach_a_running_server(tmp_path):
    folder = tmp_path / "data"
    with running(Settings(folder=folder, port=0)) as server, httpx.Client(base_url=server.url) as client:
        made = invoke("keys", "create", "--folder", folder, "--name", "web", "--scope", "decide", "--scope", "reward")
        assert made.exit_code == 0
        key = made.output.strip()
        headers = {"authorization": f"Bearer {key}"}
        until(lambda: client.get("/v1/policies").status_code == 401)
        assert client.get("/v1/policies", headers=headers).status_code == 200
        listed = invoke("keys", "list", "--folder", folder).output
        assert "web  decide reward" in listed
        assert key not in listed
        id_ = listed.split()[0]
        assert invoke("keys", "revoke", id_, "--folder", folder).exit_code == 0
        until(lambda: client.get("/v1/policies", headers=headers).status_code == 401)
        assert "revoked" in invoke("keys", "list", "--folder", folder).output
        assert invoke("keys", "revoke", id_, "--folder", folder).exit_code == 1
        assert invoke("keys", "create", "--folder", folder, "--scope", "everything").exit_code == 2


def until(condition):
    import time

    deadline = time.monotonic() + 10.0
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_second_server_says_why_it_cannot_start(tmp_path):
    with running(Settings(folder=tmp_path, port=0)):
        command = [sys.executable, "-c", "from eigenbandits.cli import main; main()", "serve", "--port", "0"]
        result = subprocess.run([*command, "--folder", str(tmp_path)], capture_output=True, text=True, timeout=60)
    assert result.returncode == 1
    assert "Error: another server writes to" in result.stderr
    assert "Traceback" not in result.stderr


def test_verify_says_what_it_found(tmp_path):
    with running(Settings(folder=tmp_path, port=0)) as server, httpx.Client(base_url=server.url) as client:
        client.post("/v1/policies", json={"name": "p", "algorithm": "Random"})
        client.post("/v1/policies/p/decide", json={"actions": [[1.0], [2.0]]})
    result = invoke("serve", "--verify", "--folder", tmp_path)
    assert result.exit_code == 0
    assert (
        result.output == "p: 1 decisions, 0 rewards, 1 batches; the snapshot at 1 and the log alone agree bit for bit\n"
    )
