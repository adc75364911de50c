"""Validation errors of requests, expressed in the service's own sentences."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from eigenbandits.serve.errors import Refusal

M = TypeVar("M", bound=BaseModel)

# By the validator's error type; limits are filled in by name.
EXPECTED: Mapping[str, str] = {
    "missing": "expected a value",
    "string_type": "expected a string",
    "string_pattern_mismatch": "expected 1 to 64 lowercase letters, digits, - and _, the first a letter or a digit",
    "string_too_short": "expected a string that is not empty",
    "string_too_long": "expected at most {max_length} characters",
    "greater_than": "expected a number above {gt:g}",
    "greater_than_equal": "expected a number of at least {ge:g}",
    "less_than": "expected a number below {lt:g}",
    "less_than_equal": "expected a number of at most {le:g}",
    "finite_number": "expected a finite number",
    "float_type": "expected a number",
    "float_parsing": "expected a number",
    "int_type": "expected a whole number",
    "int_parsing": "expected a whole number",
    "int_from_float": "expected a whole number",
    "bool_type": "expected true or false",
    "bool_parsing": "expected true or false",
    "list_type": "expected a list",
    "dict_type": "expected an object",
    "model_type": "expected an object",
    "model_attributes_type": "expected an object",
    "too_short": "expected a list of length {min_length} or more",
    "too_long": "expected a list of length {max_length} or less",
    "literal_error": "expected {expected}",
}


def validated(validate: Callable[[Any], M], content: Any) -> M:
    """Return the model of a request, or refuse the request in one sentence that names the field."""
    try:
        return validate(content)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
    kind, limits = first["type"], first.get("ctx", {})
    if kind == "json_invalid":
        raise Refusal(400, "invalid_json", f"The body is not JSON: {limits.get('error', 'it cannot be read')}.")
    place = ".".join(str(part) for part in first["loc"])
    name = place or "The body"
    if kind == "extra_forbidden":
        message = f"{name} is not a field of this request; check the spelling or leave it out."
    elif kind == "missing":
        message = f"{name} is missing; {EXPECTED[kind]}."
    else:
        expected = EXPECTED.get(kind, "expected a value as described in the OpenAPI document").format(**limits)
        message = f"{name} is {_shown(first.get('input'))}; {expected}."
    raise Refusal(400, "invalid_request", message, place[:200] or None)


def _shown(value: Any) -> str:
    """Return the value that was sent on one short line; large values are abbreviated."""
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return f"a list of length {len(value)}"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    text = repr(value[:61] if isinstance(value, str) else value)
    return text if len(text) <= 60 else f"{text[:57]}..."
