"""Policies and environments as settings: what is refused and how, what is the same, and what is not."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass

import numpy as np
import pytest

import eigenbandits as eb
from eigenbandits.environments import Classification, Log, LowRank, Replay
from eigenbandits.lab.cells import Cell
from eigenbandits.lab.datasets import Datasets
from eigenbandits.lab.recipes import environment_recipes, policy_recipes
from eigenbandits.lab.recording import Record
from eigenbandits.lab.words import LabError


@dataclass(frozen=True)
class Coins:
    """A user's own environment."""

    sides: int = 2
    name: str = "coins"

    def instance(self, seed):
        return LowRank(dim=2, rank=1, arms=self.sides).instance(seed)


@pytest.fixture
def recipes(tmp_path):
    def make(given, what="policy", label="it"):
        find = policy_recipes if what == "policy" else environment_recipes
        return find(label, given, Datasets(tmp_path / "data"), tmp_path)

    return make


def cell_hash(policy, environment=None, seed=0, rounds=10, record=None):
    return Cell(policy, environment or policy, seed, rounds, record or Record()).hash


def test_a_table_and_an_object_are_the_same_thing(recipes):
    table = recipes({"kind": "PSLB", "noise": 0.5, "rank": 4})["it"]
    made = recipes(eb.PSLB(noise=0.5, rank=4))["it"]
    assert table.identity() == made.identity()
    assert table.params["delta"] == 0.01  # defaults are part of it, written down or not


def test_the_label_names_the_kind_unless_the_table_does(recipes):
    assert recipes({"noise": 0.5}, label="OFUL")["OFUL"].kind == "OFUL"


def test_each_makes_every_combination(recipes):
    found = recipes({"kind": "PSLB", "noise": 0.5, "each": {"rank": [1, 4], "delta": [0.1, 0.2]}}, label="PSLB")
    assert list(found) == [
        "PSLB, rank=1, delta=0.1",
        "PSLB, rank=1, delta=0.2",
        "PSLB, rank=4, delta=0.1",
        "PSLB, rank=4, delta=0.2",
    ]
    assert [(r.params["rank"], r.params["delta"]) for r in found.values()] == [(1, 0.1), (1, 0.2), (4, 0.1), (4, 0.2)]


def test_what_the_environment_knows_is_filled_in_for_each_cell(recipes):
    recipe = recipes({"kind": "PSLB", "noise": "$noise", "rank": "$rank", "structure": "$structure"})["it"]
    environment = LowRank(dim=9, rank=3, arms=4, noise=0.25)
    policy = recipe.make_policy(7, environment, environment.instance(7))
    assert (policy.noise, policy.rank, policy.seed) == (0.25, 3, 7)
    assert policy.structure == environment.instance(7).structure
    with pytest.raises(LabError, match=r"has no 'colour' to give to a policy that asks for '\$colour'"):
        recipes({"kind": "PSLB", "noise": "$colour"})["it"].make_policy(0, environment, environment.instance(0))


def test_a_composed_policy_travels_with_its_parts(recipes):
    composed = eb.Policy(eb.subspace.PCA(rank=2), eb.belief.Projected(noise=0.3), eb.rules.Thompson(0.3))
    recipe = recipes(composed)["it"]
    again = type(recipe)(**json.loads(json.dumps(recipe.as_json())))
    assert repr(again.make_policy(3, None, None)) == repr(recipe.make_policy(3, None, None))
    assert again.make_policy(3, None, None).seed == 3


def test_structures_may_be_written_as_tables(recipes):
    known = {"lambda_plus": 2.0, "lambda_minus": 1.0, "sigma2": 0.1, "d_x": 3.0, "d_psi": 9.0}
    recipe = recipes({"kind": "PSLB", "noise": 0.5, "projection_error": "theorem", "structure": known})["it"]
    assert recipe.make_policy(0, None, None).structure == eb.Structure(**known)


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
        ({"kind": "math:pi"}, "policy", "is no class"),
        (42, "policy", "policies.it is 42; expected"),
        ({"kind": "Classification", "features": "x.npy", "labels": [0]}, "environment", "there is no data file"),
        ({"kind": "LowRank", "dim": {1, 2}, "rank": 1, "arms": 1}, "environment", "a parameter of type set cannot"),
    ],
)
def test_refusals_are_one_sentence(recipes, given, what, message):
    with pytest.raises(LabError) as refused:
        recipes(given, what)
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_seeded_policy_is_refused(recipes):
    with pytest.raises(LabError, match="every cell is seeded by the experiment"):
        recipes(eb.PSLB(noise=0.5, seed=3))


def test_a_class_inside_a_function_is_refused(recipes):
    class Hidden(eb.Greedy):
        pass

    with pytest.raises(LabError, match="class Hidden is defined inside a function"):
        recipes(Hidden())


