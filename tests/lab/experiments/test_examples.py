"""The experiments in examples/ can be planned as they are, and run when they are made short."""

from pathlib import Path

import pytest

import eigenbandits as eb
from eigenbandits.lab.errors import LabError
from eigenbandits.lab.experiments.store import Store

EXAMPLES = sorted((Path(__file__).parents[3] / "examples" / "experiments").glob("*.toml"))


def test_there_are_examples():
    assert len(EXAMPLES) >= 2


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_is_planned_and_runs(path, tmp_path):
    experiment = eb.Experiment.read(path)
    try:
        cells = experiment.plan(Store(tmp_path))
    except LabError as error:
        assert "features make" in path.read_text()
        pytest.skip(f"{error} The first lines of {path.name} say how to make it.")
    labels = {plan.labels for plan in cells}
    assert len({plan.hash for plan in cells}) == len(cells) == len(labels) * len(experiment.seeds)
    assert f"eigenbandits run examples/experiments/{path.name}" in path.read_text()
    assert f"eigenbandits report results/{experiment.name}" in path.read_text()
    experiment.seeds, experiment.rounds = [0], 15
    results = experiment.run(tmp_path, progress="none")
    assert {(p, e) for p in results.policies for e in results.environments} == labels
