"""The study of a policy that starts from a scorer: its split of the texts, its windows by hand, and a short run."""

import numpy as np
import pytest
from typer.testing import CliRunner

from eigenbandits.cli import app
from eigenbandits.lab.errors import LabError
from eigenbandits.lab.studies import scorer

TEXTS, LABELS, DIM = 60, 3, 5


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(0)
    labels = np.eye(DIM)[:LABELS]
    right = rng.integers(LABELS, size=TEXTS)
    texts = labels[right] + 0.5 * rng.standard_normal((TEXTS, DIM))
    (tmp_path / "problems").mkdir()
    np.savez(tmp_path / "problems" / "txt_small.npz", Q=texts.astype(np.float32), C=labels, y=right)
    return tmp_path


def test_what_is_unseen_is_never_asked(folder):
    problem = scorer.available_texts(folder, None, 8)["small"]
    instance = problem.instance(3)
    assert len(instance.unseen) == TEXTS // 4
    asked = [next_.actions for next_, _ in zip(instance.rounds(), range(2 * TEXTS), strict=False)]
    kept = [instance.offered(int(text))[0] for text in instance.unseen]
    assert not any(np.array_equal(one, other) for one in asked for other in kept)
    # The score comes last, and the features before it are as many as were asked for.
    actions, worth = instance.offered(0)
    query = problem.arrays["Q"][0].astype(float)
    assert actions.shape == (LABELS, 9) == (LABELS, problem.dim)
    np.testing.assert_allclose(actions[:, -1], problem.arrays["C"] @ query)
    assert worth.tolist() == np.eye(LABELS)[problem.arrays["y"][0]].tolist()


def test_windows_by_hand():
    rounds = np.array([100, 200, 300, 400])
    rewards = {"scorer": np.array([[50.0, 100.0, 150.0, 200.0]]), "EigenUCB": np.array([[40.0, 96.0, 156.0, 220.0]])}
    unseen = {"scorer": np.array([0.5]), "EigenUCB": np.array([0.6])}
    found = scorer.ScorerComparison("small", rounds, rewards, unseen)
    # 4 right answers behind in the first 200 rounds, 24 ahead in the next.
    assert found.windows("EigenUCB").tolist() == [[-2.0, 12.0]]
    assert found.row("EigenUCB")[:8] == ["small", "EigenUCB", "55.0", "50.0", "-2.0", "-2.0", "+12.0", "201"]


def test_all_labels_are_told_at_the_end(folder):
    problem = scorer.available_texts(folder, None, 8)["small"]
    instance = problem.instance(0)
    told = scorer.ScoredPolicy("all labels", rounds=100, seed=0)
    told.reveal(instance)
    for offered, _ in zip(instance.rounds(), range(100), strict=False):
        decision = told.choose(offered.actions)
        assert decision.index == offered.actions[:, -1].argmax()
        told.learn(decision, 1.0)
    assert told.policy.diagnostics().rewards_learned == 0
    unseen = told.diagnostics()["unseen"]
    # Each of the 45 texts asked, with each of 3 labels, once.
    assert told.policy.diagnostics().rewards_learned == 45 * LABELS
    # Against ridge regression of all these rewards on the features and the score, by NumPy.
    asked = [instance.offered(int(text)) for text in instance.asked]
    rows, worth = np.vstack([one for one, _ in asked]), np.concatenate([one for _, one in asked])
    rows = np.column_stack([rows, np.ones(len(rows))])
    theta = np.linalg.solve(rows.T @ rows + 0.1 * np.diag([1.0] * 8 + [0.0, 0.0]), rows.T @ worth)
    kept = [instance.offered(int(text)) for text in instance.unseen]
    ridge = np.mean([one_worth[(one @ theta[:-1]).argmax()] for one, one_worth in kept])
    assert unseen == pytest.approx(ridge, abs=2 / len(kept))


def test_the_command_prints_every_window(folder, tmp_path):
    made = CliRunner().invoke(
        app(),
        [
            *("scorer", "--data", str(folder), "--dim", "8", "--rounds", "400", "--seeds", "1", "--engine", "serial"),
            *("--out", str(tmp_path / "out")),
        ],
    )
    assert made.exit_code == 0, made.output
    assert "EigenUCB" in made.output
    assert "all labels" in made.output
    assert len(made.output.splitlines()[-1].split()) == 1 + 400 // scorer.WINDOW


def test_what_is_missing_is_said(tmp_path, folder):
    with pytest.raises(LabError, match="there are no labeled texts in"):
        scorer.available_texts(tmp_path / "nowhere", None, 8)
    with pytest.raises(LabError, match="large"):
        scorer.available_texts(folder, ["large"], 8)
    with pytest.raises(ValueError, match="rounds is 150; expected a multiple of 200"):
        scorer.experiment(scorer.available_texts(folder, None, 8), rounds=150, seeds=1)
