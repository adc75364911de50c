"""Deciding and rewarding, declared for the OpenAPI document; `front` answers them before they get here."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from pydantic import BaseModel

from eigenbandits.serve import models
from eigenbandits.serve.asking import BINARY, JSON
from eigenbandits.serve.context import may_fail

_RAW = {
    "schema": {
        "type": "string",
        "format": "binary",
        "description": "Little-endian float32, row after row; the length of a row is `dim`.",
    }
}
_QUERY = {
    "dim": {"type": "integer", "minimum": 1, "maximum": 1_000_000},
    "sets": {"type": "integer", "minimum": 1, "maximum": 1_000_000},
    "request": {"type": "string", "minLength": 1, "maxLength": 64},
}


def _described(model: type[BaseModel], binary: bool = False, query: tuple[str, ...] = ()) -> dict[str, Any]:
    content: dict[str, Any] = {JSON: {"schema": {"$ref": f"#/components/schemas/{model.__name__}"}}}
    if binary:
        content[BINARY] = _RAW
    parameters = [{"name": name, "in": "query", "required": False, "schema": _QUERY[name]} for name in query]
    return {"requestBody": {"required": True, "content": content}, "parameters": parameters}


def router() -> APIRouter:
    """Return the routes."""
    routes = APIRouter(prefix="/v1/policies/{name}", tags=["decisions"])
    errors = may_fail(404, 415)

    @routes.post("/decide", responses=errors, openapi_extra=_described(models.Decide, True, ("dim", "request")))
    async def decide(name: str) -> models.Decided:
        """Choose one of some actions; the decision is on disk before it is answered."""
        raise AssertionError(name)

    @routes.post("/decide/batch", responses=errors, openapi_extra=_described(models.DecideBatch, True, ("dim", "sets")))
    async def decide_batch(name: str) -> models.DecidedBatch:
        """Choose in many decision sets at once, all or none."""
        raise AssertionError(name)

    @routes.post("/reward", responses=may_fail(404, 409, 415), openapi_extra=_described(models.Reward))
    async def reward(name: str) -> models.Rewarded:
        """Give a decision its reward; it is on disk before it is answered, and counted once however often it comes."""
        raise AssertionError(name)

    @routes.post("/reward/batch", responses=errors, openapi_extra=_described(models.RewardBatch))
    async def reward_batch(name: str) -> models.RewardedBatch:
        """Give many decisions their rewards, each for itself."""
        raise AssertionError(name)

    return routes
