"""The application: a router over the table of routes, with the middleware that each row declares around it."""

from __future__ import annotations

from functools import partial
from typing import NoReturn

from starlette.middleware import Middleware
from starlette.responses import JSONResponse, Response
from starlette.routing import Route, Router
from starlette.types import ASGIApp, Receive, Scope, Send

from eigenbandits.serve.errors import Refusal
from eigenbandits.serve.http.endpoint import ANY_KEY, OPEN, Endpoint
from eigenbandits.serve.http.gateway import Gateway
from eigenbandits.serve.http.middleware.authorization import Authorization
from eigenbandits.serve.http.middleware.body_limit import BodyLimit
from eigenbandits.serve.http.middleware.checks import Check, Checks
from eigenbandits.serve.http.middleware.error_responses import ErrorResponses
from eigenbandits.serve.http.middleware.local_origin import LocalOrigin
from eigenbandits.serve.http.middleware.rate_limit import RateLimit, TokenBuckets
from eigenbandits.serve.http.middleware.request_log import RequestLog
from eigenbandits.serve.http.openapi import document
from eigenbandits.serve.http.routes import routes

# Bytes of a body that are tolerated where none is expected.
_NO_BODY = 4096


def application(gateway: Gateway) -> ASGIApp:
    """Return the ASGI application of a service."""
    table = routes(gateway)
    described = document(table)

    async def openapi() -> Response:
        return JSONResponse(described)

    table.append(Endpoint("GET", "/openapi.json", OPEN, openapi))
    methods: dict[str, list[str]] = {}
    for endpoint in table:
        methods.setdefault(endpoint.path, []).append(endpoint.method)
    # A path with another method, and any other path, are endpoints too: nothing passes without a key and limits.
    wrong_methods = [Endpoint("", path, ANY_KEY, partial(_wrong_method, taken)) for path, taken in methods.items()]
    stack = _Stack(gateway)
    routes_ = [stack.route(endpoint) for endpoint in table + wrong_methods]
    router = Router(routes_, redirect_slashes=False, default=stack.route(Endpoint("", "/", ANY_KEY, _unknown_path)).app)
    frequent = {route.path: route.app for route, endpoint in zip(routes_, table, strict=False) if endpoint.label}
    return _Frequent(frequent, router)


class _Frequent:
    """Leads requests to the frequent endpoints past the router, which tries one regular expression after the other.

    Parameters
    ----------
    apps
        What answers POST, by path; {name} stands for a policy.
    router
        For everything else.
    """

    def __init__(self, apps: dict[str, ASGIApp], router: ASGIApp) -> None:
        self._apps = apps
        self._router = router

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] == "http" and scope["method"] == "POST" and not scope.get("root_path"):
            path, parameters = scope["path"], {}
            # "", "v1", "policies", the name, and the rest.
            parts = path.split("/", 4)
            if len(parts) == 5 and parts[3]:
                path, parameters = f"/{parts[1]}/{parts[2]}/{{name}}/{parts[4]}", {"name": parts[3]}
            if path in self._apps:
                scope["path_params"] = parameters
                await self._apps[path](scope, receive, send)
                return
        await self._router(scope, receive, send)


class _Stack:
    """Builds routes: the middleware that an endpoint declares, outermost first, around its handler."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._buckets = TokenBuckets(gateway.settings.rate)

    def route(self, endpoint: Endpoint) -> Route:
        """Return the route of an endpoint; without a method it takes all of them."""
        made = Route(endpoint.path, endpoint, methods=[endpoint.method], middleware=self._middleware(endpoint))
        if not endpoint.method:
            made.methods = None
        return made

    def _middleware(self, endpoint: Endpoint) -> list[Middleware]:
        settings, keys = self._gateway.settings, self._gateway.registry.keys
        checks: list[Check] = [LocalOrigin(keys)]
        if endpoint.scope != OPEN:
            checks.append(Authorization(keys, endpoint.scope))
            if settings.rate:
                checks.append(RateLimit(self._buckets))
        limit: int = _NO_BODY if endpoint.body is None else getattr(settings, endpoint.limit)
        return [
            Middleware(RequestLog, metrics=self._gateway.metrics, label=endpoint.label or "other"),
            Middleware(ErrorResponses),
            Middleware(Checks, checks=checks),
            Middleware(BodyLimit, limit=limit, seconds=settings.request_timeout, per=settings.max_body_bytes),
        ]


async def _wrong_method(methods: list[str], **parameters: str) -> NoReturn:
    message = "This path does not accept this method; /openapi.json lists those that it accepts."
    raise Refusal(405, "wrong_method", message, headers={"allow": ", ".join(methods)})


async def _unknown_path() -> NoReturn:
    raise Refusal(404, "unknown_path", "There is nothing at this path; /openapi.json lists all paths.")
