"""All eigenvectors of the second moment of every action seen."""

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from eigenbandits import inputs, merging
from eigenbandits.inputs import Array
from eigenbandits.merging import Replica
from eigenbandits.subspace import eigen
from eigenbandits.subspace.base import Subspace
from eigenbandits.subspace.pca import BLOCK, FEWEST, PCA
from eigenbandits.subspace.rank import bulk_edge, bulk_edge_rank

# In many dimensions a block is followed whose product with the second moment costs at most d · WORK multiplications.
_WORK = 2**16
# Decision sets whose vectors wait together at the start, in more than 1,024 dimensions.
_FIRST_SETS = 6
# Steps in which a half-life fades.
STEPS = 8


class Spectrum(PCA):
    """The whole spectrum, for beliefs that weigh directions by their eigenvalue instead of cutting some off.

    Its frame has all d directions in up to 512 dimensions, and the leading ones beyond that: 64 in 1,000 dimensions, 16
    in 4,000. Of large sets in many dimensions some vectors are added, from the first set on.

    Parameters
    ----------
    growth
        How much the number of vectors grows before the eigenvectors are recomputed.
    memory
        Half-life in decision sets: after this many further sets, a vector weighs half; None keeps all.
    """

    _state_names: ClassVar[tuple[str, ...]] = (*PCA._state_names, "since_fading")
    # A prior needs no more digits of a direction than the vectors themselves can give.
    steps: ClassVar[int] = 2
    dense: ClassVar[int] = 512

    def __init__(self, growth: float = 0.5, memory: float | None = None) -> None:
        super().__init__(projection_error=0.0, growth=growth)
        self.memory = None if memory is None else inputs.number(memory, "memory", least=1.0)
        self.since_fading = 0

    def params(self) -> dict[str, Any]:
        """Return the constructor's arguments."""
        return {"growth": self.growth, "memory": self.memory}

    def observe(self, actions: Array, center: Array | None = None) -> None:
        """Add one decision set, or a catalogue; earlier ones fade, in eight steps of a half-life."""
        Subspace.observe(self, actions)
        self._add(self._some(actions), center)
        if self.memory is None:
            return
        self.since_fading += 1
        if self.since_fading * STEPS >= self.memory:
            factor = 0.5 ** (self.since_fading / self.memory)
            self.since_fading = 0
            self.moment.fade(factor)
            self.total *= factor
            self.added *= factor
            self.refreshed_at *= factor

    @property
    def waiting(self) -> int:
        """As many vectors as one set adds in many dimensions, so that no round has to add several blocks."""
        return BLOCK if self.dim is None or self.dim < 1024 else FEWEST

    @property
    def waiting_first(self) -> int:
        """As many as some sets add, over which the matrix's memory is claimed; see `linalg.SymmetricSum`."""
        return self.waiting if self.dim is None or self.dim < 1024 else _FIRST_SETS * FEWEST

    def _count(self, vectors: Array) -> None:
        """Nothing here depends on how many vectors are independent of each other."""

    def _end_batch(self) -> None:
        """Add the vectors that wait, unless they are the first ones: few enough to be multiplied with as they are."""
        if not self.moment.blank:
            self.moment.flush()

    def merge(self, replicas: Sequence[Replica[Any]]) -> None:
        """Add up the second moments, unless they fade."""
        if self.memory is not None:
            merging.refuse_faded()
        super().merge(replicas)

    def _merge_counts(self, replicas: Sequence[Replica[Any]], directions: Array | None, mean: Array | None) -> None:
        """Do nothing, for the same reason as `_count`."""

    def _choose_rank(self, spectrum: Array) -> int:
        return len(spectrum)

    def _rank_found(self) -> int:
        return 1 if self.spectrum is None else bulk_edge_rank(self.spectrum, self.refreshed_at)

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


class BoundedSpectrum(Spectrum):
    """The whole spectrum, with an estimated bound on the error of the directions that stand out from the noise.

    For beliefs that weigh all directions and also assume that θ* lies in the leading ones (`Frame.leading`).

    Parameters
    ----------
    growth
        As for `Spectrum`.
    """

    _state_names: ClassVar[tuple[str, ...]] = (*Spectrum._state_names, "rank_found")

    def __init__(self, growth: float = 0.1) -> None:
        super().__init__(growth)
        self.projection_error = "estimated"
        # How many stood out when the directions were found.
        self.rank_found = 1

    def params(self) -> dict[str, Any]:
        """Return the constructor's arguments."""
        return {"growth": self.growth}

    @property
    def leading(self) -> Array | None:
        """The directions that stood out."""
        return None if self.directions is None else self.directions[:, : self.rank_found]

    def merge(self, replicas: Sequence[Replica[Any]]) -> None:
        """Add up the second moments; how many directions stand out is found again with the directions.

        Defined here to declare that `rank_found` is taken care of (`merging.refuse_unknown`).
        """
        super().merge(replicas)

    def _count(self, vectors: Array) -> None:
        PCA._count(self, vectors)

    def _end_batch(self) -> None:
        PCA._end_batch(self)

    def _merge_counts(self, replicas: Sequence[Replica[Any]], directions: Array | None, mean: Array | None) -> None:
        PCA._merge_counts(self, replicas, directions, mean)

    def _choose_rank(self, spectrum: Array) -> int:
        return PCA._choose_rank(self, spectrum)

    def _rank_found(self) -> int:
        return self.rank_found

    def _keep(self, top: eigen.Top) -> None:
        """Keep all directions that are known, and how many of them stand out."""
        size, dim = top.vectors.shape[1], top.vectors.shape[0]
        self.directions = np.ascontiguousarray(top.vectors if size == dim else top.vectors[:, :-1])
        self.rank_found = top.rank

    def diagnostics(self) -> dict[str, Any]:
        """Return the same as PCA, for the directions that stand out."""
        found = PCA.diagnostics(self)
        return found if self.directions is None else found | {"rank": self.rank_found}
