"""Paths and bodies of requests, built from the arguments of calls; vectors are sent as little-endian float32."""

import base64
import secrets
from collections.abc import Mapping, Sequence
from typing import Any, TypedDict
from urllib.parse import quote

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eigenbandits.serve.client.plans import Body
from eigenbandits.serve.served_decision import ServedDecision

# The fields that an imported decision has in addition to those of a request to decide.
_LOGGED = ("index", "item", "reward", "propensity", "cost")

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


class Offer(TypedDict, total=False):
    """The fields of a request to decide besides `actions`; see `Calls.decide`."""

    query: ArrayLike | None
    items: Sequence[str] | None
    allowed: Sequence[int] | Sequence[str] | None
    exclude: Sequence[int] | Sequence[str] | None
    scores: ArrayLike | None
    costs: Sequence[float | None] | None
    request: str | None


def policy_path(name: str) -> str:
    """Return the path of a policy."""
    return f"/v1/policies/{quote(name, safe='')}"


def catalogue_path(name: str) -> str:
    """Return the path of a catalogue."""
    return f"/v1/catalogues/{quote(name, safe='')}"


def request_id(given: str | None) -> str:
    """Return the given request id, or a new one."""
    return given or secrets.token_hex(16)


def decision_id(decision: str | ServedDecision) -> str:
    """Return the id of a decision, given either."""
    id_ = decision.decision if isinstance(decision, ServedDecision) else decision
    if not isinstance(id_, str):
        raise ValueError(f"decision is {id_!r}; expected the result of decide(), or its id.")
    return id_


def names(given: Sequence[str], argument: str) -> list[str]:
    """Return ids or scopes as a list; a single one would be taken for its letters."""
    if isinstance(given, str):
        raise ValueError(f"{argument} is {given!r}; expected a list, such as [{given!r}].")
    return list(given)


def cost_field(cost: float | None) -> Body:
    """Return the cost field of a body, if there is a cost."""
    return {} if cost is None else {"cost": float(cost)}


def import_body(given: Mapping[str, Any]) -> Body:
    """Return the entry of an imported decision."""
    logged = {name: given[name] for name in _LOGGED if given.get(name) is not None}
    if "request" not in given:
        raise ValueError("a decision has no request id; expected one, so that the decision counts once.")
    offer = {name: value for name, value in given.items() if name not in logged and name != "actions"}
    plain = {name: value if isinstance(value, str) else np.asarray(value).item() for name, value in logged.items()}
    return decide_body(given.get("actions"), offer) | plain


def decide_body(actions: ArrayLike | None, offer: Mapping[str, Any]) -> Body:
    """Return the body of a request to decide, from the arguments of `decide`."""
    given = {name: value for name, value in offer.items() if value is not None}
    for name in given.keys() - Offer.__annotations__.keys():
        raise TypeError(f"there is no argument {name!r}; expected any of {', '.join(Offer.__annotations__)}.")
    body: Body = {"request": request_id(given.get("request"))}
    if actions is not None:
        if "query" in given or "items" in given:
            raise ValueError("both actions and query or items were given; pass one or the other.")
        body |= matrix_fields(actions, "actions")
    if "query" in given:
        body["query"] = in_base64(as_float32(given["query"], 1, "query"))
    if "items" in given:
        body["items"] = names(given["items"], "items")
    for name in ("allowed", "exclude"):
        if name in given:
            rows = given[name]
            body[name] = names(rows, name) if isinstance(rows, str) else np.asarray(rows).tolist()
    if "scores" in given:
        body["scores"] = np.asarray(given["scores"], dtype=np.float64).tolist()
    if "costs" in given:
        known = np.asarray(given["costs"], dtype=np.float64)
        body["costs"] = np.where(np.isnan(known), None, known).tolist()  # type: ignore[call-overload]
    return body
