"""Rare clicks, and rare sales: rewards that are nearly always 0, and the share of the possible gain that is earned."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from eigenbandits.algorithms import OFUL, EigenTS, EigenUCB, Greedy, LinTS, LinUCB, Random
from eigenbandits.environments import LowRank, LowRankInstance, Round
from eigenbandits.inputs import Array, number
from eigenbandits.lab.experiments import Experiment, Record, Results
from eigenbandits.lab.reporting.tables import aligned, mean_with_error, write_sections
from eigenbandits.lab.studies.baselines import InformedBayes, RidgeOFUL
from eigenbandits.lab.studies.robustness.criteria import Criterion
from eigenbandits.lab.studies.wrapped import WrappedEnvironment, WrappedInstance

ROUNDS = 8000
FLAGSHIP, INFORMED, RANDOM = "EigenUCB", "informed", "Random"
# The share of the possible gain that is required.
REQUIRED = 0.75


@dataclass(frozen=True)
class Sales(WrappedEnvironment):
    """Clicks on the paper's model, each of which pays an amount.

    A click has probability rate · (1 + x̂ᵀθ), cut to [0, 1]: rank 4 of 64 dimensions, 20 actions, half of their energy
    perturbation. With ‖θ‖ = 1.5 the best of a set is clicked about twice as often as a random one.

    Parameters
    ----------
    rate : float
        How often an average action is clicked.
    pays : float
        The mean of what a click pays.
    varied : bool
        Whether amounts are exponential with that mean, instead of all equal.

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
        """Refuse an amount that cannot be paid."""
        number(self.pays, "pays", above=0.0)

    @property
    def model(self) -> LowRank:
        """The clicks."""
        return LowRank(64, 4, 20, perturbation=1.0, noise_kind="bernoulli", rate=self.rate, theta_norm=1.5)

    def instance(self, seed: int) -> WrappedInstance:
        """Draw the problem that belongs to a seed, with the size that the amounts give it."""
        made = super().instance(seed)
        vars(made).update({name: self.pays * getattr(made, name) for name in ("theta", "theta_bound", "noise")})
        return made

    def rounds_of(self, model: LowRankInstance, seed: int) -> Iterator[Round]:
        """Start the stream from its first round; it never ends."""
        rng = np.random.default_rng(np.random.SeedSequence(seed).spawn(5)[-1])
        for offered in model.rounds():
            amount = self.pays * (rng.standard_exponential() if self.varied else 1.0)
            yield SaleRound(offered.actions, self.pays * offered.values, offered.noise, None, amount, self.pays)


@dataclass(frozen=True, slots=True, eq=False)
class SaleRound(Round):
    """A round in which a click pays an amount that differs from round to round, and `mean` on average."""

    amount: float = 1.0
    mean: float = 1.0

    def reward(self, index: int) -> float:
        """Return the amount if the action is clicked, else 0."""
        return self.amount if self.noise * self.mean < self.values[index] else 0.0


def environments() -> dict[str, Sales]:
    """Return the problems."""
    return {
        "clicks, 2 %": Sales(0.02),
        "clicks, 0.5 %": Sales(0.005),
        "2 % pay 30 dollars": Sales(0.02, pays=30.0),
        "2 % pay dollars of mean 30": Sales(0.02, pays=30.0, varied=True),
    }


def policies() -> dict[str, Any]:
    """Return the policies; those that require a noise get that of a reward between 0 and 1."""
    return {
        FLAGSHIP: EigenUCB(),
        "EigenTS": EigenTS(samples=1),
        INFORMED: InformedBayes(noise=0.5),
        "OFUL": OFUL(noise=0.5),
        "OFUL R²d": RidgeOFUL(noise=0.5),
        "LinUCB": LinUCB(),
        "LinTS": LinTS(noise=0.5, samples=1),
        "Greedy": Greedy(),
        RANDOM: Random(),
    }


def experiment(seeds: int, rounds: int, first_seed: int) -> Experiment:
    """Return the experiment whose results `sections` reads."""
    return Experiment(
        name="clicks",
        policies=policies(),
        environments=environments(),
        seeds=range(first_seed, first_seed + seeds),
        rounds=rounds,
        record=Record(points=min(rounds, 100), accuracy=0),
        description="Rare clicks: the share of the gap between random and best choices that is earned.",
    )


def shares(results: Results) -> Mapping[tuple[str, str], Array]:
    """Return for each policy and environment the share of the gap between random and best that each seed earned."""
    final = results.final("regret")
    random = final[results.policies.index(RANDOM)]
    return {
        (policy, label): 1.0 - final[p, e] / random[e]
        for p, policy in enumerate(results.policies)
        for e, label in enumerate(results.environments)
        if policy != RANDOM
    }


def table(results: Results) -> str:
    """Return the shares in percent as text: problems in rows, policies in columns, ± standard errors over seeds."""
    found = shares(results)
    shown = [policy for policy in results.policies if policy != RANDOM]
    cells = [
        [label, *(mean_with_error(found[policy, label], 0, 100.0) for policy in shown)]
        for label in results.environments
    ]
    return aligned(["", *shown], cells)


def criterion(results: Results) -> Criterion:
    """Check whether EigenUCB earned the required share on every problem."""
    found = {label: float(shares(results)[FLAGSHIP, label].mean()) for label in results.environments}
    return Criterion(
        f"at least {REQUIRED:.0%} of the gap between random and best on every problem",
        all(share >= REQUIRED for share in found.values()),
        tuple(f"{label}: {share:.0%}" for label, share in found.items()),
    )


def sections(results: Results) -> dict[str, str]:
    """Return the table and the criterion as text, by title."""
    seeds = f"mean over {len(results.seeds)} seeds ± standard error"
    return {
        f"Percent of the gap between random and best that is earned, {seeds}": table(results),
        "Criteria for EigenUCB with nothing set": str(criterion(results)),
    }


def write(results: Results) -> list[Path]:
    """Write clicks.md next to the results, and return its path."""
    page = results.folder / "clicks.md"
    write_sections(page, sections(results))
    return [page]
