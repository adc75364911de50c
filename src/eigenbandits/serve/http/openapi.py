"""The OpenAPI document, made from the table of routes."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Sequence
from http import HTTPStatus
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

import eigenbandits
from eigenbandits.serve.http import models
from eigenbandits.serve.http.endpoint import BINARY, JSON, TEXT, Endpoint

_ERRORS = {
    400: "Something in the request is wrong.",
    401: "The key is missing, wrong or revoked.",
    403: "The key lacks the scope.",
    404: "There is nothing of this name.",
    409: "It conflicts with what exists.",
    413: "The body is too large.",
    415: "The media type is not supported.",
    429: "Too many requests; Retry-After says when to try again.",
    503: "The service cannot answer now; Retry-After says when to try again.",
}
# The errors of every endpoint.
_COMMON = (400, 401, 403, 413, 429, 503)
_REF = "#/components/schemas/{model}"
_BYTES = {"type": "string", "format": "binary"}
_VECTORS = _BYTES | {"description": "Little-endian float32, row after row; the length of a row is `dim`."}
# What describes raw vectors, in the query.
_RAW: dict[str, dict[str, Any]] = {
    "dim": {"type": "integer", "minimum": 1, "maximum": 1_000_000},
    "sets": {"type": "integer", "minimum": 1, "maximum": 1_000_000},
    "request": {"type": "string", "minLength": 1, "maxLength": 64},
}


def document(table: Sequence[Endpoint]) -> dict[str, Any]:
    """Return the document."""
    documented = [endpoint for endpoint in table if endpoint.documented]
    paths: dict[str, dict[str, Any]] = {}
    for endpoint in documented:
        path = re.sub(r":\w+}", "}", endpoint.path)
        paths.setdefault(path, {})[endpoint.method.lower()] = _operation(endpoint, path)
    return {
        "openapi": "3.1.0",
        "info": {"title": "eigenbandits", "version": eigenbandits.__version__, "description": "The decision service."},
        "paths": paths,
        "components": {
            "schemas": _schemas(documented),
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"key": []}, {}],
    }


def _schemas(table: Iterable[Endpoint]) -> dict[str, Any]:
    found: dict[type[BaseModel], str] = {models.Error: "serialization"}
    for endpoint in table:
        if endpoint.body is not None:
            found[endpoint.body] = "validation"
        if isinstance(endpoint.answer, type):
            found[endpoint.answer] = "serialization"
    _, made = models_json_schema(list(found.items()), ref_template=_REF)  # type: ignore[arg-type]
    schemas: dict[str, Any] = made["$defs"]
    return schemas


def _operation(endpoint: Endpoint, path: str) -> dict[str, Any]:
    found: dict[str, Any] = {
        "operationId": endpoint.handler.__name__,
        "summary": (inspect.getdoc(endpoint.handler) or "").partition("\n")[0],
        "tags": [path.split("/")[2] if path.startswith("/v1/") else "service"],
        "parameters": _parameters(endpoint, path),
        "responses": _responses(endpoint),
    }
    if endpoint.body is not None:
        content = {JSON: {"schema": _reference(endpoint.body)}} | (
            {BINARY: {"schema": _VECTORS}} if endpoint.raw else {}
        )
        found["requestBody"] = {"required": True, "content": content}
    return found


def _parameters(endpoint: Endpoint, path: str) -> list[dict[str, Any]]:
    found = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
        for name in re.findall(r"{(\w+)}", path)
    ]
    query = {name: _RAW[name] for name in endpoint.raw}
    if endpoint.query is not None:
        query |= endpoint.query.model_json_schema()["properties"]
    return found + [
        {"name": name, "in": "query", "required": False, "schema": schema} for name, schema in query.items()
    ]


def _responses(endpoint: Endpoint) -> dict[str, Any]:
    errors = {*_COMMON, *endpoint.errors, *((415,) if endpoint.body is not None else ())}
    error = {JSON: {"schema": _reference(models.Error)}}
    found = {str(status): {"description": _ERRORS[status], "content": error} for status in sorted(errors)}
    for status in endpoint.statuses:
        answer = endpoint.answer
        found[str(status)] = {"description": HTTPStatus(status).phrase}
        if isinstance(answer, str):
            found[str(status)]["content"] = {answer: {"schema": {"type": "string"} if answer == TEXT else _BYTES}}
        elif answer is not None:
            found[str(status)]["content"] = {JSON: {"schema": _reference(answer)}}
    return found


def _reference(model: type[BaseModel]) -> dict[str, str]:
    return {"$ref": _REF.format(model=model.__name__)}
