"""Worlds that change: labels permuted, tastes reversed, a slow rotation, and none; fixed half-lives and "auto"."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from eigenbandits.algorithms import EigenUCB
from eigenbandits.environments import LowRank, Round
from eigenbandits.inputs import Array, one_of, whole
from eigenbandits.lab.experiments.experiment import Experiment
from eigenbandits.lab.experiments.recording import Record
from eigenbandits.lab.experiments.results import Results
from eigenbandits.lab.reporting.tables import aligned, mean_with_error
from eigenbandits.lab.studies.problems.environments import ShippedTable
from eigenbandits.lab.studies.robustness.criteria import Criterion
from eigenbandits.lab.studies.wrapped import WrappedInstance

ROUNDS = 4000
HALF_LIVES = (64, 128, 256, 512, 1024, 2048)
STATIONARY, AUTO = "none", "auto"
# What "auto" may cost: over the best fixed half-life, and over no memory where nothing changes.
OVER_BEST, OVER_STATIONARY = 1.2, 1.05
Change = Literal["none", "reversal", "rotation"]


@dataclass(frozen=True)
class DriftingTaste:
    """The paper's model (rank 4 of 100 dimensions, 10 actions) with a θ that changes within the subspace.

    Parameters
    ----------
    change : {"none", "reversal", "rotation"}
        Nothing; θ becomes −θ halfway; or θ turns once around the circle through another direction of the subspace.
    rounds : int
        How long the run lasts.
    """

    change: Change
    rounds: int = ROUNDS

    def __post_init__(self) -> None:
        """Refuse another change."""
        one_of(self.change, "change", get_args(Change))
        whole(self.rounds, "rounds")

    @property
    def name(self) -> str:
        """The change."""
        return f"DriftingTaste({self.change}, {self.rounds})"

    def instance(self, seed: int) -> DriftingTasteInstance:
        """Draw the problem that belongs to a seed."""
        return DriftingTasteInstance(self, seed)


class DriftingTasteInstance(WrappedInstance):
    """One drawn problem of `DriftingTaste`.

    Parameters
    ----------
    environment, seed
        The family it is drawn from, and its seed.
    """

    def __init__(self, environment: DriftingTaste, seed: int) -> None:
        super().__init__(LowRank(100, 4, 10, perturbation=1.0).instance(seed))
        self.environment = environment
        theta, basis = self.model.theta, self.model.basis
        other = basis @ np.random.default_rng([seed, 1]).standard_normal(basis.shape[1])
        other -= theta * (theta @ other) / (theta @ theta)
        self.other: Array = other * np.linalg.norm(theta) / np.linalg.norm(other)

    def theta_at(self, number: int) -> Array:
        """Return θ in a round, the first being 0."""
        part = number / self.environment.rounds
        angle = {"none": 0.0, "reversal": math.pi * (part >= 0.5), "rotation": 2.0 * math.pi * part}
        turned = angle[self.environment.change]
        return np.asarray(math.cos(turned) * self.model.theta + math.sin(turned) * self.other)

    def rounds(self) -> Iterator[Round]:
        """Start the stream from its first round; it never ends."""
        for number, offered in enumerate(self.model.rounds()):
            yield Round(offered.actions, offered.actions @ self.theta_at(number), offered.noise)


@dataclass(frozen=True)
class PermutedLabels:
    """A table of labels in which every label takes the next one's place, halfway or never.

    Parameters
    ----------
    table : str
        A table that scikit-learn ships.
    permuted : bool
        Whether the labels change.
    rounds : int
        How long the run lasts.
    """

    table: str = "wine"
    permuted: bool = True
    rounds: int = ROUNDS

    @property
    def name(self) -> str:
        """The table and whether it changes."""
        return f"PermutedLabels({self.table}, {self.permuted}, {self.rounds})"

    def instance(self, seed: int) -> PermutedLabelsInstance:
        """Draw the problem that belongs to a seed."""
        return PermutedLabelsInstance(self, seed)


class PermutedLabelsInstance(WrappedInstance):
    """One order of the rows of `PermutedLabels`.

    Parameters
    ----------
    environment, seed
        The family it is drawn from, and its seed.
    """

    def __init__(self, environment: PermutedLabels, seed: int) -> None:
        super().__init__(ShippedTable(environment.table).instance(seed))
        self.environment = environment

    def rounds(self) -> Iterator[Round]:
        """Start the stream from its first round; it never ends."""
        for number, offered in enumerate(self.model.rounds()):
            moved = self.environment.permuted and 2 * number >= self.environment.rounds
            yield Round(offered.actions, np.roll(offered.values, 1) if moved else offered.values, offered.noise)


def environments(rounds: int) -> dict[str, Any]:
    """Return the worlds, by label."""
    return {
        "labels permuted halfway": PermutedLabels(rounds=rounds),
        "tastes reversed halfway": DriftingTaste("reversal", rounds),
        "slow rotation": DriftingTaste("rotation", rounds),
        "no change, labels": PermutedLabels(permuted=False, rounds=rounds),
        "no change, tastes": DriftingTaste("none", rounds),
    }


def experiment(seeds: int, rounds: int, first_seed: int) -> Experiment:
    """Return the experiment whose results `sections` reads."""
    fixed = {f"{half_life}": EigenUCB(memory=float(half_life)) for half_life in HALF_LIVES}
    return Experiment(
        name="drift",
        policies={STATIONARY: EigenUCB(), **fixed, AUTO: EigenUCB(memory="auto")},
        environments=environments(rounds),
        seeds=range(first_seed, first_seed + seeds),
        rounds=rounds,
        record=Record(points=min(rounds, 100), diagnostics=False, accuracy=0),
        description='EigenUCB with fixed half-lives and memory="auto" in worlds that change and in one that does not.',
    )


def table(results: Results) -> str:
    """Return regret as text: worlds in rows, half-lives in columns, ± standard errors over seeds."""
    final = results.final("regret")
    cells = [
        [label, *(mean_with_error(final[p, e], 0) for p in range(len(results.policies)))]
        for e, label in enumerate(results.environments)
    ]
    return aligned(["", *results.policies], cells)


def criteria(results: Results) -> list[Criterion]:
    """Check what "auto" costs over the best fixed half-life, and over no memory where nothing changes."""
    regret = results.final("regret").mean(axis=-1)
    auto, none = (regret[results.policies.index(name)] for name in (AUTO, STATIONARY))
    fixed = np.array([row for name, row in zip(results.policies, regret, strict=True) if name != AUTO])
    changing = [e for e, label in enumerate(results.environments) if not label.startswith("no change")]
    still = [e for e in range(len(results.environments)) if e not in changing]

    def judged(words: str, places: list[int], ratios: Array, most: float) -> Criterion:
        return Criterion(
            words,
            all(ratios[e] <= most for e in places),
            tuple(f"{results.environments[e]}: {ratios[e]:.2f} times" for e in places),
        )

    return [
        judged(f"within {OVER_BEST:g} times the best fixed half-life", changing, auto / fixed.min(axis=0), OVER_BEST),
        judged(f"within {OVER_STATIONARY:g} times no memory without a change", still, auto / none, OVER_STATIONARY),
    ]


def sections(results: Results) -> dict[str, str]:
    """Return the table and the criteria as text, by title."""
    return {
        f"Regret by half-life, mean over {len(results.seeds)} seeds ± standard error": table(results),
        'Criteria for memory="auto"': "\n".join(map(str, criteria(results))),
    }
