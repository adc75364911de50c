"""Policies that earlier commits saved are still read, and go on.

Each had chosen one of three actions of four dimensions and learned from it, twelve times: those in `saved` at commit
ca0c6e3, those in `saved/version3` at 883b967, which also recorded what they chose next.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import eigenbandits as eb

FOLDER = Path(__file__).parent / "saved"
SAVED = sorted(FOLDER.glob("*.npz"))
CHOICES = json.loads((FOLDER / "version3" / "choices.json").read_text())


def test_there_is_a_file_of_each_kind():
    assert len(SAVED) == 10
    assert sorted(CHOICES) == sorted(path.stem for path in (FOLDER / "version3").glob("*.npz"))


@pytest.mark.parametrize("path", SAVED, ids=lambda path: path.stem)
def test_a_policy_that_was_saved_before_goes_on(path):
    policy = eb.load(path)
    assert (policy.round, policy.dim) == (12, 4)
    assert policy.diagnostics().rewards_learned == 12
    options: dict[str, Any] = {"costs": [0.2, 0.5, 0.9]} if path.stem == "budgeted" else {}
    play(policy, 60, **options)
    assert policy.round == 72
    assert policy.diagnostics().rewards_learned == 72


@pytest.mark.parametrize("name", sorted(CHOICES.keys() - {"eigen_ucb_certified"}))
def test_a_policy_of_version_3_goes_on(name):
    policy = eb.load(FOLDER / "version3" / f"{name}.npz")
    assert (policy.round, policy.dim) == (12, 4)
    choices = play(policy, len(CHOICES[name]))
    # Two draw the values of the actions now, and drew models then; the others do not neglect actions any more.
    if name not in {"eigen_ts", "lin_ts", "eigen_ucb", "eigen_ucb_memory"}:
        assert choices == CHOICES[name]


def test_a_certified_policy_of_version_3_is_refused():
    with pytest.raises(ValueError, match=r"saved without '.*', which this version needs; make a new policy"):
        eb.load(FOLDER / "version3" / "eigen_ucb_certified.npz")


def play(policy: Any, rounds: int, **options: Any) -> list[int]:
    """Let a policy go on, with the first coordinate as the reward."""
    rng, choices = np.random.default_rng(1), []
    for _ in range(rounds):
        actions = rng.standard_normal((3, 4))
        decision = policy.choose(actions, **options)
        policy.learn(decision, float(actions[decision.index, 0]))
        choices.append(decision.index)
    return choices
