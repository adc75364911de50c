"""The decision service: HTTP, a durable log, API keys; run it with `eigenbandits serve`."""

from typing import TYPE_CHECKING, Any

from eigenbandits.extras import need
from eigenbandits.serve.settings import Settings

if TYPE_CHECKING:
    from eigenbandits.serve.client import AsyncClient, Client
    from eigenbandits.serve.server import Server, running

__all__ = ["AsyncClient", "Client", "Server", "Settings", "running"]


_PACKAGES = ("starlette", "pydantic", "orjson", "prometheus_client", "threadpoolctl", "uvicorn")


def __getattr__(name: str) -> Any:
    """Load the server and the clients only on demand, since the settings need neither."""
    if name in ("AsyncClient", "Client"):
        from eigenbandits.serve import client

        return getattr(client, name)
    if name in ("Server", "running"):
        need("serve", *_PACKAGES, what="The service")
        from eigenbandits.serve import server

        return getattr(server, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
