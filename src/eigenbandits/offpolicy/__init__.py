"""Evaluation of policies on logged decisions: logs in and out, and estimates with their propensities."""

from eigenbandits.offpolicy.estimators import Estimate, estimate
from eigenbandits.offpolicy.log import Log
from eigenbandits.offpolicy.obp import from_obp, to_obp

__all__ = ["Estimate", "Log", "estimate", "from_obp", "to_obp"]
