"""Vectors as sent by callers: lists of numbers, base64 of float32, or a raw float32 body."""

import base64
import binascii
import re
import struct
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eigenbandits.serve.errors import Refusal, invalid
from eigenbandits.serve.settings import Settings

# As it arrived: in one piece, or put together.
Body = bytes | bytearray
SLUG = r"[a-z0-9][a-z0-9_-]{0,63}"
# Sums of squares of larger numbers over many rounds would overflow.
LARGEST = 1e12
# The limit for a query and an item, which are multiplied.
LARGEST_FACTOR = 1e6
# Bytes from which searching a body takes longer than looking at some of its letters, and how many are looked at.
_LONG, _LETTERS = 16 * 2**10, 20


def matrix(
    value: Any,
    dim: int | None,
    settings: Settings,
    field: str,
    most: int | None = None,
    largest: float = LARGEST,
) -> NDArray[Any]:
    """Return vectors (n, d): float32 if they were sent as base64, float64 if they were sent as lists.

    Parameters
    ----------
    value
        Lists of numbers or base64.
    dim
        The length that the vectors must have, if known; required for base64.
    field
        The name of the field in the request.
    most
        The maximum number of vectors; None uses the limit for decision sets.
    largest
        The largest absolute value of a number.
    """
    if isinstance(value, str):
        return raw(_unbase64(value, field), dim, settings, field, most, largest)
    if isinstance(value, np.ndarray) and value.ndim == 1:
        # Base64 of a large upload, already decoded.
        return raw(value.view(np.uint8).data, dim, settings, field, most, largest)
    if not isinstance(value, list | np.ndarray) or not len(value):
        raise invalid(f"{field} is empty or not a list; expected at least one vector.", field)
    most = settings.max_actions if most is None else most
    if len(value) > most:
        raise _too_many(len(value), most, field)
    array = value if isinstance(value, np.ndarray) else _rows(value, field)
    if array.ndim != 2:
        raise invalid(f"{field} is not a list of vectors of equal length; expected a list of lists of numbers.", field)
    return checked(array, dim, settings, field, largest)


