"""What a call to the service can fail with, one class for each thing that a caller can do about it."""

from __future__ import annotations


class ServiceError(Exception):
    """The service refused a request, or could not be reached.

    Parameters
    ----------
    message
        One sentence for people.
    status
        The HTTP status; 0 where there was no answer.
    code
        One word for programs, such as ``"different_reward"``.
    field
        The part of the request that it is about.
    request_id
        What the service's own log calls the request.
    """

    def __init__(
        self,
        message: str,
        *,
        status: int = 0,
        code: str = "",
        field: str | None = None,
        request_id: str | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.field = field
        self.request_id = request_id


class InvalidRequestError(ServiceError):
    """The request is wrong as it stands, and stays wrong: a field, a dimension, a size."""


class AccessError(ServiceError):
    """The key is missing, wrong or revoked, or lacks the scope."""


class NotFoundError(ServiceError):
    """There is no policy, catalogue, decision or key of that name."""


class ConflictError(ServiceError):
    """It contradicts what is there already: another reward for the same decision, another policy under the name."""


class UnavailableError(ServiceError):
    """The service was away, busy or asked for patience, longer than the client was told to wait; try again later."""


def error_class(status: int) -> type[ServiceError]:
    """Return the class of error for an HTTP status.

    Examples
    --------
    >>> error_class(409).__name__, error_class(413).__name__
    ('ConflictError', 'InvalidRequestError')
    """
    if status in (401, 403):
        return AccessError
    if status == 404:
        return NotFoundError
    if status == 409:
        return ConflictError
    if status in (429, 503):
        return UnavailableError
    return InvalidRequestError if 400 <= status < 500 else ServiceError
