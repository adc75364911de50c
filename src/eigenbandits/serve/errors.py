"""What callers are told when something cannot be done: a code for programs and one sentence for people."""

from __future__ import annotations

from typing import Any


class Refusal(Exception):  # noqa: N818 - a refusal is an answer, not a fault of the server
    """A request that is answered with an error.

    Parameters
    ----------
    status
        The HTTP status.
    code
        One word that programs can tell apart.
    message
        One sentence: what was wrong, what to do.
    field
        The part of the request that it is about.
    retry_after
        Seconds after which trying again makes sense.
    """

    def __init__(
        self, status: int, code: str, message: str, field: str | None = None, retry_after: int | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.field = field
        self.retry_after = retry_after

    def body(self) -> dict[str, Any]:
        """Return the JSON body of the answer."""
        error = {"code": self.code, "message": self.message}
        return {"error": error if self.field is None else error | {"field": self.field}}

    def headers(self) -> dict[str, str]:
        """Return the headers that belong to the answer."""
        found = {} if self.retry_after is None else {"retry-after": str(self.retry_after)}
        return found | ({"www-authenticate": "Bearer"} if self.status == 401 else {})


def invalid(message: str, field: str | None = None, code: str = "invalid_request") -> Refusal:
    """Return the refusal of a request that does not say what it should."""
    return Refusal(400, code, message, field)


def unknown(what: str, name: str) -> Refusal:
    """Return the refusal of a name that nothing has."""
    return Refusal(404, f"unknown_{what}", f"There is no {what} {name!r}.")


def unavailable(reason: str, retry_after: int = 1) -> Refusal:
    """Return the refusal of a request that may succeed later as it is."""
    return Refusal(503, "unavailable", f"The service cannot answer now: {reason}. Try again.", retry_after=retry_after)


def internal() -> Refusal:
    """Return what callers are told of a defect: nothing of the inside."""
    return Refusal(500, "internal", "This failed inside the service; its log says why.")


class StorageError(Exception):
    """The database or the disk did not do what it was asked; nothing of the transaction may be relied on."""
