"""Policies around another policy: one that keeps to a budget, and one that keeps to a baseline."""

from eigenbandits.wrappers.budgeted import Budgeted
from eigenbandits.wrappers.guarded import Guarded

__all__ = ["Budgeted", "Guarded"]
