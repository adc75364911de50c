"""`eigenbandits audit`: what it prints is what the audit found."""

import sys

import numpy as np
import pytest
from matplotlib import image
from typer.testing import CliRunner

import eigenbandits as eb
from eigenbandits import cli


def invoke(*arguments):
    return CliRunner().invoke(cli.app(), [str(argument) for argument in arguments])


@pytest.fixture
def file(tmp_path):
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((800, 12))
    rows[:, :2] *= 4.0
    np.save(tmp_path / "rows.npy", rows)
    return tmp_path / "rows.npy"


def test_it_prints_a_page_and_leaves_a_picture(file, tmp_path):
    result = invoke("audit", file, "--png", tmp_path / "out.png", "--rounds", 30, "--seeds", 2, "--arms", 5)
    assert result.exit_code == 0, result.output
    found = eb.audit(file, rounds=30, seeds=2, arms=5)
    words = " ".join(result.stdout.split())
    assert "proposed m 2 2 eigenvalues stand out" in words
    assert "800 of 12 numbers 5 offered at once, assumed" in words
    assert found.comparison is not None
    for loss in found.comparison.losses:
        regrets = " ".join(f"{mean:.1f} ± {error:.1f}" for mean, error in (*loss.places, loss.overall))
        assert f"{loss.policy} {regrets}" in words
    assert " ".join(found.verdict.split()) in words
    assert " ".join(found.code.split()) in words
    assert all(len(line) <= 120 for line in result.stdout.splitlines())
    picture = image.imread(tmp_path / "out.png")
    assert picture.shape == (450, 1800, 4)
    assert picture.std() > 0.0


def test_without_the_simulation_two_panels_are_left(file, tmp_path):
    result = invoke("audit", file, "--no-gain", "--png", tmp_path / "out.png")
    assert result.exit_code == 0, result.output
    assert "Nothing was simulated" in result.stdout
    assert image.imread(tmp_path / "out.png").shape == (450, 1200, 4)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (["absent.npy"], "there is no file"),
        (["rows.npy", "--array", "x"], "holds one array without a name; leave out --array x."),
        (["rows.npy", "--rounds", 0], "rounds is 0; expected a whole number of at least 1."),
        (["rows.npy", "--seeds", 1], "--seeds"),
    ],
)
def test_what_cannot_be_audited_gets_one_sentence(file, change, words):
    result = invoke("audit", file.parent / change[0], *change[1:])
    assert result.exit_code == 2
    assert result.stdout == ""
    assert words in next(line for line in result.stderr.splitlines() if line.startswith("Error: "))


def test_a_picture_needs_matplotlib_and_says_so_first(file, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setattr(sys, "argv", ["eigenbandits", "audit", str(file), "--png", str(tmp_path / "out.png")])
    with pytest.raises(SystemExit) as stopped:
        cli.main()
    assert stopped.value.code == 'Error: Drawing a figure needs matplotlib; run: pip install "eigenbandits[plot]"'
