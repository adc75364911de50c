"""Arrays that a user passes as they are, or as a .npy file that is mapped from disk instead of copied."""

from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eigenbandits.inputs import as_action

Data = ArrayLike | str | PathLike[str]
"""An array, or the path of a .npy file that holds one."""


def open_array(data: Data, what: str) -> NDArray[Any]:
    """Return an array as it is, or the one in a .npy file, mapped from disk and read-only.

    Examples
    --------
    >>> open_array([1, 2], "labels")
    array([1, 2])
    """
    if not isinstance(data, str | PathLike):
        return np.asarray(data)
    path = Path(data)
    try:
        found = np.load(path, mmap_mode="r", allow_pickle=False)
    except FileNotFoundError:
        raise FileNotFoundError(f"{what}: there is no file {path}.") from None
    except (ValueError, EOFError, OSError) as error:
        raise ValueError(f"{what}: {path} is not a .npy file of numbers, or is cut short ({error}).") from error
    if not isinstance(found, np.ndarray):
        raise ValueError(f"{what}: {path} holds several arrays; expected a .npy file, which holds one.")
    return found


def open_indices(data: Data, what: str, count: int) -> NDArray[np.int64]:
    """Return `count` row numbers, at least 0 each."""
    found = open_array(data, what)
    if found.dtype.kind not in "iu" or found.shape != (count,):
        raise ValueError(
            f"{what} has shape {found.shape} and holds {found.dtype.name}; "
            f"expected ({count},) whole numbers, one row number each."
        )
    if count and int(found.min()) < 0:
        raise ValueError(f"{what} holds {int(found.min())}; expected row numbers, which start at 0.")
    return np.asarray(found, dtype=np.int64)


def open_numbers(data: Data, what: str, count: int) -> NDArray[np.float64]:
    """Return `count` finite numbers."""
    found = as_action(open_array(data, what), None, what=what)
    if len(found) != count:
        raise ValueError(f"{what} holds {len(found)} numbers; expected {count}.")
    return found


def decision_set(data: NDArray[Any]) -> NDArray[np.float64]:
    """Return one decision set as a read-only float64 array of its own."""
    actions = np.array(data, dtype=np.float64)
    actions.flags.writeable = False
    return actions


def in_blocks(vector: NDArray[Any], count: int) -> NDArray[np.float64]:
    """Return a read-only decision set (count, count·p) whose action k has a vector of length p in block k, else 0.

    Examples
    --------
    >>> in_blocks(np.array([2.0, 3.0]), 2)
    array([[2., 3., 0., 0.],
           [0., 0., 2., 3.]])
    """
    made = np.zeros((count, count, len(vector)))
    made[np.arange(count), np.arange(count)] = vector
    actions = made.reshape(count, -1)
    actions.flags.writeable = False
    return actions
