"""What PSLB would save over OFUL on these very vectors: a simulation, since only rewards could say for sure."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from importlib.util import find_spec
from typing import cast

import numpy as np

from eigenbandits import files
from eigenbandits.algorithms import OFUL, PSLB
from eigenbandits.auditing.sources import Vectors
from eigenbandits.environments import Round
from eigenbandits.inputs import Array
from eigenbandits.lab.run import run
from eigenbandits.lab.tables import standard_error
from eigenbandits.policy import Policy

NOISE = 0.5
# The standard deviation of the expected rewards within a decision set: rewards then mostly stay within ±½.
SIGNAL = 0.2
# Vectors that PSLB is shown before the first round.
_SHOWN = 20_000
# Decision sets from which the size of the values is taken.
_LOOKS = 500


@dataclass(frozen=True)
class Gain:
    """What was lost by each policy in the simulation, with θ* drawn in one place.

    Attributes
    ----------
    where : str
        θ* lay in a uniformly random direction of this place.
    pslb, oful, ridge : (float, float)
        Mean regret and its standard error: of PSLB with nothing but the noise set; of OFUL with its log-det radius,
        λ = 1 and the true norm of θ* as S; and of OFUL with λ = R²d/S².
    chance : float
        The mean regret of choosing blindly.
    """

    where: str
    pslb: tuple[float, float]
    oful: tuple[float, float]
    ridge: tuple[float, float]
    chance: float

    @property
    def times(self) -> float:
        """By how much the better OFUL loses more than PSLB."""
        return min(self.oful[0], self.ridge[0]) / max(self.pslb[0], 1e-12)

    @property
    def error(self) -> float:
        """The standard error of `times`, by the delta method and as if the two were independent."""
        best = min(self.oful, self.ridge)
        return self.times * math.hypot(best[1] / max(best[0], 1e-12), self.pslb[1] / max(self.pslb[0], 1e-12))


class Simulated:
    """One problem on given vectors: decision sets drawn from them with replacement, a random θ*, Gaussian noise."""

    structure = None
    action_bound = None
    noise = NOISE
    name = "Simulated"

    def __init__(self, vectors: Vectors, arms: int, span: Array | None, seed: int) -> None:
        self._rows = vectors.rows
        self._sets = None if vectors.arms is None else len(vectors.rows) // vectors.arms
        self._arms = arms
        self._seed = seed
        rng = np.random.default_rng([seed, 1])
        dim = vectors.rows.shape[1]
        direction: Array = np.asarray(rng.standard_normal(dim))
        if span is not None:
            direction = np.asarray(span @ direction[: span.shape[1]])
        spread, self.chance = self._look(direction)
        scale = SIGNAL / (spread or 1.0)
        self.theta: Array = direction * scale
        self.chance *= scale
        self.theta_bound = float(np.linalg.norm(self.theta))
        self.basis: Array = np.zeros((dim, 0)) if span is None else span

    def _look(self, direction: Array) -> tuple[float, float]:
        """Return the deviation of the values within a decision set, and what a blind choice loses in a round."""
        rng = np.random.default_rng([self._seed, 2])
        values = np.array([self._draw(rng) @ direction for _ in range(_LOOKS)])
        means = values.mean(axis=1, keepdims=True)
        return float(np.sqrt(np.square(values - means).mean())), float((values.max(axis=1) - means[:, 0]).mean())

    def _draw(self, rng: np.random.Generator) -> Array:
        if self._sets is None:
            return self._rows[rng.choice(len(self._rows), self._arms, replace=False)]
        start = int(rng.integers(self._sets)) * self._arms
        return self._rows[start : start + self._arms]

    def rounds(self) -> Iterator[Round]:
        """Start the stream."""
        rng = np.random.default_rng([self._seed, 3])
        while True:
            actions = self._draw(rng)
            yield Round(actions, np.asarray(actions @ self.theta), NOISE * float(rng.standard_normal()))


def simulate(
    vectors: Vectors, places: Mapping[str, Array | None], center: str, arms: int, rounds: int, seeds: int
) -> tuple[Gain, ...]:
    """Play PSLB, shown all the vectors first, and OFUL on these vectors.

    Parameters
    ----------
    vectors
        What is offered; divided by their size first, so that OFUL's λ and S mean what they mean in its paper.
    places
        Where θ* is drawn: the basis (d, m) of a subspace, or None for the whole space, by name.
    center
        As OFUL centres; PSLB sees to it by itself.
    arms
        Vectors in a decision set.
    rounds, seeds
        How long, and with how many θ*.
    """
    rows = vectors.rows
    away = rows - rows.mean(axis=0) if center == "mean" else rows
    size = math.sqrt(float(np.square(away).sum(axis=1).mean()))
    vectors = Vectors(rows / size, vectors.arms, vectors.offered)
    shown = vectors.rows
    if len(shown) > _SHOWN:
        shown = shown[np.random.default_rng(0).choice(len(shown), _SHOWN, replace=False)]
    ready = PSLB(noise=NOISE)
    ready.observe(shown)
    kept = files.to_bytes(ready)
    gains = []
    for where, span in places.items():
        lost: dict[str, list[float]] = {"pslb": [], "oful": [], "ridge": []}
        blind: list[float] = []
        for seed in range(seeds):
            instance = Simulated(vectors, arms, span, seed)
            blind.append(rounds * instance.chance)
            bound = instance.theta_bound
            ridge = NOISE**2 * rows.shape[1] / bound**2
            players: dict[str, Policy] = {
                "pslb": files.from_bytes(kept),
                "oful": OFUL(noise=NOISE, theta_bound=bound, center=center),
                "ridge": OFUL(noise=NOISE, theta_bound=bound, ridge=ridge, center=center),
            }
            with _one_thread():
                for name, player in players.items():
                    lost[name].append(float(run(player, instance, rounds, seed).regret[-1]))
        found = {name: (float(np.mean(values)), standard_error(values)) for name, values in lost.items()}
        gains.append(Gain(where, **found, chance=float(np.mean(blind))))
    return tuple(gains)


def _one_thread() -> AbstractContextManager[object]:
    """Keep BLAS to one thread where that can be had: on small matrices more of them mostly wait for each other."""
    if find_spec("threadpoolctl") is None:
        return nullcontext()
    from eigenbandits.lab.engines.threads import one_thread

    return cast("AbstractContextManager[object]", one_thread())
