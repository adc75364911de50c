"""A simulation of what each policy would lose on given vectors; only real rewards could show it for sure."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from eigenbandits.algorithms import OFUL, EigenUCB
from eigenbandits.environments import Round
from eigenbandits.inputs import Array
from eigenbandits.lab.experiments.run import run
from eigenbandits.lab.reporting.tables import standard_error
from eigenbandits.lab.studies.audit.vectors import Vectors
from eigenbandits.policy import Policy, files

NOISE = 0.5
# The standard deviation of the expected rewards within a decision set: rewards then mostly stay within ±½.
SIGNAL = 0.2
# Vectors that EigenUCB is shown before the first round.
_SHOWN = 20_000
# Decision sets from which the size of the values is estimated.
_SETS = 500


# The policies, those first that need the fewest settings.
EIGEN, OFUL_ONE, OFUL_FITTING = "EigenUCB", "OFUL, λ = 1", "OFUL, λ = R²d/S²"


@dataclass(frozen=True)
class Loss:
    """The regret of one policy in the simulation: mean and standard error with θ* drawn in each of the places."""

    policy: str
    places: tuple[tuple[float, float], ...]

    @property
    def overall(self) -> tuple[float, float]:
        """The mean over the places, equally weighted, and its standard error."""
        means, errors = zip(*self.places, strict=True)
        return float(np.mean(means)), float(np.linalg.norm(errors)) / len(errors)


@dataclass(frozen=True)
class SimulatedRegret:
    """The policies side by side, on the same vectors and the same θ*, drawn at random in each of the places.

    EigenUCB has nothing set; OFUL has its log-det radius, the true noise and the true norm of θ* as S, with λ = 1 and
    with λ = R²d/S². The policies that need the fewest settings come first. `chance` is the mean regret of random
    choices.
    """

    places: tuple[str, ...]
    losses: tuple[Loss, ...]
    chance: tuple[float, ...]

    @property
    def ranked(self) -> list[Loss]:
        """The policies by their regret over all places, as it is printed; the simpler first among equals."""
        return sorted(self.losses, key=lambda loss: round(loss.overall[0], 1))

    @property
    def best(self) -> Loss:
        """The policy that lost least, on which all advice is based."""
        return self.ranked[0]


class SimulatedInstance:
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
        spread, self.chance = self._spread(direction)
        scale = SIGNAL / (spread or 1.0)
        self.theta: Array = direction * scale
        self.chance *= scale
        self.theta_bound = float(np.linalg.norm(self.theta))
        self.basis: Array = np.zeros((dim, 0)) if span is None else span

    def _spread(self, direction: Array) -> tuple[float, float]:
        """Return the deviation of the values within a decision set, and what a random choice loses in a round."""
        rng = np.random.default_rng([self._seed, 2])
        values = np.array([self._draw(rng) @ direction for _ in range(_SETS)])
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
) -> SimulatedRegret:
    """Run EigenUCB, which sees all the vectors first, and OFUL on these vectors.

    The vectors are divided by their size first, so that OFUL's λ and S mean what they mean in its paper. `places` says
    where θ* is drawn, by name: the basis (d, m) of a subspace, or None for the whole space. `center` is how OFUL
    centers; EigenUCB always does.
    """
    rows = vectors.rows
    away = rows - rows.mean(axis=0) if center == "mean" else rows
    size = math.sqrt(float(np.square(away).sum(axis=1).mean()))
    vectors = Vectors(rows / size, vectors.arms, vectors.offered)
    shown = vectors.rows
    if len(shown) > _SHOWN:
        shown = shown[np.random.default_rng(0).choice(len(shown), _SHOWN, replace=False)]
    ready = EigenUCB()
    ready.observe(shown)
    kept = files.to_bytes(ready)
    found: dict[str, list[tuple[float, float]]] = {EIGEN: [], OFUL_ONE: [], OFUL_FITTING: []}
    chance = []
    for span in places.values():
        lost: dict[str, list[float]] = {name: [] for name in found}
        random: list[float] = []
        for seed in range(seeds):
            instance = SimulatedInstance(vectors, arms, span, seed)
            random.append(rounds * instance.chance)
            bound = instance.theta_bound
            ridge = NOISE**2 * rows.shape[1] / bound**2
            policies: dict[str, Policy] = {
                EIGEN: files.from_bytes(kept),
                OFUL_ONE: OFUL(noise=NOISE, theta_bound=bound, center=center),
                OFUL_FITTING: OFUL(noise=NOISE, theta_bound=bound, ridge=ridge, center=center),
            }
            for name, policy in policies.items():
                lost[name].append(float(run(policy, instance, rounds, seed).regret[-1]))
        for name, values in lost.items():
            found[name].append((float(np.mean(values)), standard_error(values)))
        chance.append(float(np.mean(random)))
    losses = tuple(Loss(name, tuple(values)) for name, values in found.items())
    return SimulatedRegret(tuple(places), losses, tuple(chance))
