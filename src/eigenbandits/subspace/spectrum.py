"""All eigenvectors of the second moment of every action seen, with nothing cut away."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from eigenbandits import inputs
from eigenbandits.subspace.pca import PCA
from eigenbandits.subspace.rank import bulk_edge, bulk_edge_rank

Array = NDArray[np.float64]

# In up to this many times the directions followed, a dense decomposition gives all of them for no more.
_DENSE = 8


class Spectrum(PCA):
    """The whole spectrum, for beliefs that weigh directions by their eigenvalue instead of cutting some off.

    Its frame has all d directions in up to eight times `tracked` dimensions, and the leading `tracked` beyond that.

    Parameters
    ----------
    growth
        How much the number of vectors grows before the eigenvectors are found anew.
    tracked
        Directions that are followed in many dimensions.
    """

    def __init__(self, growth: float = 0.5, tracked: int = 64) -> None:
        super().__init__(projection_error=0.0, growth=growth)
        self.tracked = inputs.whole(tracked, "tracked")

    @property
    def dense(self) -> int:
        """Up to how many dimensions all directions are found."""
        return _DENSE * self.tracked

    def _count(self, vectors: Array) -> None:
        """Nothing here depends on how many vectors are independent of each other."""

    def _end_batch(self) -> None:
        """Likewise."""

    def _choose_rank(self, spectrum: Array) -> int:
        return len(spectrum)

    def _block_size(self, dim: int) -> int:
        return min(dim, self.tracked + 1)

    def diagnostics(self) -> dict[str, Any]:
        """Return how many directions stand out, the spectrum, and the edge that noise alone would have."""
        found = super().diagnostics() | {"projection_error": None}
        for name in ("likeness_within_sets", "independent_vectors"):
            found.pop(name, None)
        if self.spectrum is not None:
            found["rank"] = bulk_edge_rank(self.spectrum, self.added)
            found["noise_edge"] = bulk_edge(self.spectrum, self.added)
        return found
