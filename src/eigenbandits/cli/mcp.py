"""`eigenbandits mcp`: the decision service as tools for an agent."""

from __future__ import annotations

from typing import Annotated

import typer

from eigenbandits.cli import options
from eigenbandits.extras import need


def command(
    url: options.Url = "http://127.0.0.1:8765",
    key: Annotated[
        str | None, typer.Option(help="The API key.", envvar="EIGENBANDITS_KEY", show_default="none")
    ] = None,
) -> None:
    """Offer the decision service as MCP tools, on standard input and output: decide, reward, policies, diagnostics."""
    need("mcp", "mcp", what="The MCP server")
    from eigenbandits.adapters.mcp import server
    from eigenbandits.serve.client import Client

    with options.refusals():
        client = Client(url, key=key)
    server(client).run("stdio")
