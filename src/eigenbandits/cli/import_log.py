"""`eigenbandits import-log`: let a policy of the decision service learn from a log."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from eigenbandits.cli import options


def command(
    policy: Annotated[str, typer.Argument(help="The policy that is to learn from the log; it must exist.")],
    log: Annotated[Path, typer.Argument(help="A .npz, Parquet or dsjson log, or an export of a service.")],
    name: Annotated[
        str | None,
        typer.Option(help="Name of the log: its decisions count once under it.", show_default="that of the file"),
    ] = None,
    url: options.Url = "http://127.0.0.1:8765",
    key: Annotated[
        str | None,
        typer.Option(help="An API key with the scope admin.", envvar="EIGENBANDITS_KEY", show_default="none"),
    ] = None,
) -> None:
    """Let a policy of the decision service learn from decisions that another system has made, each of them once."""
    from eigenbandits.serve.client import Client, ServiceError, log_entries

    with options.refusals(), Client(url, key=key) as client:
        try:
            counts = client.import_decisions(policy, log_entries(log, name))
        except (ServiceError, FileNotFoundError) as error:
            typer.echo(f"Error: {error}", err=True)
            raise typer.Exit(1) from error
    for status, count in sorted(counts.items()):
        typer.echo(f"{count:,} {status}")
