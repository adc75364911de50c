"""PCA over every action of every decision set seen, rewarded or not (Algorithm 1, lines 3 to 5)."""

from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np

from eigenbandits import inputs, linalg, merging, theory
from eigenbandits.inputs import Array
from eigenbandits.merging import Replica
from eigenbandits.subspace import eigen
from eigenbandits.subspace.base import Frame, Subspace
from eigenbandits.subspace.effective import Effective
from eigenbandits.subspace.error import SAFETY, estimated_error
from eigenbandits.subspace.rank import bulk_edge, bulk_edge_rank

# Vectors wait in a block of this many rows and are added to the second moment by one rank-k update.
BLOCK = 128
# Where the second moment does not fit in the cache, adding a vector costs far more than reading it. Once `PLENTY`
# per dimension are known, further ones change little: of a large decision set one vector in up to `STRIDE` is added
# then, but no fewer than `FEWEST`; which ones changes from set to set.
PLENTY, STRIDE, FEWEST = 16, 32, 32
# One decision set in this many is examined for how much its actions resemble each other, and those of other sets.
SAMPLED = 16
# Steps of the block power method after a merge, which may start from a block that is far off.
_MERGING_STEPS = 16
# The paper's bounds on the projection error: of its appendix, and of its main text.
_THEOREMS = {"theorem": theory.projection_error, "theorem-main": theory.projection_error_main}
# Rows are summed as a product, which BLAS does quicker than NumPy sums; made once, since this is done in every round.
_ONES = np.ones(1024)


def is_sampled(number: int) -> bool:
    """Whether a decision set is examined closely: the first `SAMPLED`, then one in as many.

    At no fixed distance, as sets may take turns.
    """
    return number <= SAMPLED or (number * 0x9E3779B1 & 0xFFFFFFFF) * SAMPLED >> 32 == 0


