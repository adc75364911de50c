"""The client's errors, one class for each way in which a caller can react."""


class ServiceError(Exception):
    """The service refused a request, or could not be reached.

    Parameters
    ----------
    message
        One sentence, for people.
    status
        The HTTP status; 0 if there was no response.
    code
        One word, for programs, such as ``"different_reward"``.
    field
        The field of the request that the error is about.
    request_id
        The id of the request in the service's log.
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
    """The request itself is wrong: a field, a dimension, a size."""


class AccessError(ServiceError):
    """The key is missing, wrong or revoked, or lacks the scope."""


class NotFoundError(ServiceError):
    """There is no policy, catalogue, decision or key with that name."""


class ConflictError(ServiceError):
    """The request conflicts with what exists: another reward of the same decision, another policy of the same name."""


class UnavailableError(ServiceError):
    """The service was unreachable or busy for longer than the client's patience; try again later."""


def error_class(status: int) -> type[ServiceError]:
    """Return the error class for an HTTP status.

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
