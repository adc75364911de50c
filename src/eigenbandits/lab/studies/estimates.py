"""Estimates of the rank and of the projection error against the truth: which to trust, and how often each is wrong."""

from collections.abc import Callable, Sequence
from types import SimpleNamespace

import numpy as np

from eigenbandits.environments import Instance
from eigenbandits.inputs import Array
from eigenbandits.lab.experiments import Experiment, Record, Results, entry
from eigenbandits.lab.reporting.tables import aligned, percent
from eigenbandits.lab.studies.streams import DependentSets
from eigenbandits.policy.centering import Centering
from eigenbandits.subspace import PCA
from eigenbandits.subspace.error import SAFETY, subspace_distance
from eigenbandits.subspace.rank import bulk_edge_rank

ARMS, DIM = 10, 100
# Rounds after which the estimates are recorded.
MOMENTS = (10, 100, 1000)
# Shuffles of the data that parallel analysis compares with.
SHUFFLES = 5
EDGE, GAP, THRESHOLD, PARALLEL = "bulk edge", "largest gap", "optimal threshold", "parallel analysis"
RULES = (EDGE, GAP, THRESHOLD, PARALLEL)
SPECTRAL, HALVES = "spectral", "halves"
ESTIMATES = (SPECTRAL, HALVES)


def environments() -> dict[str, DependentSets]:
    """Return the streams: the paper's model, or vectors drawn from it that are not independent."""

    def model(rank: int = 4, **settings: object) -> DependentSets:
        return DependentSets(DIM, rank, ARMS, **({"length": MOMENTS[-1]} | settings))  # type: ignore[arg-type]

    return {
        "m=1 9×": model(1),
        "m=4 9×": model(),
        "m=4 1×": model(perturbation=1.0),
        "m=16 9×": model(16),
        "λ₊/λ₋ = 100": model(spread=100.0),
        "no subspace, m = d": model(DIM),
        "large common mean": model(mean=10.0),
        "near-duplicates": model(vectors="duplicates"),
        "heavy tails 9×": model(vectors="heavy"),
        "heavy tails 1×": model(perturbation=1.0, vectors="heavy"),
        "catalogue of 400": model(perturbation=1.0, stream="catalogue"),
        "catalogue, jitter": model(perturbation=1.0, stream="jitter"),
        "catalogue + query": model(perturbation=1.0, stream="query"),
        "walk, 0.9": model(perturbation=1.0, stream="walk"),
        "walk, 0.9, 9×": model(stream="walk"),
        "sessions of 20": model(perturbation=1.0, stream="sessions"),
        "sessions of 20, 9×": model(stream="sessions"),
    }


class EstimateMonitor:
    """A policy that always chooses the first action, and compares estimates from all vectors with the truth.

    Projection errors are estimated with the true `rank`. The rules are applied after the rounds `moments`; the seed is
    that of the shuffles.
    """

    def __init__(
        self, rank: int, center: str = "none", moments: Sequence[int] = MOMENTS, seed: int | None = None
    ) -> None:
        self.rank, self.center, self.moments, self.seed = rank, center, tuple(moments), seed
        self._rng = np.random.default_rng(seed)
        self._centering = Centering(center)
        self._whole, self._halves = PCA(rank), (PCA(rank), PCA(rank))
        self._sets: list[Array] = []
        self._nearest = self._distance = 0.0
        self._version = 0

    def reveal(self, instance: Instance) -> None:
        """Read the true subspace."""
        self._basis = instance.basis

    def choose(self, actions: Array) -> SimpleNamespace:
        """Observe the actions."""
        if not self._sets:
            self._centering.start(actions)
            for pca in (self._whole, *self._halves):
                pca.start(actions.shape[1], self._centering.intercept, self._centering.around_mean)
        self._sets.append(actions)
        for pca in (self._whole, self._halves[len(self._sets) % 2]):
            pca.observe(actions, self._centering.center_of(actions))
        frame = self._whole.frame()
        if frame.version != self._version:
            self._version, self._distance = frame.version, subspace_distance(frame.directions, self._basis)
            if 0.0 < frame.error < 1.0:
                self._nearest = max(self._nearest, self._distance / frame.error)
        return SimpleNamespace(index=0)

    def learn(self, decision: object, reward: float) -> None:
        """Learn nothing."""

    def diagnostics(self) -> dict[str, float]:
        """Return the rank by each rule, the true error, its estimates, and the largest truth/estimate so far.

        The last is over all rounds in which the spectral estimate was below 1.
        """
        if len(self._sets) not in self.moments:
            return {}
        vectors = np.concatenate(self._sets)
        vectors = vectors - vectors.mean(axis=0) if self.center == "mean" else vectors
        spectrum = np.maximum(np.linalg.eigvalsh(vectors.T @ vectors / len(vectors))[::-1], 0.0)
        first, second = (pca.frame().directions for pca in self._halves)
        return {
            f"rank:{EDGE}": bulk_edge_rank(spectrum, self._whole.independent),
            f"rank:{GAP}": largest_gap(spectrum),
            f"rank:{THRESHOLD}": optimal_threshold(spectrum, len(vectors)),
            f"rank:{PARALLEL}": parallel_analysis(vectors, spectrum, self._rng),
            "truth": self._distance,
            f"error:{SPECTRAL}": self._whole.frame().error,
            f"error:{HALVES}": min(1.0, SAFETY * 0.5 * subspace_distance(first, second)),
            "nearest": self._nearest,
        }


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
    """Count the leading eigenvalues above those of data whose columns were shuffled (Horn 1965)."""
    shuffled = np.zeros(len(spectrum))
    for _ in range(SHUFFLES):
        mixed = rng.permuted(vectors, axis=0)
        shuffled = np.maximum(shuffled, np.linalg.eigvalsh(mixed.T @ mixed / len(mixed))[::-1])
    below = np.flatnonzero(spectrum <= shuffled)
    return max(1, int(below[0])) if len(below) else len(spectrum)


