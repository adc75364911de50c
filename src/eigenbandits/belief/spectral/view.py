"""The flagship's posterior through one decision set, with what each member of its prior says of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from eigenbandits import linalg
from eigenbandits.belief.ambient_view import AmbientView
from eigenbandits.belief.base import Finding, Models, Rows, View

if TYPE_CHECKING:
    from eigenbandits.belief.spectral.belief import Spectral

Array = NDArray[np.float64]


class SpectralView(AmbientView):
    """The posterior through one decision set, with what each member says of it."""

    independent = True
    belief: Spectral
    _values: Array | None = None

    def values(self) -> Array:
        """Return what each member says (K, k) each action is worth."""
        if self._values is None:
            self._values = linalg.project(self.lifted, self.belief.members.T)
        return self._values

    def finding(self, index: int) -> Finding:
        """Return Z⁻¹x where it is known, and the forecast that the decision carries until its reward comes."""
        action, solved = self._keep(index) if self.solved(index) is not None else (None, None)
        values = self.values()
        members = values.shape[1]
        said = np.empty(2 * members + 1)
        said[0] = self.estimate(index)
        best = values.max(axis=0, out=said[1 : members + 1])
        np.subtract(values[index], best, out=said[members + 1 :])
        return Finding(action, solved, self._root.made, self._offered, forecast=said)

    def best(self) -> tuple[int, float]:
        """Return the action with the highest optimistic value."""
        return View.best(self) if self._products is not None else super().best()

    def prefetch(self, sizes: list[int]) -> None:
        """Find out at once what each part will ask for; not the bounds, since each part has a radius of its own."""
        self._look()
        self.values()

    def part(self, rows: slice | Rows) -> SpectralView:
        """Return the view through some of the actions."""
        lifted = self.lifted[rows]
        part = SpectralView(self.belief, lifted, self.belief.omega_of(len(lifted)), self._root)
        part.allowance = self.allowance
        part._products = None if self._products is None else self._products[rows]
        part._values = None if self._values is None else self._values[rows]
        part._estimates = None if self._estimates is None else self._estimates[rows]
        return part

    def posterior(self, count: int, rng: np.random.Generator, scale: float | None = None) -> Models:
        """Return draws from the posterior, times the scale where one is given."""
        return super().posterior(count, rng, self.belief.noise * (1.0 if scale is None else scale))
