"""Constants get other values for a while, and the pacer's best is that of a linear program."""

import dataclasses
import importlib

import numpy as np
import pytest
from scipy.optimize import linprog

from eigenbandits.lab.errors import LabError
from eigenbandits.lab.studies import calibrate


@pytest.mark.parametrize("name", calibrate.CONSTANTS)
def test_a_constant_is_there_and_comes_back(name):
    constant = calibrate.CONSTANTS[name]
    before = getattr(importlib.import_module(constant.module), constant.name)
    assert constant.current in constant.values
    with constant.set_to(7.0):
        assert constant.current == 7.0
    after = getattr(importlib.import_module(constant.module), constant.name)
    assert after == before
    assert type(after) is type(before)


def test_the_table_has_a_column_for_each_value(monkeypatch):
    constant = calibrate.CONSTANTS["growth"]
    measured = dataclasses.replace(constant, measure=lambda seeds: {"twice": 2.0 * constant.current + len(seeds)})
    monkeypatch.setitem(calibrate.CONSTANTS, "growth", measured)
    lines = calibrate.table("growth", [0.5, 3.0], range(4)).splitlines()
    assert lines[0].split() == ["0.5", "(now)", "3"]
    assert lines[2].split() == ["twice", "5", "10"]


def test_an_unknown_constant_is_named():
    with pytest.raises(LabError, match="growht"):
        calibrate.table("growht", [], range(1))


def test_the_best_that_a_budget_buys_is_that_of_a_linear_program():
    rng = np.random.default_rng(0)
    values, costs = rng.random((12, 4)), rng.random((12, 4))
    chosen = np.kron(np.eye(12), np.ones(4))
    solved = linprog(
        -values.ravel(), A_ub=costs.reshape(1, -1), b_ub=[12 * 0.4], A_eq=chosen, b_eq=np.ones(12), bounds=(0.0, 1.0)
    )
    assert calibrate._best(values, costs, 0.4) == pytest.approx(-float(solved.fun or 0.0))


def test_a_pacer_spends_its_budget():
    found = calibrate.spending(range(1))
    assert found["spent, % of the budget"] == pytest.approx(100.0, abs=3.0)
    assert 95.0 < found["value, % of the best"] <= 100.5


def test_the_flagship_is_measured_with_the_value_that_was_set():
    """With a growth of 100 the prior is hardly ever fitted, which changes choices in every world."""
    usual = calibrate.regret(range(1))
    with calibrate.CONSTANTS["growth"].set_to(100.0):
        rare = calibrate.regret(range(1))
    assert set(usual) == set(rare)
    assert all(usual[world] != rare[world] for world in ("paper's model", "no subspace", "clicks, 2 %"))
