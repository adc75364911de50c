"""Policies and environments as settings: what is refused and how, what is the same, and what is not."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass

import numpy as np
import pytest

import eigenbandits as eb
from eigenbandits.environments import Classification, Log, LowRank, Replay
from eigenbandits.lab.errors import LabError
from eigenbandits.lab.experiments import specs as specs_module
from eigenbandits.lab.experiments.cells import Cell
from eigenbandits.lab.experiments.data_files import DataFiles
from eigenbandits.lab.experiments.former_names import RENAMED
from eigenbandits.lab.experiments.recording import Record
from eigenbandits.lab.experiments.specs import Spec, find_class


@dataclass(frozen=True)
class Coins:
    """A user's own environment."""

    sides: int = 2
    name: str = "coins"

    def instance(self, seed):
        return LowRank(dim=2, rank=1, arms=self.sides).instance(seed)


@pytest.fixture
def specs(tmp_path):
    def make(given, what="policy", label="it"):
        return specs_module.specs(label, given, what, DataFiles(tmp_path / "data"), tmp_path)

    return make


def cell_hash(policy, environment=None, seed=0, rounds=10, record=None):
    return Cell(policy, environment or policy, seed, rounds, record or Record()).hash


def test_a_table_and_an_object_are_the_same_thing(specs):
    table = specs({"kind": "PSLB", "noise": 0.5, "rank": 4})["it"]
    made = specs(eb.PSLB(noise=0.5, rank=4))["it"]
    assert table.identity() == made.identity()
    assert table.params["delta"] == 0.01  # defaults are part of it, written down or not


def test_the_label_names_the_kind_unless_the_table_does(specs):
    assert specs({"noise": 0.5}, label="OFUL")["OFUL"].kind == "OFUL"


def test_each_makes_every_combination(specs):
    found = specs({"kind": "PSLB", "noise": 0.5, "each": {"rank": [1, 4], "delta": [0.1, 0.2]}}, label="PSLB")
    assert list(found) == [
        "PSLB, rank=1, delta=0.1",
        "PSLB, rank=1, delta=0.2",
        "PSLB, rank=4, delta=0.1",
        "PSLB, rank=4, delta=0.2",
    ]
    assert [(r.params["rank"], r.params["delta"]) for r in found.values()] == [(1, 0.1), (1, 0.2), (4, 0.1), (4, 0.2)]


def test_what_the_environment_knows_is_filled_in_for_each_cell(specs):
    spec = specs({"kind": "PSLB", "noise": "$noise", "rank": "$rank", "structure": "$structure"})["it"]
    environment = LowRank(dim=9, rank=3, arms=4, noise=0.25)
    policy = spec.make_policy(7, environment, environment.instance(7))
    assert (policy.noise, policy.rank, policy.seed) == (0.25, 3, 7)
    assert policy.structure == environment.instance(7).structure
    with pytest.raises(LabError, match=r"has no 'color' for a policy that reads '\$color'"):
        specs({"kind": "PSLB", "noise": "$color"})["it"].make_policy(0, environment, environment.instance(0))


def test_a_composed_policy_travels_with_its_parts(specs):
    composed = eb.Policy(eb.subspace.PCA(rank=2), eb.belief.Projected(noise=0.3), eb.rules.Thompson(0.3))
    spec = specs(composed)["it"]
    again = type(spec)(**json.loads(json.dumps(spec.as_json())))
    assert repr(again.make_policy(3, None, None)) == repr(spec.make_policy(3, None, None))
    assert again.make_policy(3, None, None).seed == 3


def test_structures_may_be_written_as_tables(specs):
    known = {"lambda_plus": 2.0, "lambda_minus": 1.0, "sigma2": 0.1, "d_x": 3.0, "d_psi": 9.0}
    spec = specs({"kind": "PSLB", "noise": 0.5, "projection_error": "theorem", "structure": known})["it"]
    assert spec.make_policy(0, None, None).structure == eb.Structure(**known)


