"""The frequent endpoints: found without the router, and answered in one step if the whole request has arrived."""

import time
from collections.abc import Mapping, Sequence

from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

from eigenbandits.serve.http.endpoint import Endpoint
from eigenbandits.serve.http.middleware.checks import Check
from eigenbandits.serve.http.middleware.error_responses import error_response
from eigenbandits.serve.http.middleware.request_log import RequestLog, new_request_id


class FrequentRoutes:
    """Routes requests to the frequent endpoints without the router, which tries one regular expression after another.

    Parameters
    ----------
    apps
        The applications that answer POST, by path; {name} stands for a policy.
    router
        Handles everything else.
    """

    def __init__(self, apps: Mapping[str, ASGIApp], router: ASGIApp) -> None:
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


class OneStep:
    """Does the work of the middleware layers in one coroutine, and answers with one write to the connection.

    This is possible only if the whole request has arrived within the limit, so that nothing can make it wait, and under
    uvicorn, whose record of the response it completes. All other requests go through the layers.

    Parameters
    ----------
    endpoint
        The endpoint.
    layers
        The same endpoint inside its middleware.
    checks
        The checks made before the body is read.
    log
        Counts and logs requests.
    limit
        The largest size of a body in bytes.
    """

    def __init__(
        self, endpoint: Endpoint, layers: ASGIApp, checks: Sequence[Check], log: RequestLog, limit: int
    ) -> None:
        self._handler = endpoint.handler
        self._layers = layers
        self._checks = tuple(checks)
        self._log = log
        self._limit = limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        cycle = getattr(receive, "__self__", None)
        if type(cycle) is not RequestResponseCycle or cycle.more_body or len(cycle.body) > self._limit:
            await self._layers(scope, receive, send)
            return
        started = time.perf_counter()
        request_id = scope["request_id"] = new_request_id()
        status = 200
        try:
            for check in self._checks:
                check(scope)
            content: bytes = await self._handler(Request(scope, receive, send))
        except Exception as error:
            response = error_response(error, scope)
            status = response.status_code
            response.headers["x-request-id"] = request_id
            await response(scope, receive, send)
        else:
            if cycle.flow.write_paused:
                await cycle.flow.drain()
            _write(cycle, content, request_id)
        self._log.count(scope, status, started)


def _write(cycle: RequestResponseCycle, content: bytes, request_id: str) -> None:
    """Write a JSON response, headers and body at once, since each write is a system call."""
    if cycle.disconnected:
        return
    head = b"".join([b"%b: %b\r\n" % header for header in cycle.default_headers])
    last = b"\r\n" if cycle.keep_alive else b"connection: close\r\n\r\n"
    cycle.response_started = cycle.response_complete = True
    cycle.waiting_for_100_continue = False
    cycle.transport.write(
        b"HTTP/1.1 200 OK\r\n%bcontent-length: %d\r\ncontent-type: application/json\r\nx-request-id: %b\r\n%b%b"
        % (head, len(content), request_id.encode(), last, content)
    )
    cycle.message_event.set()
    if not cycle.keep_alive:
        cycle.transport.close()
    cycle.on_response()
