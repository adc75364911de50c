"""The loop that every algorithm shares: what it reads, decides, learns, saves and reports."""

from eigenbandits.policy.base import Policy
from eigenbandits.policy.decision import Decision
from eigenbandits.policy.diagnostics import Diagnostics
from eigenbandits.policy.lists import ListDecision

__all__ = ["Decision", "Diagnostics", "ListDecision", "Policy"]