class PCA(Subspace):
    """The span of the top `rank` eigenvectors of the second moment of all actions seen.

    Parameters
    ----------
    rank
        m, or "auto": the number of eigenvalues that stand out from the noise, chosen again at each refresh.
    projection_error
        How ‖P̂ − P‖₂ is bounded: "estimated" from the spectrum; "theorem" (Φ_t of the paper's appendix) and
        "theorem-main" (φ_δ/√t of its main text), which need `structure`; or a number.
    structure
        The problem's `theory.Structure`, for the two theorems.
    delta
        Probability spent on the bound, for the two theorems.
    anytime
        Spend `delta` over the decision sets seen, 6δ/(π²t²), so that a theorem holds for all of them at once.
    refresh
        "lazy": the eigenvectors are recomputed once the number of vectors has grown by `growth`, and once there are
        many of them only some of a large decision set are added; "every-round": all of them are, and the eigenvectors
        recomputed, in each round, exactly as in Algorithm 1.
    growth
        Between two refreshes the second moment moves by at most growth/(1 + growth) times the difference between
        the new vectors' second moment and the old one.
    """

    _state_names: ClassVar[tuple[str, ...]] = (
        *Subspace._state_names,
        *("moment", "total", "added", "refreshed_at", "refreshed_set", "version"),
        *("block", "directions", "spectrum", "residual", "error", "mean", "effective", "centered"),
    )
    _derived_names: ClassVar[tuple[str, ...]] = ("_frame",)

    # Steps of the block power method at one refresh, and the most dimensions in which all eigenvectors are found.
    steps: ClassVar[int] = eigen.STEPS
    dense: ClassVar[int] = eigen.DENSE

    def __init__(
        self,
        rank: int | str = "auto",
        projection_error: str | float = "estimated",
        structure: theory.Structure | None = None,
        delta: float = 0.01,
        refresh: str = "lazy",
        growth: float = 0.1,
        anytime: bool = False,
    ) -> None:
        super().__init__()
        self.rank = rank if rank == "auto" else inputs.whole(rank, "rank")
        if isinstance(projection_error, str):
            inputs.one_of(projection_error, "projection_error", ("estimated", *_THEOREMS))
        else:
            inputs.number(projection_error, "projection_error", least=0.0)
        if projection_error in _THEOREMS and structure is None:
            raise ValueError(
                f"projection_error is {projection_error!r} but structure is None; expected an eb.Structure."
            )
        self.projection_error = projection_error
        self.structure = structure
        self.delta = inputs.probability(delta, "delta")
        self.refresh = inputs.one_of(refresh, "refresh", ("lazy", "every-round"))
        self.growth = inputs.number(growth, "growth", least=0.0)
        self.anytime = bool(anytime)
        self.moment = linalg.SymmetricSum()
        self.total: Array = np.zeros(0)
        self.added = 0
        self.refreshed_at = 0
        self.refreshed_set = 0
        self.version = 0
        self.block: Array | None = None
        self.residual = 0.0
        self.error = 1.0
        self.effective = Effective()
        # Whether a center was subtracted from the vectors.
        self.centered = False
        self.directions: Array | None = None
        self.spectrum: Array | None = None
        self.mean: Array | None = None
        self._frame: Frame | None = None

    def restarted(self) -> Self:
        """Return one that has seen nothing, unless it was given what holds for one encoder's vectors only."""
        if self.structure is not None:
            raise ValueError(
                "this policy was given the structure of one encoder's vectors; make a new one with the new structure "
                "and let it learn from the log, embedded again, with learn_many()."
            )
        return super().restarted()

    @property
    def waiting(self) -> int:
        """Vectors that wait to be added together."""
        return BLOCK

    @property
    def waiting_first(self) -> int:
        """Vectors that wait at the start."""
        return self.waiting

    @property
    def ready(self) -> bool:
        """Whether any vector was seen."""
        return self.added > 0

    def start(self, dim: int, intercept: float = 0.0, around_mean: bool = False) -> None:
        """Set up the second moment."""
        if self.rank != "auto" and int(self.rank) > dim:
            raise ValueError(f"rank is {self.rank}; expected at most the dimension of the actions, {dim}.")
        super().start(dim, intercept, around_mean)
        self.moment.start(dim, self.waiting, first=self.waiting_first)
        self.total = np.zeros(dim)

    def observe(self, actions: Array, center: Array | None = None) -> None:
        """Add one decision set, or some of a large one, to the second moment."""
        Subspace.observe(self, actions)
        few = self.added < PLENTY * actions.shape[1]
        self._add(actions if few or self.refresh == "every-round" else self._some(actions), center)

    def observe_all(self, vectors: Array, center: Array | None = None) -> None:
        """Add all vectors, or some of them where many are known."""
        Subspace.observe(self, vectors)
        self._add(vectors if self.added < PLENTY * vectors.shape[1] else self._some(vectors), center)

    def _add(self, vectors: Array, center: Array | None) -> None:
        """Add vectors, less their center, to the second moment."""
        if center is not None:
            vectors = vectors - center
        self.centered = self.around_mean or center is not None
        count = len(vectors)
        self.added += count
        if self.around_mean:
            self.total += (_ONES[:count] if count <= len(_ONES) else np.ones(count)).dot(vectors)
        self._count(vectors)
        self.moment.add_rows(vectors)

    def merge(self, replicas: Sequence[Replica[Any]]) -> None:
        """Add up the second moments and find the eigenvectors of their sum."""
        super().merge(replicas)
        half, total = np.zeros(self.moment.half.shape, order="F"), np.zeros(len(self.total))
        for replica in replicas:
            part, offset = replica.part, replica.shift.offset
            one, sums = part.moment.copied(), part.total
            if offset is not None:
                # Σ(v + o)(v + o)ᵀ, given Σvvᵀ and Σv.
                crossed = np.multiply.outer(sums, offset)
                one += crossed + crossed.T + part.added * np.multiply.outer(offset, offset)
                sums = sums + part.added * offset
            half += replica.weight * one
            total += replica.weight * sums
        self.added = merging.count(replicas, "added")
        self.moment.reset(half)
        self.total = total
        self.centered = any(replica.part.centered for replica in replicas)
        known = next((one.part for one in replicas if one.part.directions is not None), self)
        self.block = known.block
        self._merge_counts(replicas, known.leading, known.mean)
        if self.added:
            # From wherever the replicas were; the next refresh may be far away.
            self._find(_MERGING_STEPS)

    def _merge_counts(self, replicas: Sequence[Replica[Any]], directions: Array | None, mean: Array | None) -> None:
        """Count what all the vectors are worth together; see `Effective`."""
        self.effective.merge(
            [replica.inside(replica.part.effective) for replica in replicas], self.added, directions, mean
        )
        for replica in merging.added(replicas):
            moment, offset = replica.part.moment, replica.shift.offset
            if moment.fill:
                waiting = moment.waiting[: moment.fill]
                self.effective.add_batch(waiting if offset is None else waiting + offset, directions, mean)

    def _count(self, vectors: Array) -> None:
        """Count what the vectors to be added are worth; see `Effective`."""
        if not self.effective.started:
            self.effective.start(vectors)
        if self.moment.fill + len(vectors) > BLOCK:
            self._end_batch()
        if len(vectors) > BLOCK:
            # A catalogue is many batches, all of whose vectors are examined; of a large set some are.
            for part in np.array_split(vectors, 16) if len(vectors) > 16 * BLOCK else (vectors,):
                self.effective.add_batch(part, self.leading, self.mean)
        if is_sampled(self.sets):
            self.effective.add_set(vectors, self.added, self.leading, self.mean)

    def _end_batch(self) -> None:
        """Compare the vectors that wait to be added with those before them, as one batch, and add them."""
        if self.moment.fill:
            self.effective.add_batch(self.moment.waiting[: self.moment.fill], self.leading, self.mean)
            self.moment.flush()

    def _some(self, actions: Array) -> Array:
        """Return an even sample of a large set in many dimensions, and all of any other."""
        count, dim = actions.shape
        if count < 2 * FEWEST or dim < linalg.LARGE:
            return actions
        stride = min(STRIDE, count // FEWEST)
        return actions[self.sets % stride :: stride]

    @property
    def leading(self) -> Array | None:
        """The directions that the error is about: all that were found."""
        return self.directions

    @property
    def independent(self) -> float:
        """How many independent vectors those seen are worth, as far as the resemblance between them shows."""
        return self.added / self.effective.inflation(self.added)

    def frame(self) -> Frame:
        """Return the subspace, recomputed if that is due."""
        growth = 0.0 if self.refresh == "every-round" else self.growth
        if self.added > self.refreshed_at and self.added >= (1.0 + growth) * self.refreshed_at:
            self._find()
        frame = self._frame or self.current()
        assert frame is not None
        return frame

    def current(self) -> Frame | None:
        """Return the frame of the last refresh; reading it must not change when the next refresh is due."""
        if self._frame is None and self.directions is not None:
            self._frame = Frame(
                self.directions, self.mean, self.intercept, self.error, self.version, self.spectrum, self._rank_found()
            )
        return self._frame

    def _rank_found(self) -> int:
        """Return how many directions stand out."""
        return 1 if self.directions is None else int(self.directions.shape[1])

    def _find(self, steps: int | None = None) -> None:
        """Find the top eigenvectors of the second moment, or of the covariance where actions are centered."""
        self._end_batch()
        dim, count = len(self.total), self.added
        self.mean = self.total / count if self.around_mean else None
        size = self._block_size(dim)
        if dim <= self.dense or 3 * size >= dim:
            matrix = self.moment.flush() / count
            if self.mean is not None:
                matrix -= np.multiply.outer(self.mean, self.mean)
            top = eigen.dense(matrix, self._choose_rank)
        else:
            trace = self.moment.trace() / count - (0.0 if self.mean is None else float(self.mean @ self.mean))
            guess = self._guess(dim, size)
            top = eigen.tracked(self._times, trace, count, guess, self._choose_rank, steps or self.steps)
            self.block = top.vectors
        self.spectrum, self.residual = top.spectrum, top.residual
        self._keep(top)
        self.effective.follow(self.spectrum, top.rank)
        self.refreshed_at, self.refreshed_set = self.added, self.sets
        self.error = self._error()
        self.version += 1
        self._frame = None

    def _keep(self, top: eigen.Top) -> None:
        """Keep the directions of the subspace."""
        self.directions = np.ascontiguousarray(top.vectors[:, : top.rank])

    def _times(self, columns: Array) -> Array:
        """Return the second moment, or the covariance, times a block."""
        product = self.moment.times_columns(columns) / self.added
        if self.mean is not None:
            product -= np.multiply.outer(self.mean, self.mean @ columns)
        return product

    def _choose_rank(self, spectrum: Array) -> int:
        return bulk_edge_rank(spectrum, self.independent) if self.rank == "auto" else int(self.rank)

    def _block_size(self, dim: int) -> int:
        """Return how many directions to follow: some more than the rank, so that the gap after it is seen."""
        rank = (8 if self.directions is None else self.directions.shape[1]) if self.rank == "auto" else int(self.rank)
        return min(dim, rank + 8)

    def _guess(self, dim: int, size: int) -> Array:
        """Return the last block, filled up to the size wanted with directions that never change."""
        fresh = np.random.default_rng(size).standard_normal((dim, size))
        if self.block is not None:
            kept = min(size, self.block.shape[1])
            fresh[:, :kept] = self.block[:, :kept]
        return fresh

    def _error(self) -> float:
        assert self.leading is not None
        dim, rank = self.leading.shape
        if self.projection_error == "estimated":
            return min(1.0, self.estimate() + self.residual)
        if isinstance(self.projection_error, str):
            assert self.structure is not None
            delta = theory.spend(self.delta, self.refreshed_set) if self.anytime else self.delta
            bound = _THEOREMS[self.projection_error](self.structure, self.refreshed_at, dim, rank, delta)
            return min(1.0, bound + self.residual)
        return float(self.projection_error)

    def estimate(self, safety: float = SAFETY) -> float:
        """Return the estimated ‖P̂ − P‖₂ of a frame just found, without the numerical error of its eigenvectors."""
        assert self.spectrum is not None and self.leading is not None
        inflation, largest = self.effective.doubt(self.added, self.sets, self.centered)
        return estimated_error(self.spectrum, self.leading.shape[1], self.added / inflation, safety, largest)

    def diagnostics(self) -> dict[str, Any]:
        """Return the rank, the spectrum and the bound on the projection error."""
        found: dict[str, Any] = {"rank": None, "spectrum": None, "projection_error": 1.0}
        frame = self.current()
        if frame is not None:
            found = {
                "rank": frame.directions.shape[1],
                "spectrum": frame.spectrum,
                "projection_error": frame.error,
                "vectors_added": self.added,
                "likeness_within_sets": self.effective.likeness,
                "independent_vectors": self.independent,
            }
            if self.rank == "auto" and frame.spectrum is not None:
                found["noise_edge"] = bulk_edge(frame.spectrum, self.independent)
        return super().diagnostics() | found
