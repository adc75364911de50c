"""A small experiment that the tests of the lab share."""

from pathlib import Path
from typing import Any

import pytest

import eigenbandits as eb
from eigenbandits.environments import LowRank

SMALL = """
name = "small"
rounds = 60
seeds = 3

[record]
points = 20

[policies.PSLB]
noise = 0.5

[policies.OFUL]
noise = 0.5

[environments.plain]
kind = "LowRank"
dim = 6
rank = 2
arms = 4

[environments.mean]
kind = "LowRank"
dim = 6
rank = 2
arms = 4
mean = 2.0
"""


@pytest.fixture
def toml(tmp_path) -> Path:
    """The small experiment as a file."""
    path = tmp_path / "small.toml"
    path.write_text(SMALL)
    return path


@pytest.fixture
def small():
    """The small experiment, made in Python; settings given by name replace its own."""

    def make(**changes):
        settings: dict[str, Any] = {
            "name": "small",
            "policies": {"PSLB": eb.PSLB(noise=0.5), "OFUL": eb.OFUL(noise=0.5)},
            "environments": {
                "plain": LowRank(dim=6, rank=2, arms=4),
                "mean": LowRank(dim=6, rank=2, arms=4, mean=2.0),
            },
            "seeds": 3,
            "rounds": 60,
            "record": {"points": 20},
        }
        return eb.Experiment(**(settings | changes))

    return make
