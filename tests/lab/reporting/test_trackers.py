"""Results for other tools: the same numbers in a CSV file and in MLflow's calls."""

import csv
from contextlib import contextmanager

import pytest

import eigenbandits as eb
from eigenbandits.lab.reporting.trackers import log_to_mlflow, write_csv_of_rounds


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    made = eb.Experiment(
        name="small",
        policies={"Greedy": eb.Greedy(), "OFUL": eb.OFUL(noise=0.5)},
        environments={"model": eb.environments.LowRank(dim=6, rank=2, arms=4)},
        seeds=[3, 5],
        rounds=40,
        record={"points": 4},
    )
    return made.run(tmp_path_factory.mktemp("out"), progress="none")


def test_a_row_for_each_recorded_round(results, tmp_path):
    with write_csv_of_rounds(results, tmp_path / "rounds.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 2 * 2 * 4
    found = [float(row["regret"]) for row in rows if row["policy"] == "OFUL" and row["seed"] == "5"]
    curve = results.curve("regret", "OFUL", "model")
    assert found == pytest.approx(curve.values[1].tolist(), rel=1e-9)
    assert [int(row["round"]) for row in rows[:4]] == curve.rounds.tolist()


class Recorder:
    """Stands in for MLflow: keeps what it is told."""

    def __init__(self):
        self.experiment, self.runs = None, []

    def set_experiment(self, name):
        self.experiment = name

    @contextmanager
    def start_run(self, run_name):
        self.runs.append({"name": run_name, "params": {}, "metrics": []})
        yield

    def set_tags(self, tags):
        self.runs[-1]["tags"] = tags

    def log_params(self, params):
        self.runs[-1]["params"] |= params

    def log_metric(self, key, value, step):
        self.runs[-1]["metrics"].append((key, value, step))


def test_each_cell_is_one_run_of_mlflow(results):
    told = Recorder()
    assert log_to_mlflow(results, mlflow=told) == 4
    assert told.experiment == "small"
    run = next(one for one in told.runs if one["name"] == "OFUL on model, seed 5")
    assert run["tags"] == {"policy": "OFUL", "environment": "model"}
    assert (run["params"]["seed"], run["params"]["policy.noise"], run["params"]["environment.dim"]) == (5, 0.5, 6)
    curve = results.curve("regret", "OFUL", "model")
    regret = [(value, step) for key, value, step in run["metrics"] if key == "regret"]
    assert regret == list(zip(curve.values[1].tolist(), curve.rounds.tolist(), strict=True))


def test_mlflow_itself(results, tmp_path, monkeypatch):
    # Its file store, which it no longer recommends, needs no database.
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    mlflow = pytest.importorskip("mlflow", reason='MLflow is not installed; run: pip install "eigenbandits[mlflow]"')
    assert log_to_mlflow(results, uri=tmp_path.as_uri()) == 4
    assert len(mlflow.search_runs(experiment_names=["small"], output_format="list")) == 4
