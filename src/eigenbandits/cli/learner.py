"""`eigenbandits learner`: one role of a service with deciders and a learner, for many machines."""

from __future__ import annotations

from typing import Any

from eigenbandits.cli import options
from eigenbandits.cli.serve import run_role, with_settings


@with_settings
def command(config: options.Config = None, **given: Any) -> None:
    """Run the learner: it follows what all deciders of a database log, and publishes beliefs."""
    from eigenbandits.serve.learner.learner import Learner

    run_role(Learner, config, given)
