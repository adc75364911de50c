"""How often θ* leaves the certified set, ever, also where decision sets follow the rewards or know θ* itself."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import numpy as np

from eigenbandits.belief import MixtureSet
from eigenbandits.environments import LowRank, Round
from eigenbandits.inputs import Array, one_of, probability, whole
from eigenbandits.lab.jobs import Progress, spread
from eigenbandits.policy import Decision, Policy
from eigenbandits.rules import Optimism
from eigenbandits.subspace import PCA
from eigenbandits.subspace.error import subspace_distance

# Where decision sets are from:
# drawn       as the environment draws them, whatever happened;
# withdrawn   standing actions, of which the chosen one is sold out when its reward was better than expected;
# neighbors   half of each action is the present estimate;
# adversary   half of each action is the present error of the estimate, which only one who knows θ* can offer.
SETS = ("drawn", "withdrawn", "neighbors", "adversary")
# What is watched: ρ, the reading by the whole space, that by the subspace with its true ε and with the estimate, and
# the latter only where it decides.
WATCHED = ("rho", "whole", "subspace, true ε", "subspace, estimated ε", "subspace, deciding")
# With the estimated ε nothing is proved.
ASSUMED = ("subspace, estimated ε", "subspace, deciding")


@dataclass(frozen=True)
class Settings:
    """What is measured.

    Parameters
    ----------
    environment
        Where; its bounds on θ* and on the noise are told.
    rounds, seeds
        How long, and how often: on the seeds from `first_seed` on.
    delta
        δ.
    sets
        Where decision sets are from, one of `SETS`.
    first_seed
        The first seed.
    """

    environment: LowRank
    rounds: int = 1000
    seeds: int = 500
    delta: float = 0.05
    sets: str = "drawn"
    first_seed: int = 1000

    def __post_init__(self) -> None:
        """Refuse what cannot be measured."""
        whole(self.rounds, "rounds")
        whole(self.seeds, "seeds")
        whole(self.first_seed, "first_seed", least=0)
        probability(self.delta, "delta")
        one_of(self.sets, "sets", SETS)


@dataclass(eq=False)
class Sighting:
    """What was seen in one run: for each of `WATCHED` the largest truth/bound of squares over the rounds.

    Above 1 the truth has left the set; a set that is empty counts as infinity. `refuted` tells whether the reading by
    the subspace was ever left out, `regret` what was lost.
    """

    nearest: dict[str, float] = field(default_factory=lambda: dict.fromkeys(WATCHED, 0.0))
    refuted: bool = False
    regret: float = 0.0

    def note(self, name: str, truth: float, bound: float) -> None:
        """Take note of a truth and its bound."""
        ratio = truth / bound if bound > 0.0 else math.inf
        self.nearest[name] = max(self.nearest[name], ratio)


def cover(settings: Settings, workers: int = 1, progress: Progress | None = None) -> list[Sighting]:
    """Watch the set on every seed; `workers` and `progress` as for `jobs.spread`.

    Examples
    --------
    >>> seen = cover(Settings(LowRank(dim=6, rank=2, arms=5), rounds=20, seeds=2, sets="withdrawn"))
    >>> seen[0].nearest["rho"] < 1.0
    True
    """
    last = settings.first_seed + settings.seeds
    return spread(_watch, [(settings, seed) for seed in range(settings.first_seed, last)], workers, progress)


def _watch(job: tuple[Settings, int]) -> Sighting:
    settings, seed = job
    instance = settings.environment.instance(seed)
    theta, seen = instance.theta, Sighting()
    belief = MixtureSet(instance.noise, instance.theta_bound, settings.delta)
    subspace = PCA()
    policy = Policy(subspace, belief, Optimism(), seed=seed)
    noise_squares = 0.0
    offer = Offer(settings.sets, theta)
    for fresh in islice(instance.rounds(), settings.rounds):
        actions = offer.actions(fresh.actions, belief)
        values = actions @ theta
        decision = policy.choose(actions)
        frame = subspace.current()
        assert frame is not None
        _look(seen, belief, theta, noise_squares, subspace_distance(frame.directions, instance.basis))
        reward = Round(actions, values, fresh.noise, fresh.outcomes).reward(decision.index)
        policy.learn(decision, reward)
        offer.learn(decision, reward)
        noise_squares += (reward - float(values[decision.index])) ** 2
        seen.regret += float(values.max() - values[decision.index])
    return seen


def _look(seen: Sighting, belief: MixtureSet, theta: Array, noise_squares: float, tilt: float) -> None:
    """Compare the truth with the set; by the identity of the proof ‖θ* − θ̂‖²_Z needs no matrix."""
    seen.note("rho", noise_squares, belief.level())
    estimated, true = belief.squares(), belief.squares(tilt)
    inside, everywhere = belief.ridges
    assert inside.span is not None
    caught = float(np.sum((theta @ inside.span) ** 2))
    whole_energy = float(theta @ theta)
    truth = noise_squares + inside.inside * caught + inside.outside * (whole_energy - caught) - inside.residual
    seen.note("subspace, true ε", truth, true[0])
    seen.note("subspace, estimated ε", truth, estimated[0])
    if len(belief.radii()) == 2:
        seen.note("subspace, deciding", truth, estimated[0])
    seen.note("whole", noise_squares + everywhere.outside * whole_energy - everywhere.residual, estimated[1])
    seen.refuted |= estimated[0] < 0.0


class Offer:
    """Decision sets of one of the `SETS`, each a function of fresh vectors and of what has happened."""

    def __init__(self, kind: str, theta: Array) -> None:
        self.kind = kind
        self.theta = theta
        self.standing: Array | None = None
        self.sold: int | None = None

    def actions(self, fresh: Array, belief: MixtureSet) -> Array:
        """Return the next decision set."""
        if self.kind == "drawn":
            return fresh
        if self.kind == "withdrawn":
            if self.standing is None:
                self.standing = fresh.copy()
            elif self.sold is not None:
                self.standing[self.sold] = fresh[self.sold]
            return self.standing.copy()
        estimate = belief.structured.center if belief.structured.center.size else np.zeros_like(self.theta)
        pull = estimate if self.kind == "neighbors" else estimate - self.theta
        length = float(np.linalg.norm(pull))
        if length == 0.0:
            return fresh
        norms = np.linalg.norm(fresh, axis=1, keepdims=True)
        return np.asarray((fresh + norms * pull / length) / math.sqrt(2.0))

    def learn(self, decision: Decision, reward: float) -> None:
        """Take note of a reward."""
        self.sold = decision.index if reward > decision.estimate else None


def summarize(sightings: Sequence[Sighting], delta: float) -> list[dict[str, Any]]:
    """Return one row for each of `WATCHED`: how often it was left, what is granted, and how near the truth came.

    `limit` is what is granted plus three standard errors of a share of that size. With the estimated ε nothing is
    proved, and nothing granted.
    """
    runs = len(sightings)
    limit = delta + 3.0 * math.sqrt(delta * (1.0 - delta) / runs)
    rows = []
    for name in WATCHED:
        nearest = np.array([sighting.nearest[name] for sighting in sightings])
        left = int(np.count_nonzero(nearest > 1.0))
        claims = name not in ASSUMED
        rows.append(
            {
                "set": name,
                "runs": runs,
                "left": left,
                "share": left / runs,
                "granted": delta if claims else None,
                "limit": limit if claims else None,
                "holds": left / runs <= limit if claims else None,
                "nearest": float(np.median(nearest)),
                "refuted": float(np.mean([sighting.refuted for sighting in sightings])),
                "regret": float(np.mean([sighting.regret for sighting in sightings])),
            }
        )
    return rows
