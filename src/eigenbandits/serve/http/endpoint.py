"""`Endpoint`, a row of the table of routes: its declarations determine checks, limits, metrics and documentation."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from eigenbandits.serve.errors import Refusal
from eigenbandits.serve.http.validation import validated
from eigenbandits.serve.http.vectors import Body

JSON, BINARY, PARQUET = "application/json", "application/octet-stream", "application/vnd.apache.parquet"
TEXT = "text/plain"
# In addition to the scopes of keys: an OPEN endpoint needs no key, and any valid key will do for ANY_KEY.
OPEN, ANY_KEY = "open", "any"


# Bodies from this many bytes on take so long to read that a thread does it, if the endpoint has a parser for that.
_LARGE = 64 * 2**10


@dataclass(frozen=True)
class Endpoint:
    """One method of one path.

    Attributes
    ----------
    method, path
        As for Starlette.
    scope
        What a key must allow: `OPEN`, `ANY_KEY` or one of `keys.SCOPES`.
    handler
        Takes the path's parameters, `query` and `body` by name, and returns a model, None or a response. With a label,
        it takes the request and returns JSON.
    answer
        The model of the response, or its media type if it is not JSON; None if it is empty.
    body, query
        The models of the request. Without a body, only a few bytes are accepted.
    parse
        Reads a large body in a thread, for models that would otherwise hold up other requests.
    limit
        The setting that limits the size of the body.
    raw
        Query parameters that describe a body of raw float32, if the endpoint accepts one.
    statuses
        The status codes of successful responses.
    errors
        The status codes of errors, in addition to those common to all endpoints.
    label
        The name in metrics of a frequent endpoint, whose handler reads the request itself because every microsecond
        counts.
    documented
        Whether the endpoint is in the OpenAPI document.
    """

    method: str
    path: str
    scope: str
    handler: Callable[..., Awaitable[Any]]
    answer: type[BaseModel] | str | None = None
    body: type[BaseModel] | None = None
    query: type[BaseModel] | None = None
    parse: Callable[[type[BaseModel], Body], BaseModel] | None = None
    limit: str = "max_body_bytes"
    raw: tuple[str, ...] = ()
    statuses: tuple[int, ...] = (200,)
    errors: tuple[int, ...] = ()
    label: str = ""
    documented: bool = True

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        request = Request(scope, receive, send)
        response = Response(await self.handler(request), media_type=JSON) if self.label else await self.respond(request)
        await response(scope, receive, send)

    async def respond(self, request: Request) -> Response:
        """Read a request, call the handler, and return the response."""
        arguments: dict[str, Any] = dict(request.path_params)
        if self.query is not None:
            parameters = dict(request.query_params)
            arguments["query"] = validated(self.query.model_validate, parameters)
        if self.body is not None:
            require_json(request)
            content = await read_body(request)
            if self.parse is not None and len(content) > _LARGE:
                arguments["body"] = await asyncio.to_thread(self.parse, self.body, content)
            else:
                arguments["body"] = validated(self.body.model_validate_json, content)
        result = await self.handler(**arguments)
        return result if isinstance(result, Response) else json_response(result, self.statuses[0])


def json_response(model: BaseModel | None, status: int) -> Response:
    """Return the response for a model, or an empty response for None."""
    if model is None:
        return Response(status_code=status)
    return Response(model.model_dump_json(), status, media_type=JSON)


def media_type(request: Request) -> str:
    """Return the media type of a request's body, without its parameters."""
    header = next((value for name, value in request.scope["headers"] if name == b"content-type"), b"")
    return header.decode("latin-1").partition(";")[0].strip().lower()


async def read_body(request: Request) -> Body:
    """Return the body, as `Request.body` does, but in a third of the time if the body came in one piece.

    A large body is put together as it arrives: joining 80 MB at the end would keep all other requests waiting for 30 to
    120 ms.
    """
    message = await request.receive()
    body: Body = message.get("body", b"")
    if message.get("more_body", False):
        body = bytearray(body)
    while message.get("more_body", False):
        message = await request.receive()
        body += message.get("body", b"")
    return body


def require_json(request: Request) -> None:
    """Refuse a body that is not declared to be JSON."""
    if media_type(request) != JSON:
        message = f"The media type is not supported; expected {JSON}, or {BINARY} for requests to decide."
        raise Refusal(415, "unsupported_media_type", message)
