"""`eigenbandits run` and `eigenbandits report` as a user types them: exit codes and one sentence each."""

import os
import signal
import subprocess
import sys
import time

import pytest
from typer.testing import CliRunner

from eigenbandits.cli import app

SMALL = """
rounds = 40
seeds = 2
record = {points = 10, accuracy = 10}
[policies]
OFUL = {noise = 0.5}
Random = {}
[environments]
plain = {kind = "LowRank", dim = 5, rank = 1, arms = 3}
"""


@pytest.fixture
def invoke(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "small.toml").write_text(SMALL)
    return lambda *arguments: CliRunner().invoke(app(), [str(argument) for argument in arguments])


def test_run_and_report(invoke, tmp_path):
    ran = invoke("run", "small.toml", "--engine", "serial")
    assert ran.exit_code == 0
    assert "OFUL" in ran.output
    assert "eigenbandits report results/small" in ran.output
    assert "0 of 4 cells are finished; 4 to run." in ran.stderr
    again = invoke("run", "small.toml", "--engine", "serial")
    assert again.exit_code == 0
    assert again.stderr == "4 of 4 cells are finished; 0 to run.\n"
    told = invoke("report", "results/small", "--figures", "figures", "--bands", "bootstrap", "--test", "wilcoxon")
    assert told.exit_code == 0
    assert (tmp_path / "results" / "small" / "report.html").exists()
    assert {path.suffix for path in (tmp_path / "figures").iterdir()} == {".png", ".pdf", ".svg"}


def test_quiet_says_nothing(invoke):
    ran = invoke("run", "small.toml", "--engine", "serial", "--quiet", "--out", "here")
    assert (ran.exit_code, ran.output) == (0, "")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("OFUL = ", "OFLU = "), "Error: policies.OFLU: there is no policy 'OFLU'; did you mean 'OFUL'?"),
        (("noise = 0.5", "nois = 0.5"), "Error: policies.OFUL has no setting 'nois'; did you mean 'noise'?"),
        (("rank = 1", "rank = 9"), "Error: environments.plain: rank is 9; expected at most dim, which is 5."),
        (("rounds = 40", "rounds : 40"), "Error: small.toml is not TOML: Expected '=' after a key"),
    ],
)
def test_bad_experiments_get_one_sentence(invoke, tmp_path, change, message):
    (tmp_path / "small.toml").write_text(SMALL.replace(*change))
    ran = invoke("run", "small.toml", "--engine", "serial")
    assert ran.exit_code == 1
    assert ran.stderr.startswith(message)
    assert ran.stderr.count("\n") == 1
    assert ran.stdout == ""


def test_results_that_are_missing_or_cut_short_get_one_sentence(invoke, tmp_path):
    told = invoke("report", "nowhere")
    assert told.exit_code == 1
    assert told.stderr.startswith("Error: nowhere holds no results.parquet")
    invoke("run", "small.toml", "--engine", "serial")
    table = tmp_path / "results" / "small" / "results.parquet"
    table.write_bytes(table.read_bytes()[:100])
    told = invoke("report", "results/small")
    assert told.exit_code == 1
    assert "results.parquet is truncated, damaged" in told.stderr
    assert "`eigenbandits run` rebuilds it" in told.stderr


# While workers start, and while they work.
@pytest.mark.parametrize(("engine", "seconds"), [("processes", 0.2), ("processes", 1.0), ("dask", 0.6)])
def test_ctrl_c_keeps_what_is_done_and_says_how_to_go_on(tmp_path, engine, seconds):
    (tmp_path / "long.toml").write_text(SMALL.replace("rounds = 40", "rounds = 400000").replace("Random = {}", ""))
    script = "from eigenbandits.cli import main; main()"
    command = [sys.executable, "-c", script, "run", "long.toml", "--engine", engine, "--workers", "2"]
    process = subprocess.Popen(
        command,
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env=os.environ,
        # Tests that run in the background of a shell inherit that Ctrl-C is ignored.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert process.stderr is not None
    first = process.stderr.readline()
    time.sleep(seconds)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to every process of the group
    rest = process.stderr.read()
    assert process.wait(timeout=60) == 130
    assert first == "0 of 2 cells are finished; 2 to run.\n"
    assert rest.endswith("Stopped. Finished cells are kept; the same command continues from here.\n")
    progress, *others = rest.splitlines()
    assert progress.startswith("0 of 2 cells")
    assert len(others) <= 2, rest
