"""The service's client; it needs only NumPy and may run where the service is not installed."""

from eigenbandits.serve.client.client import AsyncClient, Client
from eigenbandits.serve.client.errors import (
    AccessError,
    ConflictError,
    InvalidRequestError,
    NotFoundError,
    ServiceError,
    UnavailableError,
)
from eigenbandits.serve.client.logs import log_entries
from eigenbandits.serve.served_decision import ServedDecision

__all__ = [
    "AccessError",
    "AsyncClient",
    "Client",
    "ConflictError",
    "InvalidRequestError",
    "NotFoundError",
    "ServedDecision",
    "ServiceError",
    "UnavailableError",
    "log_entries",
]
