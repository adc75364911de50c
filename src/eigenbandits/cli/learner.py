"""`eigenbandits learner`: one role of a service with deciders and a learner, for many machines."""

from __future__ import annotations

from typing import Any

from eigenbandits.cli import options
from eigenbandits.cli.serve import Config, run, with_settings
from eigenbandits.serve.settings import Settings


@with_settings
def command(config: Config = None, **given: Any) -> None:
    """Run the learner: it follows what all deciders of a database log, and publishes beliefs."""
    from eigenbandits.serve import Server, logs
    from eigenbandits.serve.learner.learner import Learner

    with options.refusals():
        settings = Settings.read(config, **given)
    logs.to_stderr(settings.log_level)
    run(Server(settings, role=Learner))
