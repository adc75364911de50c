"""What can θ* still be: an ellipsoid in the ambient space, one in the subspace, or both at once."""

from eigenbandits.belief.ambient import Ambient
from eigenbandits.belief.base import Belief, Models, View
from eigenbandits.belief.certified import MixtureSet
from eigenbandits.belief.graded import Graded
from eigenbandits.belief.intersection import Both
from eigenbandits.belief.projected import Projected
from eigenbandits.belief.sketch import Sketched

__all__ = ["Ambient", "Belief", "Both", "Graded", "MixtureSet", "Models", "Projected", "Sketched", "View"]
