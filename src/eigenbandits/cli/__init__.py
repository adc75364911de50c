"""The command line: `eigenbandits <command>`; each command has a function here and a line in `cli/sections.py`."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING

from eigenbandits.cli.version import versions
from eigenbandits.extras import MissingExtraError, need

if TYPE_CHECKING:
    import typer


def app() -> typer.Typer:
    """Return the application with all its commands; raises `MissingExtraError` where typer or rich is not installed."""
    need("cli", "typer", "rich", what="The command line")
    import typer

    from eigenbandits.cli.options import of_the_application
    from eigenbandits.cli.sections import SECTIONS, SHARED, Sections

    # Plain text: an error is one sentence on one line, and help reads the same in a terminal and in a file.
    made = typer.Typer(
        cls=Sections,
        help="Linear bandits that find the subspace in which the actions live, and explore only there.",
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
    )
    made.callback()(of_the_application)
    shared = {name: module for module, names in SHARED.items() for name in names}
    for name in (name for section in SECTIONS.values() for name in section):
        function = name.replace("-", "_")
        module = import_module(f"eigenbandits.cli.{shared.get(name, function)}")
        if hasattr(module, "commands"):
            made.add_typer(module.commands, name=name)
        else:
            made.command(name)(getattr(module, function if name in shared else "command"))
    return made


def main() -> None:
    """Run the command line; a missing extra is reported in one sentence, with exit code 1, and an interrupt has 130."""
    try:
        # Known without any extra.
        if sys.argv[1:] == ["--version"]:
            print(versions())
        else:
            app()()
    except MissingExtraError as error:
        sys.exit(f"Error: {error}")
    except KeyboardInterrupt:  # While modules are loaded.
        sys.exit(130)
