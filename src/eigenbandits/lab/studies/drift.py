"""Changing environments: labels permuted, tastes reversed, a slow rotation; fixed half-lives and "auto"."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from eigenbandits.algorithms import EigenUCB
from eigenbandits.environments import ClassificationInstance, LowRank, LowRankInstance, Round
from eigenbandits.inputs import Array, one_of, whole
from eigenbandits.lab.experiments import Experiment, Record, Results
from eigenbandits.lab.reporting.tables import aligned, mean_with_error
from eigenbandits.lab.studies.problems.environments import ShippedTable
from eigenbandits.lab.studies.robustness.criteria import Criterion
from eigenbandits.lab.studies.wrapped import WrappedEnvironment

ROUNDS = 4000
HALF_LIVES = (64, 128, 256, 512, 1024, 2048)
STATIONARY, AUTO = "none", "auto"
# What "auto" may cost: over the best fixed half-life, and over no memory where nothing changes.
OVER_BEST, OVER_STATIONARY = 1.2, 1.05
Change = Literal["none", "reversal", "rotation"]


@dataclass(frozen=True)
class DriftingTaste(WrappedEnvironment):
    """The paper's model (rank 4 of 100 dimensions, 10 actions) with a θ that changes within the subspace.

    With "reversal" θ becomes −θ halfway; with "rotation" it turns once around the circle through another direction of
    the subspace; with "none" nothing changes.
    """

    change: Change
    rounds: int = ROUNDS

    def __post_init__(self) -> None:
        """Refuse another change."""
        one_of(self.change, "change", get_args(Change))
        whole(self.rounds, "rounds")

    @property
    def model(self) -> LowRank:
        """The paper's model."""
        return LowRank(100, 4, 10, perturbation=1.0)

    def rounds_of(self, model: LowRankInstance, seed: int) -> Iterator[Round]:
        """Start the stream from its first round; it never ends."""
        theta, basis = model.theta, model.basis
        other = basis @ np.random.default_rng([seed, 1]).standard_normal(basis.shape[1])
        other -= theta * (theta @ other) / (theta @ theta)
        other = other * np.linalg.norm(theta) / np.linalg.norm(other)
        for number, offered in enumerate(model.rounds()):
            part = number / self.rounds
            angle = {"none": 0.0, "reversal": math.pi * (part >= 0.5), "rotation": 2.0 * math.pi * part}[self.change]
            turned = math.cos(angle) * theta + math.sin(angle) * other
            yield Round(offered.actions, offered.actions @ turned, offered.noise)


@dataclass(frozen=True)
class PermutedLabels(WrappedEnvironment):
    """A table that scikit-learn ships, in which every label takes the next one's place halfway, or never."""

    table: str = "wine"
    permuted: bool = True
    rounds: int = ROUNDS

    @property
    def model(self) -> ShippedTable:
        """The table."""
        return ShippedTable(self.table)

    def rounds_of(self, model: ClassificationInstance, seed: int) -> Iterator[Round]:
        """Start the stream from its first round; it never ends."""
        for number, offered in enumerate(model.rounds()):
            moved = self.permuted and 2 * number >= self.rounds
            yield Round(offered.actions, np.roll(offered.values, 1) if moved else offered.values, offered.noise)


def environments(rounds: int) -> dict[str, Any]:
    """Return the environments, by label."""
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
        description='EigenUCB with fixed half-lives and memory="auto" with and without changes.',
    )


def table(results: Results) -> str:
    """Return regret as text: environments in rows, half-lives in columns, ± standard errors over seeds."""
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
