"""`eigenbandits decide-server`: one role of a service with deciders and a learner, for many machines."""

from __future__ import annotations

from typing import Any

from eigenbandits.cli import options
from eigenbandits.cli.serve import Config, run, with_settings
from eigenbandits.serve.settings import Settings


@with_settings
def command(config: Config = None, **given: Any) -> None:
    """Run a decider: it answers requests by the beliefs that the learner of the same database publishes."""
    from eigenbandits.serve import Server, logs
    from eigenbandits.serve.deciders.decider import Decider

    with options.refusals():
        settings = Settings.read(config, **given)
    logs.to_stderr(settings.log_level)
    run(Server(settings, role=Decider))
