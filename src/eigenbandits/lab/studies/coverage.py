"""How often the truth leaves the confidence sets, compared with what the theorems allow, and how loose the sets are."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from eigenbandits import theory
from eigenbandits.algorithms import PSLB
from eigenbandits.belief import Both
from eigenbandits.belief.evidence import largest_norm
from eigenbandits.belief.projected import RADII
from eigenbandits.environments import Instance, LowRank
from eigenbandits.inputs import Array, probability
from eigenbandits.lab.experiments import Experiment, Record, Results, entry
from eigenbandits.lab.reporting.tables import aligned, percent
from eigenbandits.policy import Decision
from eigenbandits.subspace import PCA, Frame
from eigenbandits.subspace.error import SAFETY, subspace_distance

# How many δ each theorem spends: one on the noise, three on the subspace (Lemma 2), all four where both count.
ALLOWED = {"C_d": 1, "C_p": 3, "C_m": 4}
# Small enough that the estimate is never cut off at 1, so that its size without a factor can be read from it.
_TINY = 1e-9
# Safety factors for which the share of exceeded estimates is reported.
_FACTORS = (1.0, 1.05, 1.1, 1.15, 1.25, 1.5, 2.0)


class Bound(NamedTuple):
    """One confidence set: which, its radius, the source of ε, and whether δ is spent over the rounds.

    C_d is the ambient set, C_p that of projections, C_m the projected set.
    """

    set: str
    radius: str
    error: str
    anytime: bool = False

    def column(self, measure: str) -> str:
        """Return the column of the results that holds a measure of this set.

        Examples
        --------
        >>> Bound.from_column(Bound("C_m", "sharp", "estimated").column("nearest"))
        Bound(set='C_m', radius='sharp', error='estimated', anytime=False)
        """
        return ":".join((measure, self.set, self.radius, self.error, "anytime" if self.anytime else ""))

    @classmethod
    def from_column(cls, column: str) -> Bound:
        """Return the set that a column is about."""
        _, name, radius, error, anytime = column.split(":")
        return cls(name, radius, error, bool(anytime))


class CoverageMonitor:
    """PSLB with the true rank, as the theorems assume; it compares its confidence sets with the truth in each round."""

    def __init__(self, delta: float = 0.05, seed: int | None = None) -> None:
        self.delta = probability(delta, "delta")
        self.seed = seed
        self.nearest: dict[Bound, float] = {}
        self.looseness: dict[Bound, float] = {}
        self.first_below: dict[str, int] = {}
        self.safety = self.distance = 0.0

    def reveal(self, instance: Instance) -> None:
        """Read θ* and the subspace, and set up the policy whose sets are monitored."""
        self.instance, self.structure = instance, instance.structure
        self.gram = np.zeros((len(instance.theta), len(instance.theta)))  # Σ of the chosen actions
        self.monitored = PSLB(
            noise=instance.noise,
            rank=instance.basis.shape[1],
            theta_bound=instance.theta_bound,
            action_bound=instance.action_bound,
            delta=self.delta,
            seed=self.seed,
        )
        belief, pca = self.monitored.belief, self.monitored.subspace
        assert isinstance(belief, Both) and isinstance(pca, PCA)
        self.ambient, self.projected, self.pca = belief.ambient, belief.projected, pca
        self.frame_version = 0

    def choose(self, actions: Array) -> Decision:
        """Compare the sets with the truth as they stand when the choice is made."""
        decision = self.monitored.choose(actions)
        if self.instance.action_bound is None:
            evidence = self.ambient.evidence
            evidence.largest_norm = max(evidence.largest_norm, largest_norm(actions))
        self._compare()
        return decision

    def learn(self, decision: Decision, reward: float) -> None:
        """Learn, and add the action to Σ."""
        self.monitored.learn(decision, reward)
        self.gram += np.multiply.outer(decision.action, decision.action)

    def diagnostics(self) -> dict[str, float]:
        """Return what was measured so far.

        nearest: for each set the largest truth/bound over the rounds: above 1, the truth has left the set; an ε of 1
        or more says nothing and counts as 0. looseness: bound/truth in the last round. first_below: by the source of
        ε, the first round in which it was below 1. safety: the smallest factor on the estimated ε with which the true
        projection error would never have exceeded it.
        """
        found = {bound.column("nearest"): value for bound, value in self.nearest.items()}
        found |= {bound.column("looseness"): value for bound, value in self.looseness.items()}
        found |= {f"first_below:{source}": float(round_) for source, round_ in self.first_below.items()}
        return found | {"safety": self.safety}

    def _compare(self) -> None:
        theta, ambient, projected = self.instance.theta, self.ambient, self.projected
        distance = self._distance(theta - ambient.center, ambient.ridge)
        for radius in ("logdet", "paper"):
            self._note(Bound("C_d", radius, "none"), distance, ambient.omega(radius))
        frame = self.monitored.subspace.current()
        assert frame is not None
        if frame.version != self.frame_version:
            self._compare_frame(frame)
        # ‖φ‖_B in the subspace is ‖V̂φ‖_Z in the whole space.
        basis = frame.directions
        in_subspace = self._distance(basis @ (basis.T @ theta - projected.ellipse(frame).center), projected.ridge)
        # Center and shape do not depend on ε, nor on how δ is spent; the radii do.
        for anytime in (False, True):
            projected.anytime = anytime
            for source, error in self._errors(frame, anytime).items():
                self._note(Bound("C_p", "", source, anytime), self.distance, error, vacuous=error >= 1.0)
                for radius in RADII:
                    bound = projected.beta(replace(frame, error=error), self.monitored.round, radius)
                    self._note(Bound("C_m", radius, source, anytime), in_subspace, bound)
        projected.anytime = False

    def _compare_frame(self, frame: Frame) -> None:
        """Compare a new frame with the true subspace, and its estimated error with the true one."""
        self.frame_version = frame.version
        assert frame.spectrum is not None
        # For equal ranks ‖P̂ − P‖₂; for others what the proofs need of it, ‖(I − P̂)P‖₂.
        self.distance = subspace_distance(frame.directions, self.instance.basis)
        size = self.pca.estimate(_TINY) / _TINY
        # The numerical error of the eigenvectors is not statistical, and is added to every ε.
        self.safety = max(self.safety, _ratio(self.distance - self.pca.residual, size))
        for source, error in self._errors(frame, anytime=False).items():
            if error < 1.0:
                self.first_below.setdefault(source, self.monitored.round)

    def _errors(self, frame: Frame, anytime: bool) -> dict[str, float]:
        """Return ε by its source."""
        errors = {"estimated": frame.error}
        if self.structure is not None:
            delta = self.delta
            if anytime:
                delta = theory.spend(delta, self.pca.refreshed_set)
            dim, rank = frame.directions.shape
            bound = theory.projection_error(self.structure, self.pca.refreshed_at, dim, rank, delta)
            errors["theorem"] = min(1.0, bound + self.pca.residual)
        return errors

    def _distance(self, gap: Array, ridge: float) -> float:
        """Return ‖gap‖ in Σ + ridge · I."""
        return _root(float(gap @ self.gram @ gap + ridge * (gap @ gap)))

    def _note(self, bound: Bound, truth: float, size: float, vacuous: bool = False) -> None:
        ratio = _ratio(truth, size)
        self.nearest[bound] = max(self.nearest.get(bound, 0.0), 0.0 if vacuous else ratio)
        self.looseness[bound] = 1.0 / ratio if ratio > 0.0 else math.inf


def experiment(environment: LowRank, rounds: int = 1000, seeds: int = 200, delta: float = 0.05) -> Experiment:
    """Return the experiment whose results `summarize` reads: the seeds 0 to `seeds` − 1; see `CoverageMonitor`.

    The theorems' ε is measured only where the environment has a `Structure`.
    """
    CoverageMonitor(delta)  # refuses a bad δ
    return Experiment(
        name="coverage",
        policies={"PSLB": entry(CoverageMonitor, delta=delta)},
        environments={environment.name: environment},
        seeds=seeds,
        rounds=rounds,
        record=Record(points=1, accuracy=0),
        description="How often the truth leaves the confidence sets of PSLB.",
    )


def summarize(results: Results, delta: float) -> list[dict[str, Any]]:
    """Return one row for each set: how often the truth left it, what the theorem allows, and how loose it is.

    Examples
    --------
    >>> import tempfile
    >>> small = experiment(LowRank(dim=6, rank=2, arms=5), rounds=20, seeds=2)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     rows = summarize(small.run(folder, progress="none"), 0.05)
    >>> rows[0]["set"], rows[0]["radius"], rows[0]["left"]
    ('C_d', 'logdet', 0)
    """
    measured = (Bound.from_column(column) for column in results.columns if column.startswith("nearest:"))
    rows = []
    for bound in sorted(measured, key=_order):
        nearest = results.final(bound.column("nearest"))[0, 0]
        loose = float(np.median(results.final(bound.column("looseness"))[0, 0]))
        rows.append(
            bound._asdict()
            | departures(nearest, min(1.0, ALLOWED[bound.set] * delta))
            | {"bound_over_truth": loose if math.isfinite(loose) else None, "nearest": float(nearest.max())}
        )
    return rows


def departures(nearest: Array, allowed: float | None) -> dict[str, Any]:
    """Return in how many runs the truth left a set, and whether that is more often than allowed, if anything is.

    Parameters
    ----------
    nearest
        The largest truth/bound of each run: above 1, the truth has left the set.
    allowed
        The share of runs that is allowed. `limit` is three standard errors of a share of that size above it.
    """
    count, left = len(nearest), int(np.count_nonzero(nearest > 1.0))
    limit = None if allowed is None else allowed + 3.0 * math.sqrt(allowed * (1.0 - allowed) / count)
    holds = None if limit is None else left / count <= limit
    return {"runs": count, "left": left, "share": left / count, "allowed": allowed, "limit": limit, "holds": holds}


def exceeded(results: Results, safety: float) -> float:
    """Return the share of runs in which the estimated ε, with this factor on it, would have been exceeded."""
    return float(np.mean(results.final("safety") > safety))


def report(environment: LowRank, delta: float, results: Results, rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the rows of `summarize` as text, with what the columns mean and whether every set held."""
    factors = ", ".join(f"{factor:g}: {percent(exceeded(results, factor))}" for factor in _FACTORS)
    return "\n".join(
        (
            _table([row for row in rows if not row["anytime"]]),
            "",
            "With δ spent over the rounds (anytime=True):",
            _table([row for row in rows if row["anytime"]]),
            "",
            "left: runs in which the truth was outside in any round; limit: allowed plus three standard errors.",
            "loose: median of bound/truth in the last round; nearest: largest truth/bound over all runs and rounds",
            "(for C_p over those with ε below 1).",
            "C_d: OFUL's set; C_p: the subspace; C_m: the paper's projected set.",
            "The estimated ε is not proved; what is allowed there is the goal.",
            "theorem, estimated: the source of the bound ε on the projection error ‖P̂ − P‖; C_d needs none.",
            _below_one(environment, delta, results),
            f"Runs in which the true projection error exceeds the estimated ε with a factor of {factors} "
            f"(in use: {SAFETY:g}).",
            verdict(rows, ("set", "radius", "error")),
        )
    )


