"""Conversion of exceptions to responses."""

import json
import logging

from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from eigenbandits.serve.errors import Refusal, internal
from eigenbandits.serve.logs import log_event


class ErrorResponses:
    """Responds with the refusal that was raised inside; any other exception is logged, and callers get no details."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        begun = False

        async def note_begin(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            await self._app(scope, receive, note_begin)
        except Exception as error:
            response = error_response(error, scope)
            if not begun:
                await response(scope, receive, send)


def error_response(error: Exception, scope: Scope) -> Response:
    """Return the response to a request that an exception ended; called while the exception is being handled."""
    refusal = error if isinstance(error, Refusal) else internal()
    if refusal is not error:
        log_event("request failed", logging.ERROR, trace=True, request=scope["request_id"], method=scope["method"])
    # In ASCII, since the message may quote text from the caller that cannot be encoded.
    return Response(json.dumps(refusal.body()), refusal.status, refusal.headers, "application/json")
