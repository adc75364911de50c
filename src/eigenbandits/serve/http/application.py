"""The application: a router over the table of routes, with the middleware that each row declares around its handler."""

from functools import partial
from typing import NoReturn

from starlette.middleware import Middleware
from starlette.responses import JSONResponse, Response
from starlette.routing import Route, Router
from starlette.types import ASGIApp

from eigenbandits.serve.errors import Refusal
from eigenbandits.serve.http.endpoint import ANY_KEY, OPEN, Endpoint
from eigenbandits.serve.http.frequent import FrequentRoutes, OneStep
from eigenbandits.serve.http.gateway import Gateway
from eigenbandits.serve.http.middleware.body_limit import BodyLimit
from eigenbandits.serve.http.middleware.checks import Authorization, Check, Checks, LocalOrigin, RateLimit, TokenBuckets
from eigenbandits.serve.http.middleware.error_responses import ErrorResponses
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
    # Wrong methods and unknown paths are endpoints, too, so that nothing passes without a key and limits.
    wrong_methods = [Endpoint("", path, ANY_KEY, partial(_wrong_method, taken)) for path, taken in methods.items()]
    stack = _Stack(gateway)
    routes_ = [stack.route(endpoint) for endpoint in table + wrong_methods]
    router = Router(routes_, redirect_slashes=False, default=stack.route(Endpoint("", "/", ANY_KEY, _unknown_path)).app)
    frequent = {
        route.path: stack.one_step(endpoint, route.app)
        for route, endpoint in zip(routes_, table, strict=False)
        if endpoint.label
    }
    return FrequentRoutes(frequent, router)


class _Stack:
    """Builds routes: an endpoint's handler inside the middleware that the endpoint declares, outermost first."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._buckets = TokenBuckets(gateway.settings.rate)

    def route(self, endpoint: Endpoint) -> Route:
        """Return the route of an endpoint; an endpoint without a method accepts all of them."""
        route = Route(endpoint.path, endpoint, methods=[endpoint.method], middleware=self._middleware(endpoint))
        if not endpoint.method:
            route.methods = None
        return route

    def one_step(self, endpoint: Endpoint, layers: ASGIApp) -> OneStep:
        """Return a frequent endpoint without its layers, for requests that do not need them."""
        log = RequestLog(layers, self._gateway.metrics, endpoint.label)
        return OneStep(endpoint, layers, self._checks(endpoint), log, self._limit(endpoint))

    def _middleware(self, endpoint: Endpoint) -> list[Middleware]:
        settings, limit = self._gateway.settings, self._limit(endpoint)
        return [
            Middleware(RequestLog, metrics=self._gateway.metrics, label=endpoint.label or "other"),
            Middleware(ErrorResponses),
            Middleware(Checks, checks=self._checks(endpoint)),
            Middleware(BodyLimit, limit=limit, seconds=settings.request_timeout, per=settings.max_body_bytes),
        ]

    def _checks(self, endpoint: Endpoint) -> list[Check]:
        settings, keys = self._gateway.settings, self._gateway.registry.keys
        checks: list[Check] = [LocalOrigin(keys)]
        if endpoint.scope != OPEN:
            checks.append(Authorization(keys, endpoint.scope))
            if settings.rate:
                checks.append(RateLimit(self._buckets))
        return checks

    def _limit(self, endpoint: Endpoint) -> int:
        limit: int = _NO_BODY if endpoint.body is None else getattr(self._gateway.settings, endpoint.limit)
        return limit


async def _wrong_method(methods: list[str], **parameters: str) -> NoReturn:
    message = "This path does not accept this method; /openapi.json lists the methods that it accepts."
    raise Refusal(405, "wrong_method", message, headers={"allow": ", ".join(methods)})


async def _unknown_path() -> NoReturn:
    raise Refusal(404, "unknown_path", "There is nothing at this path; /openapi.json lists all paths.")