@pytest.mark.parametrize(
    ("given", "what", "message"),
    [
        ({"kind": "PSBL", "noise": 1}, "policy", "policies.it: there is no policy 'PSBL'; did you mean 'PSLB'?"),
        ({"kind": "pslb", "noise": 1}, "policy", "policies.it: there is no policy 'pslb'; did you mean 'PSLB'?"),
        ({"kind": "magic"}, "policy", "there is no policy 'magic'; expected one of CBRAP"),
        ({"kind": "LowRnk"}, "environment", "there is no environment 'LowRnk'; did you mean 'LowRank'?"),
        (
            {"kind": "PSLB", "noise": 0.5, "thetabound": 1},
            "policy",
            "policies.it has no setting 'thetabound'; did you mean 'theta_bound'?",
        ),
        ({"kind": "PSLB"}, "policy", "policies.it needs noise; add it."),
        ({"kind": "PSLB", "noise": 0.5, "seed": 1}, "policy", "policies.it sets seed; leave it out"),
        ({"kind": "PSLB", "noise": 0.5, "each": {"rank": 4}}, "policy", "policies.it.each is"),
        ({"kind": "PSLB", "noise": 0.5, "each": {"rnk": [4]}}, "policy", "did you mean 'rank'?"),
        ({"kind": "no_such_module:Thing"}, "policy", "cannot be imported"),
        ({"kind": "eigenbandits.algorithms:PSBL"}, "policy", "has no class 'PSBL'; did you mean 'PSLB'?"),
        ({"kind": "math:pi"}, "policy", "is not a class"),
        (42, "policy", "policies.it is 42; expected"),
        ({"kind": "Classification", "features": "x.npy", "labels": [0]}, "environment", "there is no data file"),
        ({"kind": "LowRank", "dim": {1, 2}, "rank": 1, "arms": 1}, "environment", "a parameter of type set cannot"),
    ],
)
def test_refusals_are_one_sentence(specs, given, what, message):
    with pytest.raises(LabError) as refused:
        specs(given, what)
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_seeded_policy_is_refused(specs):
    with pytest.raises(LabError, match="because the experiment seeds every cell"):
        specs(eb.PSLB(noise=0.5, seed=3))


def test_a_class_inside_a_function_is_refused(specs):
    class Hidden(eb.Greedy):
        pass

    with pytest.raises(LabError, match="class Hidden is defined inside a function"):
        specs(Hidden())


