"""Beliefs, or what θ* can still be: an ellipsoid in the ambient space, one in the subspace, or both at once."""

from eigenbandits.belief.ambient import Ambient
from eigenbandits.belief.base import Belief, Finding, Models, View
from eigenbandits.belief.certified.mixture_set import MixtureSet
from eigenbandits.belief.certified.screened import Screened
from eigenbandits.belief.intersection import Both
from eigenbandits.belief.memories import Memories
from eigenbandits.belief.projected import Projected
from eigenbandits.belief.sketch import Sketched
from eigenbandits.belief.spectral.belief import Spectral

__all__ = [
    "Ambient",
    "Belief",
    "Both",
    "Finding",
    "Memories",
    "MixtureSet",
    "Models",
    "Projected",
    "Screened",
    "Sketched",
    "Spectral",
    "View",
]
