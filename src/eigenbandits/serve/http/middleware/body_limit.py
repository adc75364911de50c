"""Limits on the size of a body and on the time that it may take to arrive."""

import asyncio

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from eigenbandits.serve.errors import Refusal, unavailable


class BodyLimit:
    """Refuses a body that is too large or too slow, based on its declared length or while it arrives.

    Parameters
    ----------
    app
        The wrapped application.
    limit
        The largest size in bytes.
    seconds, per
        A body has this many seconds, and the same again for each `per` bytes of its length.
    """

    def __init__(self, app: ASGIApp, limit: int, seconds: float, per: int) -> None:
        self._app = app
        self._limit = limit
        self._seconds = seconds
        self._per = per

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        length = next((value for name, value in scope["headers"] if name == b"content-length"), b"0")
        if not length.isdigit() or int(length[:20]) > self._limit:
            raise self._too_large()
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._seconds * (1.0 + int(length) / self._per)
        size, more = 0, True
        # Most bodies have fully arrived by now, as uvicorn knows, and need no timer.
        arrived = getattr(getattr(receive, "__self__", None), "more_body", True) is False

        async def receive_within_limits() -> Message:
            nonlocal size, more
            if not more:
                return await receive()
            if arrived:
                message = await receive()
            else:
                try:
                    async with asyncio.timeout_at(deadline):
                        message = await receive()
                except TimeoutError:
                    raise unavailable("the body of the request did not arrive in time") from None
            if message["type"] == "http.disconnect":
                raise Refusal(400, "invalid_request", "The connection was closed before the whole body arrived.")
            size += len(message.get("body", b""))
            more = message.get("more_body", False)
            if size > self._limit:
                raise self._too_large()
            return message

        await self._app(scope, receive_within_limits, send)

    def _too_large(self) -> Refusal:
        message = f"The body is too large; this endpoint takes at most {self._limit} bytes."
        return Refusal(413, "body_too_large", message)
