"""The service's errors: refusals, which callers receive, and failures, which stop the writer."""

from collections.abc import Sequence
from typing import Any


class Refusal(Exception):  # noqa: N818 - a refusal is a response, not a server error
    """A request that is answered with an error.

    Parameters
    ----------
    status
        The HTTP status.
    code
        One word, for programs.
    message
        One sentence, for people: what was wrong and what to do.
    field
        The field of the request that the error is about.
    retry_after
        Seconds after which it makes sense to try again.
    headers
        Further headers of the response.
    """

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        field: str | None = None,
        retry_after: int | None = None,
        headers: dict[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.field = field
        self.headers = dict(headers or {})
        if retry_after is not None:
            self.headers["retry-after"] = str(retry_after)

    def body(self) -> dict[str, Any]:
        """Return the JSON body of the response."""
        error = {"code": self.code, "message": self.message}
        return {"error": error if self.field is None else error | {"field": self.field}}


def invalid(message: str, field: str | None = None, code: str = "invalid_request") -> Refusal:
    """Return the refusal for a request with invalid content."""
    return Refusal(400, code, message, field)


def unknown(what: str, name: str) -> Refusal:
    """Return the refusal for a name that does not exist."""
    return Refusal(404, f"unknown_{what}", f"There is no {what} {name!r}.")


def unavailable(reason: str, retry_after: int = 1) -> Refusal:
    """Return the refusal for a request that may succeed later, unchanged."""
    return Refusal(503, "unavailable", f"The service cannot answer now: {reason}. Try again.", retry_after=retry_after)


def damaged() -> Refusal:
    """Return the refusal for a request that needs an unreadable part of the database."""
    message = "The part of the database that this request needs is damaged; restore a backup."
    return Refusal(503, "damaged", message, retry_after=60)


def internal() -> Refusal:
    """Return the refusal that hides a bug in the service from callers."""
    return Refusal(500, "internal", "The service failed; its log says why.")


class StorageError(Exception):
    """The database or the disk failed; nothing in the transaction may be relied on."""


class DamagedError(StorageError):
    """Part of the database cannot be read, while the rest can."""


class InUseError(Exception):
    """Another server is writing to the same database."""


class ReplayError(Exception):
    """The log does not contain what is needed to replay it from the requested position."""


class PolicyError(Exception):
    """A policy failed on these commands; it may have done something that the log does not contain."""

    def __init__(self, commands: Sequence[Any], refusal: Refusal) -> None:
        super().__init__(str(refusal))
        self.commands = commands
        self.refusal = refusal
