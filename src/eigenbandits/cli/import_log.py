"""`eigenbandits import-log`: let a policy of the decision service learn from a log."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from eigenbandits.cli import options


def command(
    policy: Annotated[str, typer.Argument(help="The policy that learns from the log; it must exist.")],
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
    """Let a policy of the decision service learn from the decisions of another system, each of them once."""
    from eigenbandits.serve.client import Client, ServiceError, log_entries

    failures = options.failures(ServiceError, FileNotFoundError)
    with options.refusals(), Client(url, key=key) as client, failures:
        counts = client.import_decisions(policy, log_entries(log, name))
    for status, count in sorted(counts.items()):
        typer.echo(f"{count:,} {status}")
