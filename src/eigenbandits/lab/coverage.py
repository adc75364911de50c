"""How often the truth leaves the confidence sets, beside what the theorems grant, and how loose the sets are."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from eigenbandits import theory
from eigenbandits.algorithms import OFUL, PSLB, Random
from eigenbandits.belief import Both
from eigenbandits.belief.evidence import largest_norm
from eigenbandits.belief.projected import RADII
from eigenbandits.environments import Instance, LowRank
from eigenbandits.inputs import Array, one_of, probability, whole
from eigenbandits.lab.jobs import Progress, spread
from eigenbandits.lab.run import run
from eigenbandits.policy import Decision, Policy
from eigenbandits.subspace import PCA, Frame
from eigenbandits.subspace.error import subspace_distance

PLAYERS = ("PSLB", "OFUL", "Random")
# How many δ each theorem spends: one on the noise, three on the subspace (Lemma 2), all four where both count.
GRANTED = {"C_d": 1, "C_p": 3, "C_m": 4}
# Small enough that the estimate is never cut off at 1, so that its size without a factor can be read from it.
_TINY = 1e-9


class Bound(NamedTuple):
    """One confidence set: which, with which radius, with ε from where, and whether δ is spent over the rounds.

    C_d is the ambient set, C_p that of projections, C_m the projected set.
    """

    set: str
    radius: str
    error: str
    anytime: bool = False


@dataclass(frozen=True)
class Settings:
    """What is measured.

    Parameters
    ----------
    environment
        Where; the theorems' ε is there only where the environment has a `Structure`.
    rounds, seeds
        How long, and how often: on the seeds 0 to `seeds` − 1.
    delta
        δ.
    play
        Which policy's choices make the data: "PSLB", "OFUL" or "Random".
    refresh
        How often the subspace is found anew: "lazy" or "every-round".
    rank
        "told": the sets use the true rank, as the theorems suppose; "auto": the rank that the spectrum shows.
    """

    environment: LowRank
    rounds: int = 1000
    seeds: int = 200
    delta: float = 0.05
    play: str = "PSLB"
    refresh: str = "lazy"
    rank: str = "told"

    def __post_init__(self) -> None:
        """Refuse what cannot be measured."""
        whole(self.rounds, "rounds")
        whole(self.seeds, "seeds")
        probability(self.delta, "delta")
        one_of(self.play, "play", PLAYERS)
        one_of(self.refresh, "refresh", ("lazy", "every-round"))
        one_of(self.rank, "rank", ("told", "auto"))


@dataclass(frozen=True, eq=False)
class Sighting:
    """What was seen in one run.

    Attributes
    ----------
    nearest
        For each set the largest truth/bound over the rounds: above 1, the truth has left the set. An ε of 1 or more
        says nothing and counts as 0.
    looseness
        For each set bound/truth in the last round.
    safety
        The least factor on the estimated ε with which the true projection error would never have exceeded it.
    opened
        By where ε is from, the first round in which it was below 1, if there was one.
    """

    nearest: dict[Bound, float]
    looseness: dict[Bound, float]
    safety: float
    opened: dict[str, int]


class Witness:
    """A policy that is told the truth, plays as it is asked to, and notes in every round what the sets hold."""

    def __init__(self, settings: Settings, seed: int) -> None:
        self.settings = settings
        self.seed = seed
        self.nearest: dict[Bound, float] = {}
        self.looseness: dict[Bound, float] = {}
        self.opened: dict[str, int] = {}
        self.safety = self.tilt = 0.0

    def reveal(self, instance: Instance) -> None:
        """Be told θ* and the subspace, and set up the policy whose sets are watched."""
        settings = self.settings
        self.instance, self.structure = instance, instance.structure
        self.gram = np.zeros((len(instance.theta), len(instance.theta)))  # Σ of the chosen actions
        self.watched = PSLB(
            noise=instance.noise,
            rank=instance.basis.shape[1] if settings.rank == "told" else "auto",
            theta_bound=instance.theta_bound,
            action_bound=instance.action_bound,
            delta=settings.delta,
            refresh=settings.refresh,
            seed=self.seed,
        )
        belief, pca = self.watched.belief, self.watched.subspace
        assert isinstance(belief, Both) and isinstance(pca, PCA)
        self.ambient, self.projected, self.pca = belief.ambient, belief.projected, pca
        self.met = 0
        self.player: Policy = self.watched
        if settings.play == "OFUL":
            self.player = OFUL(noise=instance.noise, theta_bound=instance.theta_bound, delta=settings.delta)
        elif settings.play == "Random":
            self.player = Random(seed=self.seed)

    def choose(self, actions: Array) -> Decision:
        """Look at the sets as they stand when the choice is made."""
        decision = self.watched.choose(actions)
        if self.instance.action_bound is None:
            evidence = self.ambient.evidence
            evidence.largest_norm = max(evidence.largest_norm, largest_norm(actions))
        self._look()
        return decision if self.player is self.watched else self.player.choose(actions)

    def learn(self, decision: Decision, reward: float) -> None:
        """Teach everyone the same reward."""
        self.watched.learn(decision, reward)
        self.gram += np.multiply.outer(decision.action, decision.action)
        if self.player is not self.watched:
            self.player.learn(decision, reward)

    def sighting(self) -> Sighting:
        """Return what was seen."""
        return Sighting(self.nearest, self.looseness, self.safety, self.opened)

    def _look(self) -> None:
        theta, ambient, projected = self.instance.theta, self.ambient, self.projected
        distance = self._distance(theta - ambient.center, ambient.ridge)
        for radius in ("logdet", "paper"):
            self._note(Bound("C_d", radius, "none"), distance, ambient.omega(radius))
        frame = self.watched.subspace.current()
        assert frame is not None
        if frame.version != self.met:
            self._meet(frame)
        # ‖φ‖_B in the subspace is ‖V̂φ‖_Z in the whole space.
        basis = frame.directions
        in_subspace = self._distance(basis @ (basis.T @ theta - projected.ellipse(frame).center), projected.ridge)
        # Center and shape do not depend on ε, nor on how δ is spent; the radii do.
        for anytime in (False, True):
            projected.anytime = anytime
            for source, error in self._errors(frame, anytime).items():
                self._note(Bound("C_p", "", source, anytime), self.tilt, error, vacuous=error >= 1.0)
                for radius in RADII:
                    bound = projected.beta(replace(frame, error=error), self.watched.round, radius)
                    self._note(Bound("C_m", radius, source, anytime), in_subspace, bound)
        projected.anytime = False

    def _meet(self, frame: Frame) -> None:
        """Take note of a new frame: how far it is from the truth, and how far it thinks that it may be."""
        self.met = frame.version
        assert frame.spectrum is not None
        # For equal ranks ‖P̂ − P‖₂; for others what the proofs need of it, ‖(I − P̂)P‖₂.
        self.tilt = subspace_distance(frame.directions, self.instance.basis)
        size = self.pca.estimate(_TINY) / _TINY
        # What the eigenvectors may be off numerically is no matter of statistics, and is added to every ε.
        self.safety = max(self.safety, _ratio(self.tilt - self.pca.residual, size))
        for source, error in self._errors(frame, anytime=False).items():
            if error < 1.0:
                self.opened.setdefault(source, self.watched.round)

    def _errors(self, frame: Frame, anytime: bool) -> dict[str, float]:
        """Return ε by where it is from."""
        errors = {"estimated": frame.error}
        if self.structure is not None:
            delta = self.settings.delta
            if anytime:
                delta = theory.spend(delta, self.pca.refreshed_set)
            dim, rank = frame.directions.shape
            bound = theory.projection_error(self.structure, self.pca.refreshed_at, dim, rank, delta)
            errors["theorem"] = min(1.0, bound + self.pca.residual)
        return errors

    def _distance(self, gap: Array, ridge: float) -> float:
        """Return ‖gap‖ in Σ + ridge · I."""
        return _root(float(gap @ self.gram @ gap + ridge * (gap @ gap)))

    def _note(self, key: Bound, truth: float, bound: float, vacuous: bool = False) -> None:
        ratio = _ratio(truth, bound)
        self.nearest[key] = max(self.nearest.get(key, 0.0), 0.0 if vacuous else ratio)
        self.looseness[key] = 1.0 / ratio if ratio > 0.0 else math.inf


def cover(settings: Settings, workers: int = 1, progress: Progress | None = None) -> list[Sighting]:
    """Watch the sets on every seed; `workers` and `progress` as for `jobs.spread`.

    Examples
    --------
    >>> seen = cover(Settings(LowRank(dim=6, rank=2, arms=5), rounds=20, seeds=2))
    >>> seen[0].nearest[Bound("C_d", "logdet", "none")] < 1.0
    True
    """
    return spread(_watch, [(settings, seed) for seed in range(settings.seeds)], workers, progress)


def _watch(job: tuple[Settings, int]) -> Sighting:
    settings, seed = job
    witness = Witness(settings, seed)
    run(witness, settings.environment, settings.rounds, seed)
    return witness.sighting()


def summarise(sightings: Sequence[Sighting], delta: float) -> list[dict[str, Any]]:
    """Return one row for each set: how often it was left, what is granted, and how loose it is.

    `limit` is what is granted plus three standard errors of a share of that size.
    """
    runs = len(sightings)
    rows = []
    for key in sightings[0].nearest:
        nearest = np.array([sighting.nearest[key] for sighting in sightings])
        left = int(np.count_nonzero(nearest > 1.0))
        granted = min(1.0, GRANTED[key.set] * delta)
        loose = float(np.median([sighting.looseness[key] for sighting in sightings]))
        limit = granted + 3.0 * _root(granted * (1.0 - granted) / runs)
        rows.append(
            key._asdict()
            | {
                "runs": runs,
                "left": left,
                "share": left / runs,
                "granted": granted,
                "limit": limit,
                "holds": left / runs <= limit,
                "bound_over_truth": loose if math.isfinite(loose) else None,
                "nearest": float(nearest.max()),
            }
        )
    return rows


def exceeded(sightings: Sequence[Sighting], safety: float) -> float:
    """Return the share of runs in which the estimated ε, with this factor on it, would have been exceeded."""
    return float(np.mean([sighting.safety > safety for sighting in sightings]))


def _ratio(truth: float, bound: float) -> float:
    # Where the subspace is the whole space the bound is 0, and so is the truth, up to rounding.
    if truth <= 1e-12:
        return 0.0
    return truth / bound if bound > 0.0 else math.inf


def _root(square: float) -> float:
    return math.sqrt(max(square, 0.0))
