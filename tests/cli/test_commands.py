"""The commands, small, with what they print and leave checked against the runner and against raw data."""

import csv
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from matplotlib import image
from typer.testing import CliRunner

import eigenbandits as eb
from eigenbandits import cli
from eigenbandits.cli.sections import SECTIONS, SHARED
from eigenbandits.environments import Digits, LowRank
from eigenbandits.environments.digits import environment as digits
from eigenbandits.extras import MissingExtraError
from eigenbandits.lab.experiments.results import Results


def invoke(*arguments):
    return CliRunner().invoke(cli.app(), [str(argument) for argument in arguments])


def read_csv(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_the_demo_prints_tables_and_writes_a_figure_and_a_csv(tmp_path):
    pytest.importorskip("sklearn", reason="the digits need scikit-learn: pip install 'eigenbandits[digits]'")
    result = invoke("demo", "--rounds", 60, "--seeds", 2, "--engine", "serial", "--out", tmp_path / "made")
    assert result.exit_code == 0, result.output
    rows = {(row["problem"], row["policy"]): row for row in read_csv(tmp_path / "made" / "regret.csv")}
    policies = ["EigenUCB", "PSLB, rank known", "OFUL", "OFUL, tuned", "LinUCB", "LinTS"]
    assert list(rows) == [(problem, name) for problem in ("digits", "model") for name in policies]
    made = {
        "EigenUCB": lambda rank, seed: eb.EigenUCB(seed=seed),
        "PSLB, rank known": lambda rank, seed: eb.PSLB(noise=0.5, rank=rank, seed=seed),
        "OFUL": lambda rank, seed: eb.OFUL(noise=0.5, seed=seed),
        "LinUCB": lambda rank, seed: eb.LinUCB(seed=seed),
    }
    played: dict[str, Digits | LowRank] = {"digits": Digits(), "model": LowRank(100, 4, 10, perturbation=9.0)}
    for problem, env in played.items():
        rank = 1 if problem == "digits" else 4
        for name, make in made.items():
            finals = [eb.run(make(rank, seed), env, 60, seed).regret[-1] for seed in (1000, 1001)]
            assert float(rows[problem, name]["regret"]) == pytest.approx(np.mean(finals))
            # With two values the standard error is half of their difference.
            error = abs(finals[0] - finals[1]) / 2
            assert float(rows[problem, name]["standard_error"]) == pytest.approx(error)
            wanted = [f"{np.mean(finals):.1f}", "±", f"{error:.1f}"]
            lines = [line for line in result.stdout.splitlines() if line.startswith(name + "  ")]
            assert wanted in [line.removeprefix(name).split()[:3] for line in lines]
    assert image.imread(tmp_path / "made" / "regret.png").shape == (450, 1200, 4)
    assert "0 of 24 cells are finished; 24 to run." in result.stderr


def test_without_images_the_demo_says_so_and_runs_the_model(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn", None)
    digits._classification.cache_clear()
    result = invoke("demo", "--rounds", 5, "--seeds", 1, "--engine", "serial", "--out", tmp_path)
    assert result.exit_code == 0, result.output
    assert "Skipping real images. Loading the handwritten digits needs sklearn; run: pip install" in result.stdout
    assert {row["problem"] for row in read_csv(tmp_path / "regret.csv")} == {"model"}


def test_the_comparison_runs_only_the_policies_that_are_given(tmp_path):
    only = ["--only", "PSLB, rank known", "--only", "Random"]
    result = invoke(
        *("compare", "--rounds", 30, "--seeds", 2, "--engine", "serial", "--out", tmp_path),
        *("--dim", 8, "--rank", 2, "--arms", 5, "--perturbation", 1, "--spread", 2, "--noise", 0.1, *only),
    )
    assert result.exit_code == 0, result.output
    env = LowRank(dim=8, rank=2, arms=5, perturbation=1.0, spread=2.0, noise=0.1)
    finals = [eb.run(eb.PSLB(noise=0.1, rank=2), env, 30, seed).regret[-1] for seed in (1000, 1001)]
    rows = read_csv(tmp_path / "regret.csv")
    assert [row["policy"] for row in rows] == ["PSLB, rank known", "Random"]
    assert float(rows[0]["regret"]) == pytest.approx(np.mean(finals))
    # Of the means of two draws from two values a quarter are the smaller one, a quarter the larger.
    assert float(rows[0]["band_low"]) == pytest.approx(min(finals))
    assert float(rows[0]["band_high"]) == pytest.approx(max(finals))
    assert image.imread(tmp_path / "regret.png").shape == (450, 600, 4)


def test_coverage_prints_and_writes_the_same_counts(tmp_path):
    result = invoke(
        *("coverage", "--rounds", 25, "--seeds", 3, "--delta", 0.1),
        *("--dim", 6, "--rank", 2, "--arms", 5, "--perturbation", 0.5, "--engine", "serial", "--out", tmp_path),
    )
    assert result.exit_code == 0, result.output
    rows = read_csv(tmp_path / "coverage.csv")
    assert len(rows) == 2 + 2 * (2 + 6)  # C_d; with and without anytime, C_p and C_m
    saved = json.loads((tmp_path / "experiment.json").read_text())["settings"]
    assert [env["dim"] for env in saved["environments"].values()] == [6]
    assert saved["policies"]["PSLB"]["delta"] == 0.1
    # The paper allows δ, 3δ, 4δ.
    allowed = {row["set"]: round(float(row["allowed"]), 6) for row in rows}
    assert allowed == {"C_d": 0.1, "C_p": 0.3, "C_m": 0.4}
    cells = {line.split("  ")[0]: line.split() for line in result.stdout.splitlines() if line.startswith("C_d")}
    first = rows[0]
    assert (first["set"], first["radius"]) == ("C_d", "logdet")
    assert float(first["share"]) == pytest.approx(int(first["left"]) / 3)
    assert cells["C_d logdet"][2:4] == ["10.0", "%"]
    assert cells["C_d logdet"][6:8] == [f"{100 * float(first['share']):.1f}", "%"]
    assert cells["C_d logdet"][-1] == f"{float(first['nearest']):.3f}"
    share = 100 * np.mean(Results.open(tmp_path).final("safety") > 1.1)
    assert f" 1.1: {share:.1f} %" in result.stdout


def test_coverage_of_the_certified_set_prints_and_writes_the_same_counts(tmp_path):
    small = ("--rounds", 25, "--seeds", 3, "--delta", 0.1, "--dim", 6, "--rank", 2, "--arms", 5, "--engine", "serial")
    result = invoke("coverage", "--certified", *small, "--out", tmp_path)
    assert result.exit_code == 0, result.output
    rows = read_csv(tmp_path / "coverage-certified.csv")
    assert {row["sets"] for row in rows} == {"drawn", "withdrawn", "neighbors", "adversary"}
    assert {row["set"]: row["allowed"] for row in rows} == {
        **dict.fromkeys(("rho", "whole", "subspace, true ε"), "0.1"),
        **dict.fromkeys(("subspace, estimated ε", "subspace, deciding"), ""),
    }
    lines = [line for line in result.stdout.splitlines() if " of 3 " in line]
    assert len(lines) == len(rows)
    for line, row in zip(lines, rows, strict=True):
        assert line.startswith(row["sets"])
        assert f"{row['left']} of 3" in line
        assert f"{float(row['nearest']):.3f}" in line


def test_coverage_leaves_the_theorem_out_where_it_does_not_apply(tmp_path):
    small = ("--rounds", 5, "--seeds", 1, "--dim", 6, "--rank", 2, "--arms", 4, "--engine", "serial", "--out", tmp_path)
    result = invoke("coverage", *small, "--vectors", "heavy")
    assert result.exit_code == 0, result.output
    assert "ε estimated fell below 1" in result.stdout
    assert "ε theorem" not in result.stdout
    assert "t_w" not in result.stdout
    # Dashes stand for the theorem's share, looseness and nearest approach.
    first = next(line for line in result.stdout.splitlines() if line.startswith("C_m sharp"))
    assert first.split().count("–") == 3


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["demo", "--rounds", 0], "rounds is 0; expected a whole number of at least 1."),
        (["demo", "--seeds", -3], "seeds is -3; expected a whole number of at least 1."),
        (["demo", "--seeds", "many"], "--seeds"),
        (["compare", "--rank", 9, "--dim", 4], "rank is 9; expected at most dim, which is 4."),
        (["compare", "--only", "PSBL"], "there is no policy 'PSBL'; did you mean 'PSLB'?"),
        (["compare", "--perturbation", -1], "perturbation is -1; expected a number of at least 0."),
        (["coverage", "--delta", 2], "delta is 2; expected a number between 0 and 1, such as 0.01."),
        (["coverage", "--vectors", "round"], "'sphere', 'cube', 'heavy', 'duplicates'"),
        (["coverage", "--workers", 0], "workers is 0; expected a whole number of at least 1."),
        (["demo", "--round", 3, "--color"], "--round"),
        (["dmo"], "dmo"),
    ],
)
def test_a_bad_option_gets_one_sentence_and_exit_code_2(arguments, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = invoke(*arguments)
    assert result.exit_code == 2
    assert result.stdout == ""
    (error,) = (line for line in result.stderr.splitlines() if line.startswith("Error: "))
    assert words in error
    assert result.stderr.rstrip().endswith(error)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", ["demo", "compare", "coverage"])
def test_a_folder_that_cannot_be_made_is_refused_before_anything_runs(command, tmp_path):
    (tmp_path / "file").write_text("in the way")
    result = invoke(command, "--out", tmp_path / "file" / "below")
    assert result.exit_code == 1
    assert "cannot be written to (Not a directory); choose another folder with --out." in result.stderr
    assert "cells" not in result.stderr


@pytest.mark.parametrize(
    ("module", "arguments", "words"),
    [
        ("typer", ["demo"], 'The command line needs typer; run: pip install "eigenbandits[cli]"'),
        ("rich", ["demo"], 'The command line needs rich; run: pip install "eigenbandits[cli]"'),
        ("matplotlib", ["demo"], 'This command needs matplotlib; run: pip install "eigenbandits[lab]"'),
        ("pyarrow", ["compare"], 'This command needs pyarrow; run: pip install "eigenbandits[lab]"'),
    ],
)
def test_a_missing_extra_gets_one_sentence_with_the_command(module, arguments, words, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.setattr(sys, "argv", ["eigenbandits", *arguments])
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as stopped:
        cli.main()
    assert stopped.value.code == f"Error: {words}"
    assert list(tmp_path.iterdir()) == []


def test_the_version_needs_no_extra(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "typer", None)
    monkeypatch.setattr(sys, "argv", ["eigenbandits", "--version"])
    cli.main()
    assert capsys.readouterr().out.startswith(f"eigenbandits {eb.__version__}, Python 3.")


def test_the_application_itself_says_so_too(monkeypatch):
    monkeypatch.setitem(sys.modules, "typer", None)
    with pytest.raises(MissingExtraError, match="The command line needs typer"):
        cli.app()


def test_the_library_alone_loads_no_extra():
    code = (
        "import sys, eigenbandits, eigenbandits.cli\n"
        "print(sorted({name.split('.')[0] for name in sys.modules} & {'typer', 'rich', 'matplotlib', 'click'}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_help_lists_every_module_by_section():
    no_commands = {"__init__", "options", "runner", "sections", "version"}
    modules = {path.stem for path in Path(cli.__file__).parent.glob("*.py")} - no_commands
    shared = {name for names in SHARED.values() for name in names}
    listed = {name for section in SECTIONS.values() for name in section}
    assert {name.replace("-", "_") for name in listed - shared} == modules - SHARED.keys()
    assert shared <= listed
    text = invoke("--help").stdout
    for title, commands in SECTIONS.items():
        section = text.partition(f"\n{title}:\n")[2].partition("\n\n")[0]
        # A line each, so that no text is cut or wrapped.
        assert [line.split(maxsplit=1) for line in section.splitlines()] == [list(one) for one in commands.items()]
    for command in listed:
        assert invoke(command, "--help").exit_code == 0
