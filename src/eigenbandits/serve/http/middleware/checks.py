"""Checks made before the body of a request is read."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from starlette.types import ASGIApp, Receive, Scope, Send

# Raises a `Refusal` if the check fails.
Check = Callable[[Scope], None]


class Checks:
    """Makes several checks in a single layer: a layer for each would cost more than the checks themselves."""

    def __init__(self, app: ASGIApp, checks: Sequence[Check]) -> None:
        self._app = app
        self._checks = tuple(checks)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        for check in self._checks:
            check(scope)
        await self._app(scope, receive, send)
