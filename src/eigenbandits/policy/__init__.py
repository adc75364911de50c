"""The loop that every algorithm shares: reading input, deciding, learning, saving and reporting."""

from eigenbandits.policy.base import Policy
from eigenbandits.policy.decision import Decision
from eigenbandits.policy.diagnostics import Diagnostics
from eigenbandits.policy.lists import ListDecision

__all__ = ["Decision", "Diagnostics", "ListDecision", "Policy"]
