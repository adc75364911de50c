"""Scikit-learn's handwritten digits as a bandit, through a small network that ships with this package."""

from eigenbandits.environments.digits.environment import Digits

__all__ = ["Digits"]
