"""Frames and tensors of other libraries are read as arrays, and mean the same."""

import numpy as np
import pytest
from tests.checks.cases import Case

import eigenbandits as eb
from eigenbandits.testing.arrays import assert_means_the_same
from eigenbandits.testing.check import Make


def test_pandas_frames_mean_the_same(case):
    pandas = pytest.importorskip("pandas", reason="pandas is not installed: it comes with the extra 'dev'")
    names = [f"x{i}" for i in range(6)]
    conversions = [
        lambda actions: pandas.DataFrame(actions, columns=names),
        lambda actions: pandas.DataFrame(actions.astype(np.float32), columns=names),
        lambda actions: pandas.DataFrame({name: actions[:, i] for i, name in enumerate(names)}),
    ]
    assert_means_the_same(Make(case.make), conversions)


@pytest.mark.parametrize("kind", [eb.PSLB, eb.OFUL], ids=lambda kind: kind.__name__)
def test_torch_tensors_mean_the_same(kind):
    torch = pytest.importorskip("torch", reason="torch is not installed: it is no dependency, only welcome input")
    conversions = [
        lambda actions: torch.tensor(actions, dtype=torch.float64),
        lambda actions: torch.tensor(actions, dtype=torch.float32),
    ]
    assert_means_the_same(Make(Case(kind).make), conversions)