def raw(
    body: Body | memoryview,
    dim: int | None,
    settings: Settings,
    field: str = "actions",
    most: int | None = None,
    largest: float = LARGEST,
) -> NDArray[Any]:
    """Return vectors (n, d) from raw little-endian float32, row by row."""
    if dim is None:
        message = f"The length of the vectors is not known yet; send it as dim together with {field}."
        raise invalid(message, "dim", "wrong_dimension")
    if not body or len(body) % (4 * dim):
        message = f"{field} has {len(body)} bytes; expected a multiple of 4 x {dim}, float32 vectors of length {dim}."
        raise invalid(message, field, "wrong_dimension")
    most = settings.max_actions if most is None else most
    if len(body) // (4 * dim) > most:
        raise _too_many(len(body) // (4 * dim), most, field)
    return checked(np.frombuffer(body, dtype="<f4").reshape(-1, dim), dim, settings, field, largest)


def vector(value: Any, dim: int, settings: Settings, field: str) -> NDArray[np.float32]:
    """Return one vector (d,) as float32: a query, or the mean of a catalogue."""
    if isinstance(value, str):
        array: NDArray[Any] = np.frombuffer(_whole_floats(_unbase64(value, field), field), dtype="<f4")
    else:
        array = _numbers(value, field)
    if array.ndim != 1:
        raise invalid(f"{field} is not a vector; expected a list of {dim} numbers, or base64 of float32.", field)
    return np.asarray(checked(array[None], dim, settings, field, LARGEST_FACTOR)[0], dtype=np.float32)


def checked(array: NDArray[Any], dim: int | None, settings: Settings, field: str, largest: float) -> NDArray[Any]:
    """Return vectors (n, d), or refuse a wrong length or numbers that are not finite."""
    width = array.shape[1]
    if dim is not None and width != dim:
        message = f"{field} has vectors of length {width}; expected vectors of length {dim}."
        raise invalid(message, field, "wrong_dimension")
    if width == 0:
        raise invalid(f"{field} has empty vectors; expected at least one number in each.", field, "wrong_dimension")
    if width > settings.max_dim:
        message = f"{field} has vectors of length {width}; this service takes at most {settings.max_dim}."
        raise invalid(message, field, "too_many_dimensions")
    # The comparison is false for NaN as well.
    if not (array.max() <= largest and array.min() >= -largest):
        message = f"{field} contains a number that is not finite or exceeds {largest:g}; expected smaller numbers."
        raise invalid(message, field, "not_finite")
    return array


def number(value: Any, field: str) -> float:
    """Return one finite number."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= LARGEST:
        raise invalid(f"{field} is not a finite number of at most {LARGEST:g} in size.", field)
    return float(value)


def name(value: Any, field: str, longest: int = 200) -> str:
    """Return an id chosen by a caller, after checking it."""
    if not isinstance(value, str) or not 1 <= len(value) <= longest or not value.isprintable():
        raise invalid(f"{field} is not a valid id; expected 1 to {longest} printable characters.", field)
    return value


def slug(value: str, field: str) -> str:
    """Return the name of a policy or catalogue, after checking it."""
    if not re.fullmatch(SLUG, value):
        raise invalid(f"{field} is not a valid name; expected 1 to 64 lowercase letters, digits, - and _.", field)
    return value


def refuse_truth_values(body: Body, content: Any) -> None:
    """Refuse `true` and `false`, which no field but `correct` takes; NumPy would read them as 1 and 0.

    Searching the text for these words costs almost nothing, and nearly always finds none.
    """
    if (_says(body, content, b"true") or _says(body, content, b"false")) and _holds_truth_value(content):
        raise invalid("The body has true or false where a number or a string is expected.")


def _says(body: Body, content: Any, word: bytes) -> bool:
    """Return whether a word may be in the text of a body."""
    if len(body) < _LONG:
        return word in body
    if type(content) is dict and list not in map(type, content.values()):
        # Vectors in base64: what little there is besides is looked at faster than the text.
        return True
    # Lists of numbers have almost no letters, and a letter is found fifty times as fast as a word.
    at = -1
    for _ in range(_LETTERS):
        at = body.find(word[:1], at + 1)
        if at < 0 or body.startswith(word, at):
            return at >= 0
    return body.find(word, at) >= 0


def _holds_truth_value(content: Any) -> bool:
    if isinstance(content, dict):
        content = [value for name, value in content.items() if name != "correct"]
    return isinstance(content, bool) or (isinstance(content, list) and any(map(_holds_truth_value, content)))


def _rows(value: list[Any], field: str) -> NDArray[Any]:
    """Return lists of numbers as an array, in a third of the time that `_numbers` takes; all else is left to it."""
    try:
        row = struct.Struct(f"<{len(value[0])}d")
        # It takes nothing but numbers, as many as are expected.
        return np.frombuffer(b"".join([row.pack(*one) for one in value]), dtype="<f8").reshape(len(value), -1)
    except (struct.error, TypeError, ValueError, OverflowError):
        return _numbers(value, field)


def _numbers(value: Any, field: str) -> NDArray[Any]:
    try:
        array = np.array(value)
    except (ValueError, TypeError, OverflowError) as error:
        raise invalid(f"{field} is neither a list of numbers nor a list of vectors of equal length.", field) from error
    if array.dtype.kind not in "iuf":
        raise invalid(f"{field} contains something that is not a number; expected only numbers.", field)
    return array.astype(np.float64, copy=False)


def _unbase64(text: str, field: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise invalid(
            f"{field} is a string that is not base64; expected base64 of float32, or lists.", field
        ) from error


def _whole_floats(body: bytes, field: str) -> bytes:
    if not body or len(body) % 4:
        raise invalid(f"{field} has {len(body)} bytes; expected a multiple of 4, the bytes of a float32.", field)
    return body


def _too_many(count: int, most: int, field: str) -> Refusal:
    return invalid(f"{field} has {count} vectors; this service takes at most {most}.", field, "too_many_actions")
