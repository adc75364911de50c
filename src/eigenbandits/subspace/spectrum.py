"""All eigenvectors of the second moment of every action seen, with nothing cut away."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from eigenbandits.subspace.pca import BLOCK, FEWEST, PCA
from eigenbandits.subspace.rank import bulk_edge, bulk_edge_rank

Array = NDArray[np.float64]

# Up to this many dimensions a dense decomposition gives all directions; beyond, a block is followed whose product with
# the second moment costs no more than d · WORK multiplications, by so many steps from where it was.
_DENSE, _WORK, _STEPS = 512, 2**16, 2


class Spectrum(PCA):
    """The whole spectrum, for beliefs that weigh directions by their eigenvalue instead of cutting some off.

    Its frame has all d directions in up to 512 dimensions, and the leading ones beyond that: 64 in 1,000 dimensions, 16
    in 4,000. Of large sets in many dimensions some vectors are added, from the first set on.

    Parameters
    ----------
    growth
        How much the number of vectors grows before the eigenvectors are found anew.
    """

    def __init__(self, growth: float = 0.5) -> None:
        super().__init__(projection_error=0.0, growth=growth)

    @property
    def dense(self) -> int:
        """Up to how many dimensions all directions are found."""
        return _DENSE

    @property
    def steps(self) -> int:
        """Two: a prior needs no more digits of a direction than the vectors themselves can give."""
        return _STEPS

    @property
    def waiting(self) -> int:
        """As many vectors as one set adds in many dimensions, so that no round pays for several."""
        return BLOCK if self.dim is None or self.dim < 1024 else FEWEST

    def _worth_adding(self, actions: Array) -> Array:
        return self._some(actions)

    def _count(self, vectors: Array) -> None:
        """Nothing here depends on how many vectors are independent of each other."""

    def _end_batch(self) -> None:
        """Likewise."""

    def _choose_rank(self, spectrum: Array) -> int:
        return len(spectrum)

    def _block_size(self, dim: int) -> int:
        return max(16, _WORK // dim) + 1

    def diagnostics(self) -> dict[str, Any]:
        """Return how many directions stand out, the spectrum, and the edge that noise alone would have."""
        found = super().diagnostics() | {"projection_error": None}
        for name in ("likeness_within_sets", "independent_vectors"):
            found.pop(name, None)
        if self.spectrum is not None:
            found["rank"] = bulk_edge_rank(self.spectrum, self.refreshed_at)
            found["noise_edge"] = bulk_edge(self.spectrum, self.refreshed_at)
        return found
