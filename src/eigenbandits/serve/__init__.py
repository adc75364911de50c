"""The decision service: HTTP, a durable log, keys; `eigenbandits serve` runs it."""

from typing import TYPE_CHECKING, Any

from eigenbandits.extras import need

need("serve", "fastapi", "orjson", "prometheus_client", "threadpoolctl", "uvicorn", what="The service")

from eigenbandits.serve.server import Server, running  # noqa: E402
from eigenbandits.serve.settings import Settings  # noqa: E402

if TYPE_CHECKING:
    from eigenbandits.serve.client import Client

__all__ = ["Client", "Server", "Settings", "running"]


def __getattr__(name: str) -> Any:
    """Load the client only when it is asked for."""
    if name == "Client":
        from eigenbandits.serve.client import Client

        return Client
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