def test_a_class_of_the_user_is_known_by_its_module_and_source(recipes, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    source = tmp_path / "mine_for_recipes.py"
    source.write_text("import eigenbandits as eb\nclass Mine(eb.Greedy):\n    pass\n")
    first = recipes({"kind": "mine_for_recipes:Mine"})["it"]
    assert type(first.make_policy(5, None, None)).__name__ == "Mine"
    assert first.make_policy(5, None, None).seed == 5
    source.write_text(source.read_text() + "# changed\n")
    import linecache

    linecache.clearcache()
    assert cell_hash(recipes({"kind": "mine_for_recipes:Mine"})["it"]) != cell_hash(first)


def test_data_is_known_by_its_content_wherever_it_lies(recipes, tmp_path):
    features, labels = np.arange(12.0).reshape(2, 3, 2), np.array([0, 1])
    for place in ("one", "two"):
        (tmp_path / place).mkdir()
        np.save(tmp_path / place / "features.npy", features)
        np.save(tmp_path / place / "labels.npy", labels)

    def recipe(place):
        table = {"kind": "Classification", "features": f"{place}/features.npy", "labels": f"{place}/labels.npy"}
        return recipes(table, "environment")["it"]

    first = recipe("one")
    assert cell_hash(first) == cell_hash(recipe("two"))
    np.testing.assert_array_equal(first.make().opened, features)
    assert isinstance(first.make().opened, np.memmap)
    np.save(tmp_path / "two" / "features.npy", features + 1.0)
    assert cell_hash(first) != cell_hash(recipe("two"))


def test_data_that_changed_since_the_plan_is_refused(recipes, tmp_path):
    np.save(tmp_path / "features.npy", np.ones((2, 3, 2)))
    recipe = recipes({"kind": "Classification", "features": "features.npy", "labels": [0, 1]}, "environment")["it"]
    np.save(tmp_path / "features.npy", np.ones((3, 3, 2)))
    with pytest.raises(LabError, match="not the one that the experiment was planned with"):
        recipe.make()


def test_arrays_from_memory_become_files_that_are_mapped(recipes):
    features = np.random.default_rng(0).standard_normal((5, 3, 2))
    recipe = recipes(Classification(features, [0, 1, 2, 0, 1]), "environment")["it"]
    made = recipe.make()
    assert isinstance(made.opened.base, np.memmap)
    np.testing.assert_array_equal(made.opened, features)
    assert made.rows.tolist() == [0, 1, 2, 0, 1]


def test_logs_travel_too(recipes):
    log = Log(np.ones((100, 2, 3)), np.arange(100) % 2, [float(i) for i in range(100)])
    made = recipes(Replay(log, shuffle=False), "environment")["it"].make()
    assert made.events.earned.tolist() == [float(i) for i in range(100)]


def test_an_environment_of_the_user_may_be_a_dataclass(recipes):
    recipe = recipes(Coins(sides=3), "environment")["it"]
    assert recipe.kind.endswith(":Coins")
    assert recipe.make() == Coins(sides=3)


BASE = {"kind": "PSLB", "noise": 0.5}


@pytest.mark.parametrize("change", [{"noise": 0.6}, {"rank": 2}, {"delta": 0.05}, {"kind": "OFUL"}, {"center": "set"}])
def test_a_changed_setting_makes_a_new_cell(recipes, change):
    assert cell_hash(recipes(BASE | change)["it"]) != cell_hash(recipes(BASE)["it"])


def test_seed_rounds_and_recording_make_new_cells_and_labels_do_not(recipes):
    policy = recipes(BASE)["it"]
    other = recipes(BASE, label="another name")["another name"]
    hashes = {
        cell_hash(policy),
        cell_hash(other),
        cell_hash(policy, seed=1),
        cell_hash(policy, rounds=11),
        cell_hash(policy, record=Record(points=5)),
    }
    assert len(hashes) == 4


def test_another_version_of_the_library_makes_new_cells(recipes, monkeypatch):
    policy = recipes(BASE)["it"]
    before = cell_hash(policy)
    monkeypatch.setattr(eb, "__version__", "99.0")
    assert cell_hash(policy) != before


def test_a_worker_with_another_version_refuses_the_cell(recipes, monkeypatch):
    policy, environment = recipes(BASE)["it"], recipes(LowRank(dim=4, rank=1, arms=2), "environment")["it"]
    text = Cell(policy, environment, 0, 10, Record()).as_text()
    assert Cell.from_text(text).hash == json.loads(text)["hash"]
    monkeypatch.setattr(eb, "__version__", "99.0")
    with pytest.raises(LabError, match=r"another cell than was planned: it has eigenbandits 99.0"):
        Cell.from_text(text)


def test_hashes_are_the_same_in_every_process(recipes, tmp_path):
    script = (
        "from pathlib import Path\n"
        "from eigenbandits.lab.cells import Cell\n"
        "from eigenbandits.lab.datasets import Datasets\n"
        "from eigenbandits.lab.recipes import policy_recipes\n"
        "from eigenbandits.lab.recording import Record\n"
        f"recipe = policy_recipes('it', {BASE!r}, Datasets(Path('x')), Path('.'))['it']\n"
        "print(Cell(recipe, recipe, 0, 10, Record()).hash)\n"
    )
    command = [sys.executable, "-c", script]
    found = subprocess.run(command, env=os.environ | {"PYTHONHASHSEED": "123"}, capture_output=True, text=True)
    assert found.stdout.strip() == cell_hash(recipes(BASE)["it"])
