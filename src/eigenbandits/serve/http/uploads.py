"""Large uploads, parsed piece by piece, so that other threads run in between and requests are not held up.

A JSON parser holds the interpreter lock from the first byte of a body to the last. So a large body is cut at the
boundaries of rows and strings, and only a few hundred kilobytes are passed to the parser at a time.
"""

import binascii
import re
from typing import Any, TypeVar

import numpy as np
import orjson
from numpy.typing import NDArray
from pydantic import BaseModel

from eigenbandits.serve.errors import Refusal, invalid
from eigenbandits.serve.http.validation import validated
from eigenbandits.serve.http.vectors import Body, refuse_truth_values

M = TypeVar("M", bound=BaseModel)
# Bodies up to this many bytes are parsed at once, larger ones in pieces of about this size.
SMALL = 256 * 2**10
_SPACE = re.compile(rb"[ \t\r\n]*")
_STRING = re.compile(rb'"(?:[^"\\]|\\.)*"')
# The end of a list of lists of numbers.
_END = re.compile(rb"\][ \t\r\n]*\]")
_SCALAR = re.compile(rb"[^,}\]\s]+")


def read(model: type[M], body: Body) -> M:
    """Return the model of a body; for a large one, lists of vectors and base64 have become float32 arrays."""
    if len(body) <= SMALL:
        return validated(model.model_validate_json, body)
    try:
        fields = _Reader(body).read()
    except (orjson.JSONDecodeError, _NotJson) as error:
        raise Refusal(400, "invalid_json", f"The body is not JSON: {error}.") from error
    arrays = {name: value for name, value in fields.items() if isinstance(value, np.ndarray)}
    # The model checks everything else; for fields that are already arrays it gets a placeholder.
    parsed = validated(model.model_validate, fields | dict.fromkeys(arrays, ""))
    return parsed.model_copy(update=arrays)


class _NotJson(Exception):  # noqa: N818 - never leaves this module
    """The body is truncated or has a syntax error."""


class _Reader:
    """Reads a JSON object whose values are scalars, strings, lists of these, or lists of lists of numbers."""

    def __init__(self, body: Body) -> None:
        self._body = body
        self._at = 0

    def read(self) -> dict[str, Any]:
        """Return the object."""
        fields: dict[str, Any] = {}
        self._expect(b"{")
        while True:
            name = orjson.loads(self._match(_STRING))
            self._expect(b":")
            fields[name] = self._value(name)
            if self._either(b",", b"}") == b"}":
                break
        if self._peek() != b"":
            raise _NotJson(f"there is extra data after its end, at byte {self._at}")
        return fields

    def _value(self, name: str) -> Any:
        first = self._peek()
        if first == b'"':
            return self._string(name)
        if first == b"{":
            raise invalid(f"{name} is an object; expected a list, a string or a number.", name)
        if first != b"[":
            return orjson.loads(self._match(_SCALAR))
        start = self._at
        self._at += 1
        inner = self._peek()
        if inner == b"[":
            return self._rows(name)
        if inner == b'"':
            return self._strings()
        end = self._find(b"]", start) + 1
        self._at = end
        values = orjson.loads(self._body[start:end])
        refuse_truth_values(self._body[start:end], values)
        return values

    def _rows(self, name: str) -> NDArray[np.float32]:
        """Return the rows of a list of lists of numbers, parsed a few hundred kilobytes at a time."""
        parts: list[NDArray[Any]] = []
        while True:
            start = self._at
            closing = _END.search(self._body, start, start + SMALL)
            if closing is not None:
                end = closing.start() + 1
            else:
                end = max(self._body.rfind(b"]", start, start + SMALL), self._find(b"]", start)) + 1
            self._at = end
            text = b"[" + self._body[start:end] + b"]"
            last = self._either(b",", b"]") == b"]"
            parts.append(_array(text, name))
            if parts[-1].shape[1] != parts[0].shape[1]:
                raise _unequal(name)
            if last:
                return np.concatenate(parts)
            self._peek()

    def _strings(self) -> list[str]:
        """Return the strings of a list, parsed a thousand at a time."""
        strings: list[str] = []
        last = False
        while not last:
            self._peek()
            start, end = self._at, self._at
            for _ in range(1000):
                self._match(_STRING)
                end = self._at
                last = self._either(b",", b"]") == b"]"
                if last:
                    break
            strings += orjson.loads(b"[" + self._body[start:end] + b"]")
        return strings

    def _string(self, name: str) -> Any:
        start = self._at + 1
        end = self._find(b'"', start)
        if end - start <= SMALL or b"\\" in self._body[start : start + 100]:
            return orjson.loads(self._match(_STRING))
        self._at = end + 1
        parts = []
        try:
            for at in range(start, end, SMALL):
                parts.append(binascii.a2b_base64(self._body[at : min(at + SMALL, end)], strict_mode=True))
        except binascii.Error as error:
            raise invalid(f"{name} is a string that is not base64; expected base64 of float32.", name) from error
        content = b"".join(parts)
        if len(content) % 4:
            raise invalid(f"{name} has {len(content)} bytes; expected a multiple of 4, the bytes of a float32.", name)
        return np.frombuffer(content, dtype="<f4")

    # Tokens

    def _peek(self) -> Body:
        space = _SPACE.match(self._body, self._at)
        assert space is not None
        self._at = space.end()
        return self._body[self._at : self._at + 1]

    def _expect(self, token: bytes) -> None:
        self._either(token, token)

    def _either(self, one: bytes, other: bytes) -> Body:
        token = self._peek()
        if token not in (one, other) or not token:
            raise _NotJson(f"there is a syntax error at byte {self._at}")
        self._at += 1
        return token

    def _match(self, pattern: re.Pattern[bytes]) -> Body:
        self._peek()
        match = pattern.match(self._body, self._at)
        if match is None:
            raise _NotJson(f"there is a syntax error at byte {self._at}")
        self._at = match.end()
        return match.group()

    def _find(self, token: bytes, start: int) -> int:
        end = self._body.find(token, start)
        if end < 0:
            raise _NotJson(f"it is truncated after byte {start}")
        return end


def _array(text: Body, name: str) -> NDArray[np.float32]:
    rows = orjson.loads(text)
    refuse_truth_values(text, rows)
    try:
        array = np.array(rows)
    except (ValueError, OverflowError) as error:
        raise _unequal(name) from error
    if array.ndim != 2 or array.dtype.kind not in "iuf":
        raise _unequal(name)
    # Numbers beyond the range of float32 become infinite, and are refused later.
    with np.errstate(over="ignore"):
        return array.astype(np.float32)


def _unequal(name: str) -> Refusal:
    return invalid(f"{name} is not a list of vectors of equal length; expected a list of lists of numbers.", name)
