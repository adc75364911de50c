"""Exceptions as responses."""

from __future__ import annotations

import json
import logging

from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from eigenbandits.serve.errors import Refusal, internal
from eigenbandits.serve.logs import log_event


class ErrorResponses:
    """Answers with the refusal that was raised inside; anything else is logged, and callers learn nothing of it."""

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
    """Return the response to a request that an exception ended; called where the exception is handled."""
    refusal = error if isinstance(error, Refusal) else internal()
    if refusal is not error:
        log_event("request failed", logging.ERROR, trace=True, request=scope["request_id"], method=scope["method"])
    # In ASCII: the message may quote text of the caller that cannot be encoded.
    return Response(json.dumps(refusal.body()), refusal.status, refusal.headers, "application/json")
