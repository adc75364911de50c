"""The command line: `eigenbandits <command>`; each command has a module here and one line in `app`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from eigenbandits.extras import MissingExtraError, need

if TYPE_CHECKING:
    import typer


def app() -> typer.Typer:
    """Return the application with all its commands; raises `MissingExtraError` where typer or rich is not installed."""
    need("cli", "typer", "rich", what="The command line")
    import typer

    from eigenbandits.cli import (
        audit,
        belief_age,
        budgets,
        calibrate,
        compare,
        coverage,
        data,
        demo,
        drift,
        estimates,
        features,
        guarded,
        import_log,
        lists,
        mcp,
        offpolicy,
        paper,
        problems,
        report,
        robustness,
        router,
        run,
        scorer,
        translate,
        version,
    )

    # Plain text: an error is one sentence on one line, and help reads the same in a terminal and in a file.
    made = typer.Typer(
        help="Linear bandits that find the subspace in which the actions live, and explore only there.",
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
    )
    made.callback()(version.options)
    made.command("demo")(demo.command)
    made.command("audit")(audit.command)
    made.command("compare")(compare.command)
    made.command("coverage")(coverage.command)
    made.command("paper")(paper.command)
    made.command("estimates")(estimates.command)
    made.command("drift")(drift.command)
    made.command("belief-age")(belief_age.command)
    made.command("budgets")(budgets.command)
    made.command("guarded")(guarded.command)
    made.command("calibrate")(calibrate.command)
    made.command("robustness")(robustness.command)
    made.command("problems")(problems.command)
    made.command("lists")(lists.command)
    made.command("scorer")(scorer.command)
    made.command("translate")(translate.command)
    made.command("run")(run.command)
    made.command("report")(report.command)
    made.command("mcp")(mcp.command)
    made.command("import-log")(import_log.command)
    _add_service(made)
    groups = {
        "data": data.app(),
        "features": features.app(),
        "offpolicy": offpolicy.commands,
        "router": router.commands,
    }
    for name, group in groups.items():
        made.add_typer(group, name=name)
    return made


def _add_service(made: typer.Typer) -> None:
    from eigenbandits.cli import decide_server, keys, learner, serve

    made.command("serve")(serve.with_settings(serve.command))
    made.command("decide-server")(serve.with_settings(decide_server.command))
    made.command("learner")(serve.with_settings(learner.command))
    made.add_typer(keys.commands, name="keys")


def main() -> None:
    """Run the command line; what is missing is said in one sentence, with exit code 1."""
    try:
        app()()
    except MissingExtraError as error:
        sys.exit(f"Error: {error}")
