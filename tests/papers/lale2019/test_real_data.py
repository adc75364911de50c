"""From the raw files of a pre-trained network to a figure of the paper, where there are any: no torch, no training."""

import os
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from eigenbandits.cli import app

DATA = os.environ.get("EIGENBANDITS_DATA", "")


@pytest.mark.slow
@pytest.mark.skipif(
    not (Path(DATA) / "imagenet" / "resnet50-val-5000.npz").is_file() or not DATA,
    reason="no ImageNet features are there; set EIGENBANDITS_DATA to a folder that has them (docs/howto/images.md)",
)
def test_the_untouched_network_shows_the_papers_effect(tmp_path):
    """1,000 actions, d = 100: one direction is enough, and OFUL as in the paper makes several times the mistakes."""

    def ran(*arguments: str) -> str:
        result = CliRunner().invoke(app(), [*arguments, "--cache", str(tmp_path / "cache")])
        assert result.exit_code == 0, result.output
        return result.output

    assert "imagenet-resnet50-d100-product: made" in ran("features", "make", "imagenet", "--layer", "product")
    out = tmp_path / "results"
    options = ["--figure", "8", "--layer", "product", "--engine", "serial", "--out", str(out)]
    shown = ran("paper", "lale2019", *options)
    mistakes = {name: float(count) for name, count in re.findall(r"^(OFUL|PSLB m=\d+) +([\d.]+)", shown, re.MULTILINE)}
    assert list(mistakes) == ["OFUL", *(f"PSLB m={m}" for m in (1, 2, 4, 8, 16))]
    assert mistakes["PSLB m=1"] < mistakes["OFUL"] / 2
    assert (out / "figure-8-product-quick.png").stat().st_size > 10_000
