"""The OpenAPI document, generated from the table of routes."""

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
    400: "The request is invalid.",
    401: "The key is missing, wrong or revoked.",
    403: "The key lacks the scope.",
    404: "The name does not exist.",
    409: "The request conflicts with existing data.",
    413: "The body is too large.",
    415: "The media type is not supported.",
    429: "Too many requests; Retry-After says when to try again.",
    503: "The service cannot answer now; Retry-After says when to try again.",
}
# The errors that every endpoint may return.
_COMMON = (400, 401, 403, 413, 429, 503)
_REF = "#/components/schemas/{model}"
_BYTES = {"type": "string", "format": "binary"}
_VECTORS = _BYTES | {"description": "Little-endian float32, row after row; the length of a row is `dim`."}
# Query parameters that describe raw vectors.
_RAW: dict[str, dict[str, Any]] = {
    "dim": {"type": "integer", "minimum": 1, "maximum": 1_000_000},
    "sets": {"type": "integer", "minimum": 1, "maximum": 1_000_000},
    "request": {"type": "string", "minLength": 1, "maxLength": 64},
}


def document(table: Sequence[Endpoint]) -> dict[str, Any]:
    """Return the OpenAPI document for a table of routes."""
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
    modes: dict[type[BaseModel], str] = {models.Error: "serialization"}
    for endpoint in table:
        if endpoint.body is not None:
            modes[endpoint.body] = "validation"
        if isinstance(endpoint.answer, type):
            modes[endpoint.answer] = "serialization"
    _, generated = models_json_schema(list(modes.items()), ref_template=_REF)  # type: ignore[arg-type]
    schemas: dict[str, Any] = generated["$defs"]
    return schemas


def _operation(endpoint: Endpoint, path: str) -> dict[str, Any]:
    operation: dict[str, Any] = {
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
        operation["requestBody"] = {"required": True, "content": content}
    return operation


def _parameters(endpoint: Endpoint, path: str) -> list[dict[str, Any]]:
    parameters = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
        for name in re.findall(r"{(\w+)}", path)
    ]
    query = {name: _RAW[name] for name in endpoint.raw}
    if endpoint.query is not None:
        query |= endpoint.query.model_json_schema()["properties"]
    return parameters + [
        {"name": name, "in": "query", "required": False, "schema": schema} for name, schema in query.items()
    ]


def _responses(endpoint: Endpoint) -> dict[str, Any]:
    errors = {*_COMMON, *endpoint.errors, *((415,) if endpoint.body is not None else ())}
    error = {JSON: {"schema": _reference(models.Error)}}
    responses = {str(status): {"description": _ERRORS[status], "content": error} for status in sorted(errors)}
    for status in endpoint.statuses:
        answer = endpoint.answer
        responses[str(status)] = {"description": HTTPStatus(status).phrase}
        if isinstance(answer, str):
            responses[str(status)]["content"] = {answer: {"schema": {"type": "string"} if answer == TEXT else _BYTES}}
        elif answer is not None:
            responses[str(status)]["content"] = {JSON: {"schema": _reference(answer)}}
    return responses


def _reference(model: type[BaseModel]) -> dict[str, str]:
    return {"$ref": _REF.format(model=model.__name__)}
