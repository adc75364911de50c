"""Vectors of many forms, read as NumPy arrays: columns of lists, nullable types, tensors of half precision."""

from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Numbers that NumPy does not know by itself: torch's, and those of ml_dtypes, which JAX uses. float32 holds them all.
_NARROW = ("bfloat16", "float8")


def to_array(value: Any, what: str) -> NDArray[Any]:
    """Return the array that NumPy sees in a value; objects in it are read as numbers, or refused with their position.

    No library is imported for this: a column of lists of pandas, polars or Arrow comes as an array of arrays, and one
    of a nullable type as an array of objects.

    Examples
    --------
    >>> column = np.array([None, None])
    >>> column[:] = [[1.0, 2.0], [3.0, 4.0]]
    >>> to_array(column, "actions").tolist()
    [[1.0, 2.0], [3.0, 4.0]]
    """
    if type(value) is np.ndarray and value.dtype.isnative and value.dtype.char in "fd":
        return value
    if is_masked(value):
        raise ValueError(
            f"{what} has masked entries; expected numbers only. Leave out their rows, or fill them with filled()."
        )
    try:
        array = _as_array(value)
    except Exception as error:
        reason = str(error).strip().splitlines()[0].rstrip(".") if str(error).strip() else type(error).__name__
        raise ValueError(f"{what} cannot be read as an array of numbers: {reason}.") from error
    if array.dtype == object:
        return _numbers(_column(array, value, what), what)
    return array.astype(np.float32) if array.dtype.name.startswith(_NARROW) else array


def is_masked(value: Any) -> bool:
    """Return whether a masked array, or a row of a list, hides entries, which NumPy would ignore."""
    if isinstance(value, np.ma.MaskedArray):
        return bool(np.ma.is_masked(value))
    return isinstance(value, list | tuple) and any(
        isinstance(row, np.ma.MaskedArray) and np.ma.is_masked(row) for row in value
    )


def _as_array(value: Any) -> NDArray[Any]:
    try:
        return np.asarray(value)
    except TypeError:
        rows = value if isinstance(value, list | tuple) else [value]
        if not any(_is_narrow(row) for row in rows):
            raise
        wider = [row.float() if _is_narrow(row) else row for row in rows]
        return np.asarray(wider if rows is value else wider[0])


def _is_narrow(value: Any) -> bool:
    return str(getattr(value, "dtype", "")).removeprefix("torch.").startswith(_NARROW) and hasattr(value, "float")


def _column(array: NDArray[Any], value: Any, what: str) -> NDArray[Any]:
    """Return a column of vectors as the matrix that has them as its rows, and any other array unchanged."""
    if array.ndim == 0:
        hint = f"; use {what}.toarray()" if hasattr(value, "toarray") else ""
        raise ValueError(f"{what} holds a {type(value).__name__}; expected real numbers in rows of equal length{hint}.")
    flat = array[:, 0] if array.ndim == 2 and array.shape[1] == 1 else array
    if flat.ndim != 1 or not any(_is_vector(each) for each in flat):
        return array
    rows: list[NDArray[Any]] = []
    for place, each in enumerate(flat):
        row = _as_array(each) if _is_vector(each) else np.zeros(())
        if row.ndim != 1:
            raise ValueError(f"{what} holds {each!r} in row {place}; expected a vector in each row.")
        if len(row) != len(rows[0] if rows else row):
            raise ValueError(
                f"{what} holds {len(rows[0])} numbers in row 0 and {len(row)} in row {place}; "
                "expected rows of equal length."
            )
        rows.append(row)
    return np.stack(rows)


def _is_vector(value: Any) -> bool:
    return hasattr(value, "__len__") and not isinstance(value, str | bytes)


def _numbers(array: NDArray[Any], what: str) -> NDArray[Any]:
    """Return an array of objects as numbers, or as truth values where all of them are."""
    if array.dtype != object:
        return array
    for place, each in np.ndenumerate(array):
        if not isinstance(each, Real | Decimal | np.bool_):
            shown = repr(each) if len(repr(each)) < 40 else f"a {type(each).__name__}"
            raise ValueError(f"{what} holds {shown} at {place}; expected real numbers, with none missing.")
    if array.size and all(isinstance(each, bool | np.bool_) for each in array.flat):
        return array.astype(bool)
    try:
        return array.astype(np.float64)
    except OverflowError as error:
        raise ValueError(f"{what} cannot be read as an array of numbers: {error}.") from error
