"""The study of the router: its streams against the protocol, and its measures against values worked out by hand."""

import importlib
import json

import numpy as np
import pytest

from eigenbandits.lab.errors import LabError
from eigenbandits.lab.studies import router
from eigenbandits.lab.studies.router import scenarios
from eigenbandits.lab.studies.router.data import MODELS
from eigenbandits.lab.studies.router.policies import _adopted
from eigenbandits.lab.studies.router.report import paired

# The package has a function of this name.
tables = importlib.import_module("eigenbandits.lab.studies.router.report")
SIZES = {"val": 40, "test": 60, "val_k4": 30, "test_k4": 150}


@pytest.fixture
def file(tmp_path, monkeypatch):
    """A small data set in which the first model is cheap and poor, and the third dear and good."""
    monkeypatch.setattr(scenarios, "PHASE", 20)
    rng = np.random.default_rng(0)
    (tmp_path / "router").mkdir()
    vectors = {}
    for split, size in SIZES.items():
        models = MODELS if split.endswith("k4") else MODELS[:3]
        lines = []
        for number in range(size):
            arms = {
                model: {"reward": (0.2, 0.6, 0.9, 0.8)[place], "cost": (1e-5, 1e-4, 1e-3, 2e-4)[place]}
                for place, model in enumerate(models)
            }
            lines.append(json.dumps({"prompt": f"{split}\u2028{number}", "arms": arms}, ensure_ascii=False))
        (tmp_path / "router" / f"{split}.jsonl").write_text("\n".join(lines))
        vectors[split] = rng.standard_normal((size, 6))
    np.savez(tmp_path / "vectors.npz", **vectors)  # type: ignore[arg-type]
    return router.prepare(tmp_path, tmp_path / "answers.npz", tmp_path / "vectors.npz")


def test_phases_follow_the_protocol(file):
    found = list(scenarios.Requests(str(file), "price").instance(8000).requests())
    assert [sum(one.phase == phase for one in found) for phase in range(4)] == [40, 20, 20, 20]
    assert [one.costs[2] for one in found if one.phase == 2] == pytest.approx([1e-3 * 0.2 / 11.25] * 20)
    first, third = ({tuple(one.vector) for one in found if one.phase == phase} for phase in (1, 3))
    assert first == third
    second = {tuple(one.vector) for one in found if one.phase == 2}
    assert not first & second
    worse = list(scenarios.Requests(str(file), "degraded").instance(6000).requests())
    assert {one.rewards[1] for one in worse if one.phase == 2} == {0.75}
    assert {one.rewards[1] for one in worse if one.phase != 2} == {0.6}


def test_the_order_is_that_of_the_seed(file):
    data = router.read(str(file))
    rng = np.random.default_rng(3000)
    expected = [*data["val_vectors"][rng.permutation(40)], *data["test_vectors"][rng.permutation(60)]]
    found = list(scenarios.Requests(str(file), "pacing").instance(3000).requests())
    assert np.array_equal([one.vector for one in found], np.array(expected, dtype=np.float64))


@pytest.mark.parametrize("scenario", ["pacing", "budgets", "degraded", "arrival"])
def test_it_runs_and_reports(file, tmp_path, scenario):
    results = router.experiment(file, scenario, seeds=2).run(tmp_path / scenario)
    text = router.report(scenario, results, router.read(str(file)))
    assert f"{scenario}, 2 seeds" in text
    quality = results.final("quality_1")
    assert 0.2 - 1e-9 <= quality.min() <= quality.max() <= 0.9
    if scenario in (
        "pacing",
        "budgets",
    ):  # the cheapest budget buys the cheapest model, the dearest nearly always the best
        assert quality[0].max() < 0.3
        assert quality[-1].min() > 0.7


def test_adoption_by_hand():
    chosen = np.zeros(400)
    chosen[200:] = 1.0
    # The share of the last 100 is 10 % from request 210 on, counted from 1.
    assert _adopted(chosen, 0) == 210
    assert _adopted(np.zeros(400), 0) == 400
    # Forced requests and the window after them do not count.
    assert _adopted(np.ones(400), 20) == 121


def test_paired_interval_by_hand():
    gap, half = paired(np.array([1.0, 2.0, 3.0, 4.0]), np.zeros(4))
    # The standard error is √(5/3)/2, and t with 3 degrees of freedom 3.182.
    assert gap == 2.5
    assert half == pytest.approx(3.1824 * (5 / 3) ** 0.5 / 2, rel=1e-4)


def test_missing_data_is_reported(tmp_path):
    with pytest.raises(LabError, match="cannot read the answers"):
        router.prepare(tmp_path, tmp_path / "answers.npz")


def test_what_full_information_predicts_leaves_one_out(monkeypatch):
    """The ridge is the one of least error when each request is predicted from the others, done one by one here."""
    monkeypatch.setattr(scenarios, "PAIR_REQUESTS", 30)
    monkeypatch.setattr(tables, "PAIR_REQUESTS", 30)
    rng = np.random.default_rng(0)
    vectors = rng.standard_normal((80, 4))
    gaps = vectors @ [1.0, 0.5, 0.0, 0.0] + 0.7 * rng.standard_normal(80)
    data = {"pairs_vectors": vectors, "pairs_rewards": np.column_stack([gaps, np.zeros(80)])}
    rows = scenarios.pair_rows(data, np.random.default_rng(1))
    known, asked = rows[:30], rows[30:]

    def predicted(train, row, ridge):
        mean, level = vectors[train].mean(axis=0), gaps[train].mean()
        centered = vectors[train] - mean
        model = np.linalg.solve(centered.T @ centered + ridge * np.eye(4), centered.T @ (gaps[train] - level))
        return level + (vectors[row] - mean) @ model

    errors = [
        sum((gaps[row] - predicted(known[known != row], row, ridge)) ** 2 for row in known)
        for ridge in np.geomspace(1e-2, 1e4, 25)
    ]
    best = np.geomspace(1e-2, 1e4, 25)[int(np.argmin(errors))]
    found = tables._predicted_gaps(data["pairs_vectors"], data["pairs_rewards"], rows)
    np.testing.assert_allclose(found, [predicted(known, row, best) for row in asked])
    # With the scores of an oracle, the best half goes to the strong model.
    rewards = data["pairs_rewards"][asked]
    assert tables._by_score(gaps[asked], rewards, 0.5) == pytest.approx(np.sort(gaps[asked])[-15:].sum() / 30)


def test_a_constant_is_tried_with_other_values(file, monkeypatch):
    monkeypatch.setattr(router.calibration, "PLAYED", {"pacing": (2,), "degraded": (0,)})
    lines = router.calibration.table(file, "reserve", range(1)).splitlines()
    assert lines[0].split() == ["0", "0.0025", "(now)", "0.01"]
    assert [line.split(":")[1].split()[0] for line in lines[2:]] == ["quality", "most", "quality"]
    with pytest.raises(LabError, match="reverse"):
        router.calibration.table(file, "reverse", range(1))
