"""What a spectrum shows: how many dimensions it fills, how many stand out, and how well they are known."""

import math
from dataclasses import dataclass

import numpy as np

from eigenbandits.inputs import Array
from eigenbandits.lab.studies.audit.vectors import Vectors
from eigenbandits.policy.centering import Centering
from eigenbandits.subspace import PCA
from eigenbandits.subspace.error import estimated_error, subspace_distance

# A step of the spectrum is a gap from this ratio on.
CLEAR_GAP = 1.5
_HORIZONS = (10, 30, 100, 300, 1_000, 3_000, 10_000)
_DRAWS = 3


@dataclass(frozen=True)
class ErrorPoint:
    """How well the subspace is known after some rounds: ‖P̂ − P‖₂ as the spectrum suggests, and as measured.

    It is measured as the distance to the subspace of all vectors with that many decision sets drawn from them; None if
    the file does not have twice as many.
    """

    rounds: int
    estimated: float
    measured: float | None


def participation_ratio(spectrum: Array) -> float:
    """Return (Σℓ)²/Σℓ²: how many equal eigenvalues would spread the energy as much.

    Examples
    --------
    >>> participation_ratio(np.array([2.0, 2.0, 0.0]))
    2.0
    """
    return float(spectrum.sum() ** 2 / np.square(spectrum).sum())


def entropy_rank(spectrum: Array) -> float:
    """Return exp(−Σ p log p) of the shares p of the energy (Roy and Vetterli 2007, with eigenvalues).

    Examples
    --------
    >>> round(entropy_rank(np.array([1.0, 1.0, 1.0, 1.0])), 6)
    4.0
    """
    shares = spectrum[spectrum > 0.0] / spectrum.sum()
    return float(np.exp(-(shares * np.log(shares)).sum()))


def eigengap(spectrum: Array, vectors: int) -> tuple[int, float]:
    """Return after which eigenvalue the spectrum falls by the largest factor, and the factor.

    Only the first half of what n vectors can fill is considered: at its end a sample's spectrum falls off anyway.

    Examples
    --------
    >>> eigengap(np.array([8.0, 7.0, 1.0, 0.9, 0.8, 0.7]), 1_000)
    (2, 7.0)
    >>> eigengap(np.array([3.0, 0.0]), 1_000)
    (1, inf)
    """
    most = max(1, min(len(spectrum), vectors) // 2)
    if len(spectrum) == 1:
        return 1, 1.0
    # Values below rounding are zero.
    clean = np.where(spectrum > 1e-12 * spectrum[0], spectrum, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        falls = np.nan_to_num(clean[:most] / clean[1 : most + 1], nan=1.0, posinf=math.inf)
    place = int(falls.argmax())
    return place + 1, float(falls[place])


def decompose(rows: Array, center: str) -> tuple[Array, Array]:
    """Return all eigenvalues, descending, and the eigenvectors (in columns) of the second moment or the covariance."""
    moment = rows.T @ rows / len(rows)
    if center == "mean":
        mean = rows.mean(axis=0)
        moment -= np.outer(mean, mean)
    values, vectors = np.linalg.eigh(moment)
    return np.maximum(values[::-1], 0.0), np.ascontiguousarray(vectors[:, ::-1])


def _span(rows: Array, center: str, rank: int) -> Array:
    """Return the (d, m) subspace that PSLB finds in some vectors."""
    centering = Centering(center)
    centering.start(rows)
    pca = PCA(rank)
    pca.start(rows.shape[1], centering.intercept, centering.around_mean)
    pca.observe(rows, centering.center_of(rows))
    return pca.frame().directions


def projection_errors(
    vectors: Vectors, spectrum: Array, directions: Array, center: str, arms: int, distinct: float
) -> tuple[ErrorPoint, ...]:
    """Return how the projection error falls with the rounds, estimated from the spectrum and measured by resampling.

    `spectrum` and `directions` (d, m) are what all vectors give; `distinct` is the share of them that are no copies.
    """
    rank = directions.shape[1]
    rng = np.random.default_rng(0)
    points = []
    for rounds in _HORIZONS:
        measured = None
        if 2 * rounds * arms <= len(vectors.rows) and rank <= rounds * arms:
            found = [_span(_sample(vectors, rounds, arms, rng), center, rank) for _ in range(_DRAWS)]
            measured = float(np.mean([subspace_distance(each, directions) for each in found]))
        points.append(ErrorPoint(rounds, estimated_error(spectrum, rank, rounds * arms * distinct), measured))
    return tuple(points)


def _sample(vectors: Vectors, rounds: int, arms: int, rng: np.random.Generator) -> Array:
    """Return the vectors of some rounds: whole decision sets, or rows of a catalogue."""
    if vectors.arms is None:
        return vectors.rows[rng.choice(len(vectors.rows), rounds * arms, replace=False)]
    sets = vectors.rows.reshape(-1, vectors.arms, vectors.rows.shape[1])
    return sets[rng.choice(len(sets), rounds, replace=False)].reshape(rounds * arms, -1)