def verdict(rows: Sequence[Mapping[str, Any]], names: Sequence[str]) -> str:
    """Return a sentence on the sets that the truth left too often; `names` are the fields that name a row."""
    bad = [
        " ".join(filter(None, (*(str(row[name]) for name in names), "anytime" if row.get("anytime") else "")))
        for row in rows
        if row["holds"] is False
    ]
    if not bad:
        return "No set was left more often than allowed plus three standard errors."
    return f"Left more often than allowed plus three standard errors: {', '.join(bad)}."


def warm_up(environment: LowRank, delta: float) -> float:
    """Return t_w, the rounds after which the paper's ε first falls below 1; the environment must have a structure."""
    structure = environment.instance(0).structure
    assert structure is not None
    return theory.t_w(structure, arms=environment.arms, dim=environment.dim, rank=environment.rank, delta=delta)


def _order(bound: Bound) -> tuple[bool, int, int, str]:
    """Sort the sets as the tables show them; columns come back in alphabetical order."""
    radii = ("", "logdet", "paper", *RADII)
    return bound.anytime, ("C_d", "C_p", "C_m").index(bound.set), radii.index(bound.radius), bound.error


def _table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Put rows that differ only by the source of ε side by side."""
    pairs: dict[tuple[str, str], dict[str, Mapping[str, Any]]] = {}
    for row in rows:
        pairs.setdefault((row["set"], row["radius"]), {})[row["error"]] = row
    sources = ("theorem", "estimated")
    headers = ["set", "allowed", "limit"]
    headers += [f"{what}\n{source}" for what in ("left", "loose", "nearest") for source in sources]
    cells = []
    for (name, radius), found in pairs.items():
        some = next(iter(found.values()))
        # A set without ε has one number for both.
        sides = [found.get(source, found.get("none")) for source in sources]
        cells.append(
            [f"{name} {radius}".strip(), percent(some["allowed"]), percent(some["limit"])]
            + [percent(side["share"]) if side else "–" for side in sides]
            + [f"{side['bound_over_truth']:.2f}" if side and side["bound_over_truth"] else "–" for side in sides]
            + [f"{side['nearest']:.3f}" if side and side["nearest"] else "–" for side in sides]
        )
    return aligned(headers, cells)


def _below_one(environment: LowRank, delta: float, results: Results) -> str:
    """Return when ε falls below 1, so that a bound that never does is not mistaken for a good one."""
    structure = environment.instance(0).structure
    sentences = []
    for source in ("estimated",) if structure is None else ("theorem", "estimated"):
        column = f"first_below:{source}"
        rounds = results.final(column) if results.has(column) else np.empty(0)
        rounds = rounds[np.isfinite(rounds)]
        when = f" (median round {np.median(rounds):,.0f})" if len(rounds) else ""
        sentences.append(f"ε {source} fell below 1 in {len(rounds)} of {len(results.seeds)} runs{when}")
    if structure is not None:
        sentences.append(f"the paper's warm-up is t_w = {warm_up(environment, delta):,.0f} rounds")
    return "; ".join(sentences) + "."


def _ratio(truth: float, bound: float) -> float:
    # Where the subspace is the whole space the bound is 0, and so is the truth, up to rounding.
    if truth <= 1e-12:
        return 0.0
    return truth / bound if bound > 0.0 else math.inf


def _root(square: float) -> float:
    return math.sqrt(max(square, 0.0))
