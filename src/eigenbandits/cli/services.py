"""The decision service: run it, run one role of a service with deciders, or use a service that runs."""

from __future__ import annotations

import dataclasses
import inspect
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import urlsplit

import typer

from eigenbandits.cli import options
from eigenbandits.extras import need
from eigenbandits.serve.settings import Settings

if TYPE_CHECKING:
    from eigenbandits.serve import Server


def with_settings(made: Callable[..., None]) -> Callable[..., None]:
    """Give a command an option for every setting, with the help text of the setting."""
    signature = inspect.signature(made, eval_str=True)
    own = [one for one in signature.parameters.values() if one.kind is not inspect.Parameter.VAR_KEYWORD]
    more = [
        inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=None,
            annotation=Annotated[
                type(field.default) | None if not isinstance(field.default, Path) else Path | None,
                typer.Option(help=field.metadata["help"], show_default=str(field.default) or "none"),
            ],
        )
        for field in dataclasses.fields(Settings)
    ]

    def wrapped(**given: Any) -> None:
        made(**given)

    return options.with_parameters(wrapped, made, [*own, *more])


@with_settings
def serve(
    config: options.Config = None,
    check: Annotated[bool, typer.Option("--check", help="Check the settings, and exit.")] = False,
    verify: Annotated[
        bool, typer.Option("--verify", help="Rebuild every policy from the log alone, compare, and exit.")
    ] = False,
    **given: Any,
) -> None:
    """Run the decision service: decisions now, rewards later, nothing lost and nothing counted twice."""
    from eigenbandits.serve import Server, logs
    from eigenbandits.serve.errors import StorageError
    from eigenbandits.serve.keys import VARIABLE, add_first_key, first_key
    from eigenbandits.serve.storage import database_of
    from eigenbandits.serve.writer.verify import differences

    with options.refusals():
        settings = Settings.read(config, **given)
        database = database_of(settings)
    if check:
        typer.echo("The settings are valid:")
        for name, value in dataclasses.asdict(settings).items():
            typer.echo(f"  {name} = {_shown(name, value)}")
        return
    if verify:
        wrong = 0
        with options.failures(ValueError, StorageError):
            for line, same in differences(database):
                typer.echo(line)
                wrong += not same
        raise typer.Exit(1 if wrong else 0)
    logs.to_stderr(settings.log_level)
    with options.failures(ValueError, StorageError):
        text = first_key()
        if text is not None and add_first_key(database, text, time.time()):
            typer.echo(f"stored the key in {VARIABLE} as the first key")
    if settings.deciders:
        supervise(settings)
    else:
        run(Server(settings))


@with_settings
def decide_server(config: options.Config = None, **given: Any) -> None:
    """Run a decider: it answers requests by the beliefs that the learner of the same database publishes."""
    from eigenbandits.serve.deciders.decider import Decider

    _run_role(Decider, config, given)


@with_settings
def learner(config: options.Config = None, **given: Any) -> None:
    """Run the learner: it follows what all deciders of a database log, and publishes beliefs."""
    from eigenbandits.serve.learner.learner import Learner

    _run_role(Learner, config, given)


def _run_role(role: Any, config: Path | None, given: dict[str, Any]) -> None:
    from eigenbandits.serve import Server, logs

    with options.refusals():
        settings = Settings.read(config, **given)
    logs.to_stderr(settings.log_level)
    run(Server(settings, role=role))


def run(server: Server) -> None:
    """Run a server until it is stopped."""
    from eigenbandits.serve.errors import InUseError

    with options.failures(ValueError, InUseError, OSError):
        server.start()
    typer.echo(f"listening on {server.url}")
    server.run()


def supervise(settings: Settings) -> None:
    """Run deciders and a learner until they are stopped."""
    from eigenbandits.serve.supervisor import Supervisor

    supervisor = Supervisor(settings)
    with options.failures(ValueError, OSError):
        supervisor.start()
    typer.echo(f"listening on {supervisor.url}")
    raise typer.Exit(supervisor.run())


def _shown(name: str, value: Any) -> str:
    """Return a setting for people to read; an address may hold a password."""
    if name == "database" and value:
        parts = urlsplit(str(value))
        return f"postgresql://{parts.hostname or ''}{parts.path}"
    return str(value)


def import_log(
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


def mcp(
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
