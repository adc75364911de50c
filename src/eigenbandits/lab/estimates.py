"""Rank and projection error as they can be estimated, beside the truth: which rule to trust, and how often it errs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from eigenbandits.centering import Centering
from eigenbandits.environments import LowRank
from eigenbandits.inputs import Array
from eigenbandits.lab import streams
from eigenbandits.lab.tables import aligned, percent
from eigenbandits.subspace import PCA
from eigenbandits.subspace.error import SAFETY, subspace_distance
from eigenbandits.subspace.rank import bulk_edge_rank

ARMS, DIM = 10, 100
# Rounds after which the estimates are looked at.
MOMENTS = (10, 100, 1000)
# Shuffles of the data that parallel analysis compares with.
SHUFFLES = 5
EDGE, GAP, THRESHOLD, PARALLEL = "bulk edge", "largest gap", "optimal threshold", "parallel analysis"
SPECTRAL, HALVES = "spectral", "halves"


@dataclass(frozen=True)
class Case:
    """A stream of decision sets: the paper's model, or vectors drawn from it that are not independent."""

    label: str
    environment: LowRank
    kind: streams.StreamKind = "independent"

    @property
    def has_subspace(self) -> bool:
        """Whether there is a rank to find."""
        return self.environment.rank < self.environment.dim


@dataclass(frozen=True)
class Sight:
    """What one run showed: by moment, the rank that each rule found, the true error, and each estimate of it.

    `nearest` is the largest truth/estimate of the spectral one over all rounds in which it was below 1.
    """

    label: str
    ranks: Mapping[str, Sequence[int]]
    truth: Sequence[float]
    errors: Mapping[str, Sequence[float]]
    nearest: float = 0.0


def cases() -> list[Case]:
    """Return the streams."""

    def model(rank: int = 4, **settings: object) -> LowRank:
        return LowRank(DIM, rank, ARMS, **settings)  # type: ignore[arg-type]

    return [
        Case("m=1 9×", model(1)),
        Case("m=4 9×", model()),
        Case("m=4 1×", model(perturbation=1.0)),
        Case("m=16 9×", model(16)),
        Case("λ₊/λ₋ = 100", model(spread=100.0)),
        Case("no subspace, m = d", model(DIM)),
        Case("large common mean", model(mean=10.0)),
        Case("near-duplicates", model(vectors="duplicates")),
        Case("heavy tails 9×", model(vectors="heavy")),
        Case("heavy tails 1×", model(perturbation=1.0, vectors="heavy")),
        Case("catalogue of 400", model(perturbation=1.0), "catalogue"),
        Case("catalogue, jitter", model(perturbation=1.0), "jitter"),
        Case("catalogue + query", model(perturbation=1.0), "query"),
        Case("walk, 0.9", model(perturbation=1.0), "walk"),
        Case("walk, 0.9, 9×", model(), "walk"),
        Case("sessions of 20", model(perturbation=1.0), "sessions"),
        Case("sessions of 20, 9×", model(), "sessions"),
    ]


def look(job: tuple[Case, int]) -> Sight:
    """Run one stream and note the estimates."""
    case, seed = job
    instance = case.environment.instance(seed)
    rank = case.environment.rank
    rng = np.random.default_rng(seed)
    sets = streams.sets(case.kind, case.environment, seed, MOMENTS[-1])
    center = "mean" if case.environment.mean else "none"
    centering = Centering(center)
    centering.start(sets[0])
    whole, halves = PCA(rank), (PCA(rank), PCA(rank))
    ranks: dict[str, list[int]] = {name: [] for name in (EDGE, GAP, THRESHOLD, PARALLEL)}
    errors: dict[str, list[float]] = {SPECTRAL: [], HALVES: []}
    truth: list[float] = []
    nearest, version = 0.0, 0
    for pca in (whole, *halves):
        pca.start(sets[0].shape[1], centering.intercept, centering.around_mean)
    for t, actions in enumerate(sets, start=1):
        for pca in (whole, halves[t % 2]):
            pca.observe(actions, centering.center_of(actions))
        frame = whole.frame()
        if frame.version != version:
            version, distance = frame.version, subspace_distance(frame.directions, instance.basis)
            nearest = max(nearest, distance / frame.error if 0.0 < frame.error < 1.0 else 0.0)
        if t not in MOMENTS:
            continue
        vectors = np.concatenate(sets[:t])
        vectors = vectors - vectors.mean(axis=0) if center == "mean" else vectors
        spectrum = np.maximum(np.linalg.eigvalsh(vectors.T @ vectors / len(vectors))[::-1], 0.0)
        ranks[EDGE].append(bulk_edge_rank(spectrum, whole.independent))
        ranks[GAP].append(largest_gap(spectrum))
        ranks[THRESHOLD].append(optimal_threshold(spectrum, len(vectors)))
        ranks[PARALLEL].append(parallel_analysis(vectors, spectrum, rng))
        first, second = (pca.frame().directions for pca in halves)
        truth.append(distance)
        errors[SPECTRAL].append(frame.error)
        errors[HALVES].append(min(1.0, SAFETY * 0.5 * subspace_distance(first, second)))
    return Sight(case.label, ranks, truth, errors, nearest)