def experiment(seeds: int = 20, first_seed: int = 0) -> Experiment:
    """Return the experiment whose results the tables read."""
    return Experiment(
        name="estimates",
        policies={"estimates": entry(EstimateMonitor, rank="$rank", center="$center")},
        environments=environments(),
        seeds=range(first_seed, first_seed + seeds),
        rounds=MOMENTS[-1],
        # Logarithmic spacing keeps the rounds 1, 10, 100 and 1,000.
        record=Record(points=len(MOMENTS) + 1, spacing="log", accuracy=0),
        description="Rules that estimate the rank, and estimates of the projection error, compared with the truth.",
    )


def rank_table(results: Results) -> str:
    """Return the median rank that each rule finds after 10, 100 and 1,000 rounds."""

    def cells(label: str) -> list[str]:
        found = (np.median(moments(results, f"rank:{rule}", label), axis=0) for rule in RULES)
        return [str(rank_of(results, label)), *(" / ".join(f"{value:g}" for value in values) for values in found)]

    return _by_environment(results.environments, ["true m", *RULES], cells)


def error_table(results: Results) -> str:
    """Return how large the estimated errors are compared with the truth, and how often the truth exceeds them."""

    def cells(label: str) -> list[str]:
        truth = moments(results, "truth", label)
        shown = [" / ".join(f"{value:.2f}" for value in np.median(truth, axis=0))]
        for name in ESTIMATES:
            estimates = moments(results, f"error:{name}", label)
            shown += [
                " / ".join(f"{value:.2f}" for value in np.median(estimates / truth, axis=0)),
                percent(float(np.mean(truth > estimates)), 0),
            ]
        return [*shown, percent(float(np.mean(moments(results, "nearest", label)[:, -1] > 1.0)), 0)]

    headers = ["true error"]
    for name in ESTIMATES:
        headers += [f"{name}\nover the truth", "truth\nexceeds it"]
    headers.append(f"{SPECTRAL}: runs in which\nit was ever exceeded")
    return _by_environment([e for e in results.environments if rank_of(results, e) < DIM], headers, cells)


def rank_of(results: Results, label: str) -> int:
    """Return the true rank of an environment."""
    return int(results.about["settings"]["environments"][label]["rank"])


def moments(results: Results, column: str, label: str) -> Array:
    """Return a column (seeds, moments) on one environment."""
    found = results.curve(column, results.policies[0], label)
    return found.values[:, np.isin(found.rounds, MOMENTS)]


def _by_environment(labels: Sequence[str], headers: Sequence[str], cells: Callable[[str], Sequence[str]]) -> str:
    return aligned(["", *headers], [[label, *cells(label)] for label in labels])
