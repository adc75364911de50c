"""Policies that were saved at commit ca0c6e3 are still read, and go on.

Each had chosen one of three actions of four dimensions and learned from it, twelve times.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import eigenbandits as eb

SAVED = sorted((Path(__file__).parent / "saved").glob("*.npz"))


def test_there_is_a_file_of_each_kind():
    assert len(SAVED) == 10


@pytest.mark.parametrize("path", SAVED, ids=lambda path: path.stem)
def test_a_policy_that_was_saved_before_goes_on(path):
    policy = eb.load(path)
    assert (policy.round, policy.dim) == (12, 4)
    assert policy.diagnostics().rewards_learned == 12
    rng = np.random.default_rng(1)
    options: dict[str, Any] = {"costs": [0.2, 0.5, 0.9]} if path.stem == "budgeted" else {}
    for _ in range(60):
        actions = rng.standard_normal((3, 4))
        decision = policy.choose(actions, **options)
        policy.learn(decision, float(actions[decision.index, 0]))
    assert policy.round == 72
    assert policy.diagnostics().rewards_learned == 72
