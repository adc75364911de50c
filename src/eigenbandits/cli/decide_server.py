"""`eigenbandits decide-server`: one role of a service with deciders and a learner, for many machines."""

from __future__ import annotations

from typing import Any

from eigenbandits.cli import options
from eigenbandits.cli.serve import run_role, with_settings


@with_settings
def command(config: options.Config = None, **given: Any) -> None:
    """Run a decider: it answers requests by the beliefs that the learner of the same database publishes."""
    from eigenbandits.serve.deciders.decider import Decider

    run_role(Decider, config, given)
