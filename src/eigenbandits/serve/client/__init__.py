"""The client of the service: needs NumPy and nothing else, and may run where the service is not installed."""

from eigenbandits.serve.client.client import Client, ServedDecision
from eigenbandits.serve.client.errors import (
    AccessError,
    ConflictError,
    InvalidRequestError,
    NotFoundError,
    ServiceError,
    UnavailableError,
)

__all__ = [
    "AccessError",
    "Client",
    "ConflictError",
    "InvalidRequestError",
    "NotFoundError",
    "ServedDecision",
    "ServiceError",
    "UnavailableError",
]
