"""Vectors in the form in which they are sent: little-endian float32, raw or in base64."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float32]


def as_float32(values: ArrayLike, ndim: int, name: str) -> Floats:
    """Return a vector (`ndim` 1) or a matrix (2) in the form in which it is sent; the service checks the numbers.

    Examples
    --------
    >>> as_float32([[1, 2], [3, 4]], 2, "actions").dtype.str
    '<f4'
    >>> as_float32([1, 2], 2, "actions")
    Traceback (most recent call last):
        ...
    ValueError: actions has shape (2,); expected a matrix with one vector per row.
    """
    try:
        array = np.asarray(values, dtype="<f4")
    except (ValueError, TypeError, OverflowError) as error:
        raise ValueError(f"{name} cannot be read as an array of numbers; expected numbers of equal length.") from error
    if array.ndim != ndim or array.size == 0:
        expected = "a vector of numbers" if ndim == 1 else "a matrix with one vector per row"
        raise ValueError(f"{name} has shape {array.shape}; expected {expected}.")
    return np.ascontiguousarray(array)


def in_base64(array: Floats) -> str:
    """Return an array's numbers in base64, for JSON.

    Examples
    --------
    >>> in_base64(as_float32([1.0], 1, "query"))
    'AACAPw=='
    """
    return in_text(array.tobytes())


def in_text(content: bytes) -> str:
    """Return bytes in base64."""
    return base64.b64encode(content).decode("ascii")


def matrix_fields(values: ArrayLike, name: str) -> dict[str, Any]:
    """Return the fields of a JSON body for a matrix with this name, including its number of columns."""
    array = as_float32(values, 2, name)
    return {name: in_base64(array), "dim": array.shape[1]}
