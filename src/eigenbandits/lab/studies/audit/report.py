"""The audit of a set of vectors: one call, one page."""

import math
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from eigenbandits.inputs import Array, whole
from eigenbandits.lab.studies.audit import text
from eigenbandits.lab.studies.audit.simulation import SimulatedRegret, simulate
from eigenbandits.lab.studies.audit.spectrum import (
    CLEAR_GAP,
    ErrorPoint,
    decompose,
    eigengap,
    entropy_rank,
    participation_ratio,
    projection_errors,
)
from eigenbandits.lab.studies.audit.vectors import Vectors, as_vectors, read
from eigenbandits.subspace.error import estimated_error
from eigenbandits.subspace.rank import bulk_edge_rank

# Below this many distinct vectors per dimension a spectrum is not reliable.
_RELIABLE = 10


@dataclass(frozen=True, eq=False)
class Audit:
    """What vectors show before any reward is known. Its `str` is a page of text.

    Attributes
    ----------
    vectors, dim : int
        The number of vectors examined, and the length of each.
    offered : int
        The number given; more than `vectors` if a sample was taken.
    arms : int
        K, the vectors in a decision set; taken as 10 for a catalogue (n, d).
    catalogue : bool
        Whether they came as (n, d).
    zeros, duplicates : int
        Vectors that are zero, and vectors that equal an earlier one.
    mean_share : float
        ‖mean‖² as a share of the mean ‖x‖².
    center : {"none", "mean"}
        "mean" where the mean would be the strongest of all directions, and say nothing about which vector is best.
    spectrum : ndarray of shape (d,)
        The eigenvalues, in descending order, of the second moment, around the mean if `center` says so.
    participation, entropy : float
        Two effective ranks: (Σℓ)²/Σℓ² and exp of the entropy of the shares of the energy.
    rank : int
        The proposed m: the eigenvalues that stand out of the bulk that noise would fill; at least 1.
    structured : bool
        Whether these m directions, fewer than d, stand clear of the rest.
    energy : float
        The share of the energy in the first m directions.
    gap_rank, gap : int, float
        After which eigenvalue the spectrum falls by the largest factor, and the factor.
    projection : tuple of ErrorPoint
        How the error of the subspace falls with the rounds.
    comparison : SimulatedRegret or None
        The simulation, on which all advice is based; None if it was skipped.
    rounds, seeds : int
        Its length, and the number of θ*.
    warnings : tuple of str
        What the user should know.
    """

    vectors: int
    dim: int
    offered: int
    arms: int
    catalogue: bool
    zeros: int
    duplicates: int
    mean_share: float
    center: str
    spectrum: Array
    participation: float
    entropy: float
    rank: int
    structured: bool
    energy: float
    gap_rank: int
    gap: float
    projection: tuple[ErrorPoint, ...]
    comparison: SimulatedRegret | None
    rounds: int
    seeds: int
    warnings: tuple[str, ...]

    @property
    def agree(self) -> bool:
        """Whether the edge of the bulk and the largest gap propose the same rank."""
        return self.rank == self.gap_rank

    @property
    def reason(self) -> str:
        """Why this rank."""
        return text.reason(self)

    @property
    def verdict(self) -> str:
        """What the spectrum shows and which policy did best in the simulation, in a few sentences."""
        return text.verdict(self)

    @property
    def code(self) -> str:
        """The lines to start with."""
        return text.code(self)

    def __str__(self) -> str:
        return text.page(self)