def largest_gap(spectrum: Array) -> int:
    """Return the rank after which the spectrum falls most.

    Examples
    --------
    >>> largest_gap(np.array([5.0, 4.0, 1.0, 0.9]))
    2
    """
    return int(np.argmax(spectrum[:-1] - spectrum[1:])) + 1


def optimal_threshold(spectrum: Array, vectors: int) -> int:
    """Count the singular values above ω(β) times their median (Gavish and Donoho 2014, noise unknown).

    Examples
    --------
    >>> optimal_threshold(np.array([100.0, 81.0, 1.0, 1.0, 1.0]), 1_000)
    2
    """
    dim = len(spectrum)
    ratio = min(dim, vectors) / max(dim, vectors)
    factor = 0.56 * ratio**3 - 0.95 * ratio**2 + 1.82 * ratio + 1.43
    roots = np.sqrt(spectrum[: min(dim, vectors)])
    return max(1, int(np.count_nonzero(roots > factor * np.median(roots))))


def parallel_analysis(vectors: Array, spectrum: Array, rng: np.random.Generator) -> int:
    """Count the leading eigenvalues above all of their like in data whose columns were shuffled (Horn 1965)."""
    shuffled = np.zeros(len(spectrum))
    for _ in range(SHUFFLES):
        mixed = rng.permuted(vectors, axis=0)
        shuffled = np.maximum(shuffled, np.linalg.eigvalsh(mixed.T @ mixed / len(mixed))[::-1])
    below = np.flatnonzero(spectrum <= shuffled)
    return max(1, int(below[0])) if len(below) else len(spectrum)


def rank_table(sights: Sequence[Sight]) -> str:
    """Return the median rank that each rule finds after 10, 100 and 1,000 rounds."""
    rules = list(sights[0].ranks)
    truths = {case.label: str(case.environment.rank) for case in cases()}

    def cell(found: Sequence[Sight], rule: str) -> str:
        return " / ".join(f"{np.median([sight.ranks[rule][i] for sight in found]):g}" for i in range(len(MOMENTS)))

    return _by_case(sights, ["true m", *rules], lambda f: [truths[f[0].label], *(cell(f, rule) for rule in rules)])


def error_table(sights: Sequence[Sight]) -> str:
    """Return how large the estimated errors are beside the truth, and how often the truth exceeds them."""
    known = {case.label for case in cases() if case.has_subspace}

    def cells(found: Sequence[Sight]) -> list[str]:
        truth = np.array([sight.truth for sight in found])
        shown = [" / ".join(f"{value:.2f}" for value in np.median(truth, axis=0))]
        for name in (SPECTRAL, HALVES):
            estimates = np.array([sight.errors[name] for sight in found])
            shown += [
                " / ".join(f"{value:.2f}" for value in np.median(estimates / truth, axis=0)),
                percent(float(np.mean(truth > estimates)), 0),
            ]
        return [*shown, percent(float(np.mean([sight.nearest > 1.0 for sight in found])), 0)]

    headers = ["true error"]
    for name in (SPECTRAL, HALVES):
        headers += [f"{name}\nover the truth", "truth\nexceeds it"]
    headers.append(f"{SPECTRAL}: runs with\nit exceeded ever")
    return _by_case([sight for sight in sights if sight.label in known], headers, cells)


def _by_case(sights: Sequence[Sight], headers: Sequence[str], cells: Callable[[Sequence[Sight]], Sequence[str]]) -> str:
    labels = dict.fromkeys(sight.label for sight in sights)
    rows = [[label, *cells([sight for sight in sights if sight.label == label])] for label in labels]
    return aligned(["", *headers], rows)
