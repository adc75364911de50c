"""An empty handler of plain Starlette under uvicorn, in one process: a floor that does not move with the service."""

from __future__ import annotations

import socket

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route


async def empty(request: Request) -> Response:
    """Answer with an empty object."""
    return Response(b"{}", media_type="application/json")


def main() -> None:
    """Serve on a free port of this machine, until stopped."""
    listening = socket.create_server(("127.0.0.1", 0))
    print(f"listening on http://127.0.0.1:{listening.getsockname()[1]}", flush=True)
    application = Starlette(routes=[Route("/v1/empty", empty, methods=["POST"])])
    uvicorn.Server(uvicorn.Config(application, log_level="warning", access_log=False)).run(sockets=[listening])


if __name__ == "__main__":
    main()
