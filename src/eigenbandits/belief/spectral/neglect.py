"""Neglected actions: optimism that grows while another action is chosen again and again (docs/flagship.md)."""

from __future__ import annotations

import math
from dataclasses import dataclass

from eigenbandits.inputs import Array
from eigenbandits.theory.marginal import neglect


# Not frozen: most rounds make one, and freezing would triple its cost.
@dataclass(slots=True, eq=False)
class Neglect:
    """How many standard deviations actions deserve that have been neglected for the favorite of their decision set.

    Attributes
    ----------
    standard
        min(1/h(x₀), n), where x₀ is the favorite: what is known about it, but at most from all rewards.
    deviation
        The standard deviation of an action with ‖x‖_{Z⁻¹} = 1.
    """

    standard: float
    deviation: float

    @classmethod
    def of(cls, favorite: float, count: float, deviation: float) -> Neglect:
        """Return it for a favorite with this ‖x₀‖_{Z⁻¹}, after rewards of this total weight."""
        known = favorite * favorite
        # Without a division where the square is 0.
        return cls(1.0 / known if known * count > 1.0 else count, deviation)

    def radius(self, length: float) -> float:
        """Return the radius for an action with this ‖x‖_{Z⁻¹}."""
        return self.deviation * math.sqrt(2.0 * math.log(max(self.standard * length**2, 1.0)))

    def widths(self, lengths: Array) -> Array:
        """Return how far above their estimates the values of actions are raised."""
        return self.deviation * neglect(self.standard * lengths**2) * lengths