def audit(
    actions: Any, *, arms: int = 10, rounds: int = 300, seeds: int = 4, gain: bool = True, name: str | None = None
) -> Audit:
    """Report what vectors show and which policy to start with, from the vectors alone.

    Parameters
    ----------
    actions : array of shape (n, d) or (t, K, d), or path
        A catalogue, or decision sets; or the .npy, .npz or .parquet file of one.
    arms : int
        K for a catalogue, which does not say how many vectors are offered at once.
    rounds, seeds : int
        The length of the simulation, and the number of θ* in each place.
    gain : bool
        False skips the simulation, which takes nearly all of the time.
    name : str, optional
        The array or column, if the file has several.

    Returns
    -------
    Audit

    Examples
    --------
    >>> import numpy as np
    >>> import eigenbandits as eb
    >>> rng = np.random.default_rng(0)
    >>> hidden = rng.standard_normal((3, 40))
    >>> vectors = 2.0 * rng.standard_normal((2_000, 3)) @ hidden + rng.standard_normal((2_000, 40))
    >>> found = eb.audit(vectors, gain=False)
    >>> found.rank, found.gap_rank, found.center
    (3, 3, 'none')
    """
    whole(arms, "arms", least=2)
    whole(rounds, "rounds")
    whole(seeds, "seeds", least=2)
    vectors = read(Path(actions), name) if isinstance(actions, str | PathLike) else as_vectors(actions)
    rows = vectors.rows
    largest = float(np.abs(rows).max())
    if largest == 0.0:
        raise ValueError("all vectors are zero; expected vectors that differ.")
    # Scaled to 1, so that squares neither overflow nor underflow; no result depends on it.
    vectors = Vectors(rows / largest, vectors.arms, vectors.offered)
    rows = vectors.rows
    arms = min(vectors.arms or arms, len(rows))
    distinct = len({row.tobytes() for row in rows + 0.0})
    if distinct == 1:
        raise ValueError("all vectors are the same; expected vectors that differ.")
    mean = rows.mean(axis=0)
    share = float(mean @ mean) / float(np.square(rows).sum(axis=1).mean())
    center = "mean"
    spectrum, eigenvectors = decompose(rows, center)
    if float(mean @ mean) <= spectrum[0]:
        center = "none"
        spectrum, eigenvectors = decompose(rows, center)
    rank = bulk_edge_rank(spectrum, distinct)
    span = eigenvectors[:, :rank]
    structured = rank < rows.shape[1] and estimated_error(spectrum, rank, distinct) < 1.0
    gap_rank, gap = eigengap(spectrum, distinct)
    places: dict[str, Array | None] = {}
    if structured:
        places[f"in the first {rank} of {rows.shape[1]} directions"] = span
        if gap_rank != rank and gap >= CLEAR_GAP:
            places[f"in the first {gap_rank}"] = eigenvectors[:, :gap_rank]
    places["anywhere"] = None
    return Audit(
        vectors=len(rows),
        dim=rows.shape[1],
        offered=vectors.offered,
        arms=arms,
        catalogue=vectors.arms is None,
        zeros=int((~rows.any(axis=1)).sum()),
        duplicates=len(rows) - distinct,
        mean_share=share,
        center=center,
        spectrum=spectrum * largest**2,
        participation=participation_ratio(spectrum),
        entropy=entropy_rank(spectrum),
        rank=rank,
        structured=structured,
        energy=float(spectrum[:rank].sum() / spectrum.sum()),
        gap_rank=gap_rank,
        gap=gap,
        projection=projection_errors(vectors, spectrum, span, center, arms, distinct / len(rows)),
        comparison=simulate(vectors, places, center, arms, rounds, seeds) if gain and arms > 1 else None,
        rounds=rounds,
        seeds=seeds,
        warnings=tuple(_warnings(vectors, distinct, rank, gap_rank, gap, arms, gain)),
    )


def _warnings(
    vectors: Vectors, distinct: int, rank: int, gap_rank: int, gap: float, arms: int, gain: bool
) -> list[str]:
    dim = vectors.rows.shape[1]
    found = []
    if distinct < _RELIABLE * dim:
        found.append(
            f"{distinct:,} distinct vectors are few for {dim} dimensions: the spectrum and m are not reliable yet; "
            f"run the audit again with {_RELIABLE * dim:,} or more."
        )
    if len(vectors.rows) < vectors.offered:
        found.append(f"a random sample of {len(vectors.rows):,} of {vectors.offered:,} vectors was examined.")
    if rank != gap_rank and gap >= CLEAR_GAP:
        found.append(
            f"the bulk edge says m = {rank}, the largest gap (a factor of {gap:.1f}) m = {gap_rank}: "
            "only rewards can show which of them matter, and EigenUCB learns it from them."
        )
    if gain and arms < 2:
        found.append("decision sets of one vector leave nothing to choose, so nothing was simulated.")
    if rank > dim / 2 and not math.isinf(gap):
        found.append(f"{rank} of {dim} directions stand out, which is not a low rank: a subspace saves little here.")
    return found
