"""The decision service: HTTP, a durable log, keys; `eigenbandits serve` runs it."""

from typing import TYPE_CHECKING, Any

from eigenbandits.extras import need
from eigenbandits.serve.settings import Settings

if TYPE_CHECKING:
    from eigenbandits.serve.client import Client
    from eigenbandits.serve.server import Server, running

__all__ = ["Client", "Server", "Settings", "running"]


_PACKAGES = ("starlette", "pydantic", "orjson", "prometheus_client", "threadpoolctl", "uvicorn")


def __getattr__(name: str) -> Any:
    """Load the server and the client only on demand: the settings need neither."""
    if name == "Client":
        from eigenbandits.serve.client import Client

        return Client
    if name in ("Server", "running"):
        need("serve", *_PACKAGES, what="The service")
        from eigenbandits.serve import server

        return getattr(server, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
