"""What must hold of a request before its body is read."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from starlette.types import ASGIApp, Receive, Scope, Send

# Raises a `Refusal` where it does not hold.
Check = Callable[[Scope], None]


class Checks:
    """Makes some checks in turn, in one layer: one for each of them would cost more than they do."""

    def __init__(self, app: ASGIApp, checks: Sequence[Check]) -> None:
        self._app = app
        self._checks = tuple(checks)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        for check in self._checks:
            check(scope)
        await self._app(scope, receive, send)
