"""Anything that NumPy can view as an array of numbers is taken, and means the same."""

import numpy as np
import pytest
from tests.checks.cases import Case
from tests.checks.play import assert_same, decision_sets, reward

import eigenbandits as eb


def column_of_lists(actions):
    column = np.empty(len(actions), dtype=object)
    column[:] = actions.tolist()
    return column


def read_only(actions):
    copy = actions.copy()
    copy.flags.writeable = False
    return copy


KINDS = {
    "float32": lambda actions: actions.astype(np.float32),
    "long double": lambda actions: actions.astype(np.longdouble),
    "lists": lambda actions: actions.tolist(),
    "tuples": lambda actions: tuple(map(tuple, actions.tolist())),
    "list of arrays": list,
    "Fortran order": np.asfortranarray,
    "every other row": lambda actions: np.repeat(actions, 2, axis=0)[::2],
    "backwards": lambda actions: actions[::-1, ::-1].copy()[::-1, ::-1],
    "big endian": lambda actions: actions.astype(">f8"),
    "read only": read_only,
    "objects": lambda actions: actions.astype(object),
    "a column of lists": column_of_lists,
}


def assert_means_the_same(case, conversions):
    """Play two policies on the same numbers, one of which gets them in another form each time."""
    plain, other = case.make(seed=3), case.make(seed=3)
    catalogue = next(decision_sets(seed=8, arms=30)).astype(np.float32).astype(np.float64)
    for convert in conversions:
        plain.observe(catalogue)
        other.observe(convert(catalogue))
    sets = decision_sets(count=2 * len(conversions))
    for actions, convert in zip(sets, 2 * list(conversions), strict=True):
        exact = actions.astype(np.float32).astype(np.float64)
        one, two = plain.choose(exact), other.choose(convert(exact))
        assert_same([one], [two])
        assert two.action.dtype == (np.float32 if case.single else np.float64)
        plain.learn(one, reward(one))
        other.learn(two, np.float64(reward(one)))
        if not case.by_set:
            plain.learn(one.action, 0.5)
            other.learn(one.action.tolist(), 0.5)


def test_any_array_means_the_same(case):
    assert_means_the_same(case, KINDS.values())


def test_pandas_frames_mean_the_same(case):
    pandas = pytest.importorskip("pandas", reason="pandas is not installed: it comes with the extra 'dev'")
    names = [f"x{i}" for i in range(6)]
    conversions = [
        lambda actions: pandas.DataFrame(actions, columns=names),
        lambda actions: pandas.DataFrame(actions.astype(np.float32), columns=names),
        lambda actions: pandas.DataFrame({name: actions[:, i] for i, name in enumerate(names)}),
    ]
    assert_means_the_same(case, conversions)


@pytest.mark.parametrize("kind", [eb.PSLB, eb.OFUL], ids=lambda kind: kind.__name__)
def test_torch_tensors_mean_the_same(kind):
    torch = pytest.importorskip("torch", reason="torch is not installed: it is no dependency, only welcome input")
    conversions = [
        lambda actions: torch.tensor(actions, dtype=torch.float64),
        lambda actions: torch.tensor(actions, dtype=torch.float32),
    ]
    assert_means_the_same(Case(kind), conversions)


class ArrayLike:
    """What torch tensors are to NumPy: no array, but ready to become one."""

    def __init__(self, actions):
        self.actions = actions

    def __array__(self, dtype=None, copy=None):
        return np.array(self.actions, dtype=dtype)


def test_anything_that_can_become_an_array_means_the_same(case):
    assert_means_the_same(case, [ArrayLike])


def test_whole_numbers_and_truth_values_are_numbers(case):
    policy = case.make(seed=3)
    policy.choose(np.arange(12).reshape(2, 6))
    decision = policy.choose(np.eye(6, dtype=bool))
    policy.learn(decision, True)
    policy.learn(decision, 1)
    policy.learn(decision, np.float32(0.5))
    policy.learn(decision, np.array(0.5))
    assert policy.diagnostics().rewards_learned == 4
