"""`eigenbandits keys`: create, list and revoke keys of the decision service, whether it runs or not."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from eigenbandits.cli import options

if TYPE_CHECKING:
    from eigenbandits.serve.storage.journal import Journal

Folder = Annotated[Path | None, typer.Option(help="Folder of the service.")]
Address = Annotated[str | None, typer.Option("--database", help="postgresql://… instead of SQLite in the folder.")]

commands = options.group("Create, list and revoke keys of the decision service.")


@contextmanager
def _journal(config: Path | None, folder: Path | None, database: str | None) -> Iterator[Journal]:
    from eigenbandits.serve.errors import Refusal, StorageError
    from eigenbandits.serve.settings import Settings
    from eigenbandits.serve.storage import database_of
    from eigenbandits.serve.storage.journal import Journal

    with options.refusals():
        settings = Settings.read(config, folder=folder, database=database)
        place = database_of(settings)
    try:
        connection = place.connect()
        try:
            with connection.transaction():
                yield Journal(connection)
        finally:
            connection.close()
    except Refusal as error:
        raise typer.BadParameter(str(error)) from error
    except StorageError as error:
        typer.echo(f"Error: the database cannot be used: {error}", err=True)
        raise typer.Exit(1) from error


@commands.command("create")
def create(
    scope: Annotated[list[str], typer.Option(help="decide, reward or admin; may be given more than once.")],
    name: Annotated[str, typer.Option(help="Who will use it.")] = "unnamed",
    policy: Annotated[
        list[str] | None, typer.Option(help="A policy that it is limited to; may be given more than once.")
    ] = None,
    config: options.Config = None,
    folder: Folder = None,
    database: Address = None,
) -> None:
    """Create a key and print it; it is not shown again. Once there is a key, every request to the service needs one."""
    from eigenbandits.serve.keys import new_key
    from eigenbandits.serve.storage.schema import KEYS

    with _journal(config, folder, database) as journal:
        key, text = new_key(name, scope, time.time(), policy or None)
        journal.add(KEYS, [key])
    typer.echo(text)


@commands.command("generate")
def generate() -> None:
    """Print a random key without storing it. A new service takes the one in EIGENBANDITS_FIRST_KEY as its first key."""
    from eigenbandits.serve.keys import random_text

    typer.echo(random_text())


@commands.command("list")
def show(config: options.Config = None, folder: Folder = None, database: Address = None) -> None:
    """List all keys with their ids, names, scopes and dates."""
    with _journal(config, folder, database) as journal:
        keys = journal.keys()
    for key in keys:
        revoked = f", revoked {_day(key.revoked_at)}" if key.revoked_at is not None else ""
        only = "" if key.policies is None else f" for {key.policies}"
        typer.echo(f"{key.id}  {key.name}  {key.scopes}{only}  created {_day(key.created_at)}{revoked}")


@commands.command("revoke")
def revoke(
    id_: Annotated[str, typer.Argument(metavar="ID", help="The key's id, as `keys list` shows it.")],
    config: options.Config = None,
    folder: Folder = None,
    database: Address = None,
) -> None:
    """Revoke a key; a running service notices within a second."""
    with _journal(config, folder, database) as journal:
        done = journal.revoke_key(id_, time.time())
    if not done:
        typer.echo(f"Error: there is no valid key with the id {id_}; `eigenbandits keys list` shows them.", err=True)
        raise typer.Exit(1)


def _day(moment: float) -> str:
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%d %H:%M")
