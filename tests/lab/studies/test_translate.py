"""The study of a change of encoders: its encoders by what they promise, and a short run."""

import numpy as np
import pytest
from tests.lab.studies.test_scorer import folder  # noqa: F401
from typer.testing import CliRunner

from eigenbandits.cli import app
from eigenbandits.lab.studies import translate


def test_encoders_keep_lengths_and_one_adds_noise():
    rng = np.random.default_rng(0)
    vectors = rng.standard_normal((2000, 400))
    lengths = np.linalg.norm(vectors, axis=1)
    cut = translate.truncated(vectors, rng)
    assert cut.shape == (2000, translate.NUMBERS)
    np.testing.assert_allclose(np.linalg.norm(cut, axis=1), lengths)
    turned = translate.rotated(vectors, np.random.default_rng(1))
    other = translate.rotated(vectors, np.random.default_rng(2))
    # The same turn, and two noises of a fifth of the length each.
    assert np.linalg.norm(turned - other) / np.linalg.norm(lengths) == pytest.approx(0.2 * np.sqrt(2.0), rel=0.02)
    np.testing.assert_allclose(np.linalg.norm(turned, axis=1) / lengths, np.sqrt(1.04), rtol=0.05)


def test_the_command_prints_what_is_kept(folder, tmp_path, monkeypatch):  # noqa: F811
    monkeypatch.setattr(translate, "PAIRS", 100)
    monkeypatch.setattr(translate, "NUMBERS", 4)
    made = CliRunner().invoke(
        app(),
        [
            *("translate", "--data", str(folder), "--dim", "8", "--rounds", "60", "--seeds", "1", "--engine", "serial"),
            *("--out", str(tmp_path / "out")),
        ],
    )
    assert made.exit_code == 0, made.output
    rows = [line.split() for line in made.output.splitlines() if line.startswith("small")]
    assert [row[1] for row in rows] == ["rotated", "truncated"]
    for row in rows:
        scorer, before, new, carried = (float(cell) for cell in row[2:6])
        assert float(row[7]) == pytest.approx(carried - new, abs=0.11)
        if before <= scorer:
            assert row[8] == "–"
        else:
            assert float(row[8].rstrip("%")) == pytest.approx(100.0 * (carried - new) / (before - scorer), abs=5.0)
