"""PCA in O(dm) memory: a block power method over the stream of actions, for d in the tens of thousands."""

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from eigenbandits import inputs, merging
from eigenbandits.inputs import Array
from eigenbandits.merging import Replica
from eigenbandits.subspace import eigen
from eigenbandits.subspace.base import Frame, Subspace
from eigenbandits.subspace.error import estimated_error, subspace_distance
from eigenbandits.subspace.rank import bulk_edge_rank

# Directions followed beyond the rank, so that the gap after it is seen.
SPARE = 4
# Of a large decision set one action in up to this many is used, but no fewer; which ones changes from set to set.
STRIDE = 8
FEWEST = 16


class Streaming(Subspace):
    """The span of the leading eigenvectors of the second moment, which is never written down.

    A (d, q) block Q, q = m + 4, is held with its eigenvalues. Actions x add x (xᵀQ) to a sum; once they have grown in
    number by `growth`, the sum and Q diag(ℓ) n, which stands for all that came before, make one step of the power
    method (Mitliagkas, Caramanis and Jain 2013, with the past kept). What Q misses of a leading direction then falls
    as about 1/n, faster than the error of the sample itself, 1/√n.

    Parameters
    ----------
    rank
        m, or "auto": the number of the block's directions that stand out from the noise.
    projection_error
        "estimated" from the spectrum, or a number.
    growth
        How much the number of vectors grows between two steps.
    most
        The largest rank that "auto" can find; it fixes the size of the block.
    """

    _state_names: ClassVar[tuple[str, ...]] = (
        *Subspace._state_names,
        *("block", "values", "sums", "energy", "used", "fresh", "version", "directions", "spectrum", "shift"),
    )
    _derived_names: ClassVar[tuple[str, ...]] = ("_frame",)

    # A running mean would change what the sums were made of.
    finds_around_mean: ClassVar[bool] = False

    def __init__(
        self,
        rank: int | str = "auto",
        projection_error: str | float = "estimated",
        growth: float = 0.25,
        most: int = 16,
    ) -> None:
        super().__init__()
        self.rank = rank if rank == "auto" else inputs.whole(rank, "rank")
        if isinstance(projection_error, str):
            inputs.one_of(projection_error, "projection_error", ("estimated",))
        else:
            inputs.number(projection_error, "projection_error", least=0.0)
        self.projection_error = projection_error
        self.growth = inputs.number(growth, "growth", above=0.0)
        self.most = inputs.whole(most, "most")
        self.block: Array = np.zeros((0, 0))
        self.values: Array = np.zeros(0)
        self.sums: Array = np.zeros((0, 0))
        self.energy = 0.0
        self.used = 0
        self.fresh = 0
        self.version = 0
        self.shift = 1.0
        self.directions: Array | None = None
        self.spectrum: Array | None = None
        self._frame: Frame | None = None

    @property
    def ready(self) -> bool:
        """Whether any vector was seen."""
        return self.used + self.fresh > 0

    def start(self, dim: int, intercept: float = 0.0, around_mean: bool = False) -> None:
        """Set up the block: random directions that never change."""
        if self.rank != "auto" and int(self.rank) > dim:
            raise ValueError(f"rank is {self.rank}; expected at most the dimension of the actions, {dim}.")
        super().start(dim, intercept, around_mean)
        size = min(dim, SPARE + (self.most if self.rank == "auto" else int(self.rank)))
        self.block, _ = np.linalg.qr(np.random.default_rng(size).standard_normal((dim, size)))
        self.values = np.zeros(size)
        self.sums = np.zeros((dim, size))

    def observe(self, actions: Array, center: Array | None = None) -> None:
        """Add one decision set, or some of a large one, to the sums."""
        count = len(actions)
        stride = min(STRIDE, max(1, count // FEWEST))
        rows = actions[self.sets % stride :: stride]
        super().observe(actions)
        rows = rows if center is None else rows - center
        block = self.block.astype(rows.dtype, copy=False)
        self.sums += rows.T @ (rows @ block)
        self.energy += float(np.einsum("ij,ij->", rows, rows))
        self.fresh += len(rows)

    def merge(self, replicas: Sequence[Replica[Any]]) -> None:
        """Join the blocks: the leading directions of the sum of what each replica holds of its second moment.

        What a replica has left out stays out, as with every step; how far the joint span is from those of the
        replicas is counted as error until the next step.
        """
        merging.refuse_base(replicas, "a streaming subspace")
        super().merge(replicas)
        stepped = []
        for replica in replicas:
            part = self.clone()
            part.restore(replica.part.state())
            if part.fresh:
                part._step()
            if part.used:
                stepped.append(part)
        if not stepped:
            return
        self.energy = sum(part.energy for part in stepped)
        self.used, self.fresh = 0, sum(part.used for part in stepped)
        held = np.hstack([part.block * np.sqrt(part.values * part.used) for part in stepped])
        left, _, _ = np.linalg.svd(held, full_matrices=False)
        self.block = left[:, : self.block.shape[1]]
        self.sums = held @ (held.T @ self.block)
        self._step()
        self.shift = max(_distance(part.directions, self.directions) for part in stepped)

    def frame(self) -> Frame:
        """Return the subspace, after one more step if that is due."""
        if self.fresh and self.fresh >= self.growth * self.used:
            self._step()
        frame = self.current()
        assert frame is not None
        return frame

    def current(self) -> Frame | None:
        """Return the subspace of the last step."""
        if self._frame is None and self.directions is not None:
            self._frame = Frame(self.directions, None, self.intercept, self._error(), self.version, self.spectrum)
        return self._frame

    def _step(self) -> None:
        total = self.used + self.fresh
        product = (self.sums + self.block * (self.values * self.used)) / total
        block, values, _ = np.linalg.svd(product, full_matrices=False)
        self.spectrum = eigen.complete(values, self.energy / total, total, len(block))
        chosen = bulk_edge_rank(self.spectrum, total) if self.rank == "auto" else int(self.rank)
        rank = min(chosen, len(values) - (len(values) < len(block)))
        directions = np.ascontiguousarray(block[:, :rank])
        if self.directions is not None and self.directions.shape == directions.shape:
            inside = np.linalg.svd(self.directions.T @ directions, compute_uv=False)
            self.shift = float(np.sqrt(max(0.0, 1.0 - min(inside.min(), 1.0) ** 2)))
        else:
            self.shift = 1.0
        self.directions, self.block, self.values = directions, block, values
        self.used, self.fresh = total, 0
        self.sums[:] = 0.0
        self.version += 1
        self._frame = None

    def _error(self) -> float:
        if self.projection_error != "estimated":
            return float(self.projection_error)
        assert self.spectrum is not None and self.directions is not None
        # A span that still turns has not converged: the angle of the last step is added to the sample's own error.
        return min(1.0, estimated_error(self.spectrum, self.directions.shape[1], self.used) + self.shift)

    def diagnostics(self) -> dict[str, Any]:
        """Return the rank, the spectrum and the bound on the projection error."""
        frame = self.current()
        rank = None if frame is None else frame.directions.shape[1]
        error = 1.0 if frame is None else frame.error
        found = {"rank": rank, "spectrum": self.spectrum, "projection_error": error, "vectors_used": self.used}
        return super().diagnostics() | found


def _distance(first: Array | None, second: Array | None) -> float:
    """Return the sine of the largest angle between two spans; 1 where they have different ranks."""
    assert first is not None and second is not None
    return subspace_distance(first, second) if first.shape == second.shape else 1.0
