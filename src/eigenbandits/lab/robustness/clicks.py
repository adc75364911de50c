"""Rare clicks, and rare sales: rewards that are 0 nearly always, and what share of the possible gain is earned."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from eigenbandits.algorithms import OFUL, EigenTS, EigenUCB, Greedy, LinTS, LinUCB, Random
from eigenbandits.environments import LowRank, LowRankInstance, Round
from eigenbandits.inputs import Array, number
from eigenbandits.lab.experiment import Experiment
from eigenbandits.lab.recording import Record
from eigenbandits.lab.results import Results
from eigenbandits.lab.robustness.players import RidgeOFUL
from eigenbandits.lab.robustness.verdicts import Verdict
from eigenbandits.lab.tables import aligned, standard_error

ROUNDS = 8000
FLAGSHIP, BLIND = "EigenUCB", "Random"
# The share of the possible gain that is asked for.
ASKED = 0.75


@dataclass(frozen=True)
class Sales:
    """Clicks on the paper's model of which each pays an amount of its own.

    A click has probability rate · (1 + x̂ᵀθ), cut to [0, 1]: rank 4 of 64 dimensions, 20 actions, half of their energy
    perturbation. With ‖θ‖ = 1.5 the best of a set is clicked about twice as often as a random one.

    Parameters
    ----------
    rate : float
        How often an average action is clicked.
    pays : float
        The mean of what a click pays.
    varied : bool
        Whether amounts are exponential around that mean, in the place of all equal.

    Examples
    --------
    >>> first = next(Sales(0.02, pays=30.0).instance(seed=0).rounds())
    >>> first.actions.shape, sorted({first.reward(index) for index in range(20)})
    ((20, 64), [0.0])
    """

    rate: float
    pays: float = 1.0
    varied: bool = False

    def __post_init__(self) -> None:
        """Refuse what cannot be paid."""
        number(self.pays, "pays", above=0.0)

    @property
    def model(self) -> LowRank:
        """The clicks."""
        return LowRank(64, 4, 20, perturbation=1.0, noise_kind="bernoulli", rate=self.rate, theta_norm=1.5)

    @property
    def name(self) -> str:
        """The rate and what a click pays."""
        return f"Sales({self.rate:g}, pays={self.pays:g}, varied={self.varied})"

    def instance(self, seed: int) -> SalesInstance:
        """Draw the problem that belongs to a seed."""
        return SalesInstance(self, seed)


@dataclass(frozen=True, slots=True, eq=False)
class SaleRound(Round):
    """A round in which a click pays an amount that differs from round to round.

    Attributes
    ----------
    amount : float
        What a click pays in this round.
    mean : float
        What it pays on average.
    """

    amount: float = 1.0
    mean: float = 1.0

    def reward(self, index: int) -> float:
        """Return the amount, or 0."""
        return self.amount if self.noise * self.mean < self.values[index] else 0.0


class SalesInstance:
    """One drawn problem of `Sales`.

    Parameters
    ----------
    environment, seed
        The family that it is drawn from, and its seed.
    """

    def __init__(self, environment: Sales, seed: int) -> None:
        self.environment = environment
        self.model: LowRankInstance = environment.model.instance(seed)
        self.theta: Array = environment.pays * self.model.theta
        self.theta_bound = environment.pays * self.model.theta_bound
        self.noise = environment.pays * self.model.noise
        self._amounts = np.random.SeedSequence(seed).spawn(5)[-1]

    def __getattr__(self, name: str) -> Any:
        return getattr(self.model, name)

    def rounds(self) -> Iterator[Round]:
        """Start the stream from its first round; it never ends."""
        rng, pays = np.random.default_rng(self._amounts), self.environment.pays
        for offered in self.model.rounds():
            amount = pays * (rng.standard_exponential() if self.environment.varied else 1.0)
            yield SaleRound(offered.actions, pays * offered.values, offered.noise, None, amount, pays)


def rows() -> dict[str, Sales]:
    """Return the problems."""
    return {
        "clicks, 2 %": Sales(0.02),
        "clicks, 0.5 %": Sales(0.005),
        "2 % pay 30 dollars": Sales(0.02, pays=30.0),
        "2 % pay dollars of mean 30": Sales(0.02, pays=30.0, varied=True),
    }


def columns() -> dict[str, Any]:
    """Return the policies; those that ask for the noise are told that of a reward between 0 and 1."""
    return {
        FLAGSHIP: EigenUCB(),
        "EigenTS": EigenTS(propensity_draws=0),
        "OFUL": OFUL(noise=0.5),
        "OFUL R²d": RidgeOFUL(noise=0.5),
        "LinUCB": LinUCB(),
        "LinTS": LinTS(noise=0.5, propensity_draws=0),
        "Greedy": Greedy(),
        BLIND: Random(),
    }


def experiment(seeds: int, rounds: int, first_seed: int) -> Experiment:
    """Return the experiment whose results `table` and `verdict` read."""
    return Experiment(
        name="clicks",
        policies=columns(),
        environments=rows(),
        seeds=range(first_seed, first_seed + seeds),
        rounds=rounds,
        record=Record(points=min(rounds, 100), accuracy=0),
        description="Rare clicks: the share of the gap between random and best choices that is earned.",
    )


def shares(results: Results) -> Mapping[tuple[str, str], Array]:
    """Return for each policy and environment the share of the gap between random and best that each seed earned."""
    final = results.final("regret")
    blind = final[results.policies.index(BLIND)]
    return {
        (policy, label): 1.0 - final[p, e] / blind[e]
        for p, policy in enumerate(results.policies)
        for e, label in enumerate(results.environments)
        if policy != BLIND
    }


def table(results: Results) -> str:
    """Return the shares as text, environments in rows and policies in columns, ± standard errors over seeds."""
    found = shares(results)
    policies = [policy for policy in results.policies if policy != BLIND]
    cells = [[label, *(_cell(found[policy, label]) for policy in policies)] for label in results.environments]
    return aligned(["", *policies], cells)


def _cell(values: Array) -> str:
    error = standard_error(values)
    return f"{100 * values.mean():.0f} %" + (f" ± {100 * error:.0f}" if np.isfinite(error) else "")


def verdict(results: Results) -> Verdict:
    """Judge whether the flagship earned what is asked for on every problem."""
    found = {label: float(shares(results)[FLAGSHIP, label].mean()) for label in results.environments}
    bar = f"at least {ASKED:.0%} of the gap between random and best on every problem"
    return Verdict(
        bar,
        all(share >= ASKED for share in found.values()),
        tuple(f"{label}: {share:.0%}" for label, share in found.items()),
    )
