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
            return
        except Refusal as error:
            refusal = error
        except Exception:
            log_event("request failed", logging.ERROR, trace=True, request=scope["request_id"], method=scope["method"])
            refusal = internal()
        if not begun:
            # In ASCII: the message may quote text of the caller that cannot be encoded.
            body = json.dumps(refusal.body())
            response = Response(body, refusal.status, refusal.headers, "application/json")
            await response(scope, receive, send)
