"""Anything that NumPy can view as an array of numbers is accepted, and means the same."""

from collections.abc import Callable, Collection
from typing import Any

import numpy as np

from eigenbandits.inputs import Array
from eigenbandits.testing.check import Make, check
from eigenbandits.testing.play import assert_same, decision_sets, reward

Conversion = Callable[[Array], Any]


class ArrayLike:
    """What tensors are to NumPy: no array, but ready to become one."""

    def __init__(self, actions: Array) -> None:
        self.actions = actions

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        """Return the array."""
        return np.array(self.actions, dtype=dtype)


def column_of_lists(actions: Array) -> Any:
    """Return an array of objects, each of which is a list."""
    column = np.empty(len(actions), dtype=object)
    column[:] = actions.tolist()
    return column


def read_only(actions: Array) -> Array:
    """Return an array that must not be written to."""
    copy = actions.copy()
    copy.flags.writeable = False
    return copy


KINDS: dict[str, Conversion] = {
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
    "an array-like": ArrayLike,
}


def assert_means_the_same(make: Make, conversions: Collection[Conversion]) -> None:
    """Play two policies on the same numbers, one of which gets them in another form each time."""
    plain, other = make(), make()
    catalogue = next(decision_sets(seed=8, arms=30)).astype(np.float32).astype(np.float64)
    for convert in conversions:
        plain.observe(catalogue)
        other.observe(convert(catalogue))
    sets = decision_sets(count=2 * len(conversions))
    for actions, convert in zip(sets, 2 * list(conversions), strict=True):
        exact = actions.astype(np.float32).astype(np.float64)
        one, two = plain.choose(exact), other.choose(convert(exact))
        assert_same([one], [two])
        assert two.action.dtype == plain.dtype
        plain.learn(one, reward(one))
        other.learn(two, np.float64(reward(one)))
        if not plain.centering.by_set:
            plain.learn(one.action, 0.5)
            other.learn(one.action.tolist(), 0.5)


@check
def any_array_means_the_same(make: Make) -> None:
    """Lists, tuples, arrays of any layout and type, and what can become one, lead to the same choices."""
    assert_means_the_same(make, KINDS.values())


@check
def whole_numbers_and_truth_values_are_numbers(make: Make) -> None:
    """Actions and rewards may be whole numbers or truth values."""
    policy = make()
    policy.choose(np.arange(12).reshape(2, 6))
    decision = policy.choose(np.eye(6, dtype=bool))
    rewards: list[Any] = [True, 1, np.float32(0.5), np.array(0.5)]
    for reward_ in rewards:
        policy.learn(decision, reward_)
    assert policy.diagnostics().rewards_learned == 4
