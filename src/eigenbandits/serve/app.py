"""The application: the FastAPI routes, behind the door that checks keys and limits."""

from __future__ import annotations

import json
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel
from starlette.exceptions import HTTPException

import eigenbandits
from eigenbandits.serve import models
from eigenbandits.serve.context import Context
from eigenbandits.serve.engine import Engine
from eigenbandits.serve.errors import Refusal, internal
from eigenbandits.serve.front import Front
from eigenbandits.serve.routes import catalogues, decisions, keys, looking, policies

_WORDS = {
    404: ("unknown_path", "There is nothing at this path; /openapi.json lists what there is."),
    405: ("wrong_method", "This path does not take this method; /openapi.json says which it takes."),
    415: ("unsupported_media_type", "The media type is not understood; expected application/json."),
}
# Named in the document by the routes that read their bodies themselves.
_NAMED: tuple[type[BaseModel], ...] = (models.Decide, models.DecideBatch, models.Reward, models.RewardBatch)


def create_app(engine: Engine) -> Front:
    """Return the ASGI application of a service."""
    # No page for trying things out: it would load scripts from elsewhere into the place where the page keeps its key.
    app = FastAPI(
        title="eigenbandits", version=eigenbandits.__version__, docs_url=None, redoc_url=None, redirect_slashes=False
    )
    context = Context(engine)
    for routes in (
        decisions.router(),
        policies.router(context),
        catalogues.router(context),
        keys.router(context),
        looking.router(context),
    ):
        app.include_router(routes)

    @app.exception_handler(Refusal)
    async def refused(request: Request, refusal: Refusal) -> Response:
        return _answer(refusal)

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> Response:
        return _answer(_first(error))

    @app.exception_handler(HTTPException)
    async def failed(request: Request, error: HTTPException) -> Response:
        code, message = _WORDS.get(error.status_code, ("invalid_request", "The request cannot be read."))
        return _answer(Refusal(error.status_code, code, message), dict(error.headers or {}))

    @app.exception_handler(Exception)
    async def broken(request: Request, error: Exception) -> Response:
        # The exception goes on to the door, which logs it.
        return _answer(internal())

    def document() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = _document(app)
        return app.openapi_schema

    app.openapi = document  # type: ignore[method-assign]
    return Front(engine, app, context.close)


def _answer(refusal: Refusal, headers: dict[str, str] | None = None) -> Response:
    # In ASCII: what a caller sent, and is told of, may hold what cannot be encoded.
    body = json.dumps(refusal.body())
    return Response(body, refusal.status, refusal.headers() | (headers or {}), "application/json")


def _first(error: RequestValidationError) -> Refusal:
    found = error.errors()[0]
    if found["type"] == "json_invalid":
        return Refusal(400, "invalid_json", "The body is not JSON.")
    place = ".".join(str(part) for part in found["loc"] if part not in ("body", "query", "path"))
    return Refusal(400, "invalid_request", f"{place or 'The body'}: {found['msg']}.", place[:200] or None)


def _document(app: FastAPI) -> dict[str, Any]:
    made = get_openapi(title=app.title, version=app.version, routes=app.routes, description=__doc__)
    schemas = made["components"]["schemas"]
    for model in _NAMED:
        schema = model.model_json_schema(ref_template="#/components/schemas/{model}")
        schemas |= schema.pop("$defs", {}) | {model.__name__: schema}
    # Wrong bodies are answered with 400, in the words of `Error`.
    for methods in made["paths"].values():
        for operation in methods.values():
            operation["responses"].pop("422", None)
    for name in ("HTTPValidationError", "ValidationError"):
        schemas.pop(name, None)
    made["components"]["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
    made["security"] = [{"key": []}, {}]
    return made