def test_a_class_of_the_user_is_known_by_its_module_and_source(specs, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    source = tmp_path / "mine_for_recipes.py"
    source.write_text("import eigenbandits as eb\nclass Mine(eb.Greedy):\n    pass\n")
    first = specs({"kind": "mine_for_recipes:Mine"})["it"]
    assert type(first.make_policy(5, None, None)).__name__ == "Mine"
    assert first.make_policy(5, None, None).seed == 5
    source.write_text(source.read_text() + "# changed\n")
    import linecache

    linecache.clearcache()
    assert cell_hash(specs({"kind": "mine_for_recipes:Mine"})["it"]) != cell_hash(first)


def test_data_is_known_by_its_content_wherever_it_lies(specs, tmp_path):
    features, labels = np.arange(12.0).reshape(2, 3, 2), np.array([0, 1])
    for place in ("one", "two"):
        (tmp_path / place).mkdir()
        np.save(tmp_path / place / "features.npy", features)
        np.save(tmp_path / place / "labels.npy", labels)

    def spec(place):
        table = {"kind": "Classification", "features": f"{place}/features.npy", "labels": f"{place}/labels.npy"}
        return specs(table, "environment")["it"]

    first = spec("one")
    assert cell_hash(first) == cell_hash(spec("two"))
    np.testing.assert_array_equal(first.make().opened, features)
    assert isinstance(first.make().opened, np.memmap)
    np.save(tmp_path / "two" / "features.npy", features + 1.0)
    assert cell_hash(first) != cell_hash(spec("two"))


def test_data_that_changed_since_the_plan_is_refused(specs, tmp_path):
    np.save(tmp_path / "features.npy", np.ones((2, 3, 2)))
    spec = specs({"kind": "Classification", "features": "features.npy", "labels": [0, 1]}, "environment")["it"]
    np.save(tmp_path / "features.npy", np.ones((3, 3, 2)))
    with pytest.raises(LabError, match="not the one that the experiment was planned with"):
        spec.make()


def test_arrays_from_memory_become_files_that_are_mapped(specs):
    features = np.random.default_rng(0).standard_normal((5, 3, 2))
    spec = specs(Classification(features, [0, 1, 2, 0, 1]), "environment")["it"]
    made = spec.make()
    assert isinstance(made.opened.base, np.memmap)
    np.testing.assert_array_equal(made.opened, features)
    assert made.rows.tolist() == [0, 1, 2, 0, 1]


def test_logs_travel_too(specs):
    log = Log(np.ones((100, 2, 3)), np.arange(100) % 2, [float(i) for i in range(100)])
    made = specs(Replay(log, shuffle=False), "environment")["it"].make()
    assert made.events.earned.tolist() == [float(i) for i in range(100)]


def test_an_environment_of_the_user_may_be_a_dataclass(specs):
    spec = specs(Coins(sides=3), "environment")["it"]
    assert spec.kind.endswith(":Coins")
    assert spec.make() == Coins(sides=3)


BASE = {"kind": "PSLB", "noise": 0.5}


@pytest.mark.parametrize("change", [{"noise": 0.6}, {"rank": 2}, {"delta": 0.05}, {"kind": "OFUL"}, {"center": "set"}])
def test_a_changed_setting_makes_a_new_cell(specs, change):
    assert cell_hash(specs(BASE | change)["it"]) != cell_hash(specs(BASE)["it"])


def test_seed_rounds_and_recording_make_new_cells_and_labels_do_not(specs):
    policy = specs(BASE)["it"]
    other = specs(BASE, label="another name")["another name"]
    hashes = {
        cell_hash(policy),
        cell_hash(other),
        cell_hash(policy, seed=1),
        cell_hash(policy, rounds=11),
        cell_hash(policy, record=Record(points=5)),
    }
    assert len(hashes) == 4


def test_another_version_of_the_library_makes_new_cells(specs, monkeypatch):
    policy = specs(BASE)["it"]
    before = cell_hash(policy)
    monkeypatch.setattr(eb, "__version__", "99.0")
    assert cell_hash(policy) != before


def test_a_worker_with_another_version_refuses_the_cell(specs, monkeypatch):
    policy, environment = specs(BASE)["it"], specs(LowRank(dim=4, rank=1, arms=2), "environment")["it"]
    text = Cell(policy, environment, 0, 10, Record()).as_text()
    assert Cell.from_text(text).hash == json.loads(text)["hash"]
    monkeypatch.setattr(eb, "__version__", "99.0")
    with pytest.raises(LabError, match=r"a different cell than planned: it has eigenbandits 99.0"):
        Cell.from_text(text)


def test_hashes_are_the_same_in_every_process(specs, tmp_path):
    script = (
        "from pathlib import Path\n"
        "from eigenbandits.lab.experiments.cells import Cell\n"
        "from eigenbandits.lab.experiments.data_files import DataFiles\n"
        "from eigenbandits.lab.experiments.specs import specs\n"
        "from eigenbandits.lab.experiments.recording import Record\n"
        f"spec = specs('it', {BASE!r}, 'policy', DataFiles(Path('x')), Path('.'))['it']\n"
        "print(Cell(spec, spec, 0, 10, Record()).hash)\n"
    )
    command = [sys.executable, "-c", script]
    found = subprocess.run(command, env=os.environ | {"PYTHONHASHSEED": "123"}, capture_output=True, text=True)
    assert found.stdout.strip() == cell_hash(specs(BASE)["it"])


@pytest.mark.parametrize(("now", "former"), RENAMED.items())
def test_a_renamed_class_is_found_by_both_names_and_keeps_its_hash(now, former):
    assert find_class(now, "policy") is find_class(former, "policy")
    assert Spec(now, {}).identity() == Spec(former, {}).identity()


def test_a_class_of_a_module_that_has_moved_is_found():
    former = find_class("eigenbandits.lab.robustness.players:ToldPSLB", "policy")
    assert former is find_class("eigenbandits.lab.studies.baselines:InformedPSLB", "policy")
