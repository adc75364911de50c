"""Regret per round, its ratio to the best untuned policy's, and how each policy does over all problems."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from eigenbandits.inputs import Array
from eigenbandits.lab.experiments import Results
from eigenbandits.lab.reporting.tables import aligned, markdown, standard_error
from eigenbandits.lab.studies.candidates import Candidate

NEAR = 1.05
"""The ratio up to which a policy counts as near the best."""
_HALF_A_MISTAKE = 0.5


@dataclass(frozen=True)
class Standing:
    """How one policy does over all problems, by its ratio to the best untuned policy on each.

    `mean` is the geometric mean of the ratios, `worst` the largest, on the problem `where`, and `near` the number of
    problems on which the ratio is at most 1.05.
    """

    policy: str
    tuned: bool
    mean: float
    worst: float
    where: str
    near: int


@dataclass(frozen=True, eq=False)
class RegretTable:
    """The outcome of the study: for each policy whether it was tuned, and regret (policies, problems, seeds)."""

    policies: Sequence[str]
    problems: Sequence[str]
    tuned: Sequence[bool]
    regret: Array
    rounds: int

    @classmethod
    def of(cls, results: Results, candidates: Mapping[str, Candidate], rounds: int) -> RegretTable:
        """Return the table of an experiment's results."""
        tuned = [candidates[label].tuned for label in results.policies]
        return cls(results.policies, results.environments, tuned, results.final("regret"), rounds)

    @property
    def floor(self) -> float:
        """Half a mistake in all the rounds of all seeds, per round: what a regret of 0 counts as in a ratio."""
        return _HALF_A_MISTAKE / (self.rounds * int(self.regret.shape[2]))

    @cached_property
    def means(self) -> Array:
        """Mean regret per round, of shape (policies, problems)."""
        return np.asarray(self.regret.mean(axis=2) / self.rounds)

    @cached_property
    def errors(self) -> Array:
        """The standard errors of these means over seeds."""
        found = [[standard_error(runs / self.rounds) for runs in row] for row in self.regret]
        return np.array(found)

    @cached_property
    def best(self) -> NDArray[np.bool_]:
        """Where a policy is an untuned one of the lowest regret, of shape (policies, problems)."""
        untuned = ~np.array(self.tuned)
        lowest = self.means[untuned].min(axis=0)
        return np.asarray((self.means == lowest) & untuned[:, None])

    @cached_property
    def ratios(self) -> Array:
        """Regret over that of the best untuned policy on the problem, of shape (policies, problems)."""
        counted = np.maximum(self.means, self.floor)
        return np.asarray(counted / counted[~np.array(self.tuned)].min(axis=0))

    def standings(self) -> list[Standing]:
        """Return how each policy does over all problems, in the order of the policies."""
        return [
            Standing(
                policy,
                tuned,
                float(np.exp(np.log(ratios).mean())),
                float(ratios.max()),
                self.problems[int(ratios.argmax())],
                int((ratios <= NEAR).sum()),
            )
            for policy, tuned, ratios in zip(self.policies, self.tuned, self.ratios, strict=True)
        ]

    def rows(self) -> list[dict[str, object]]:
        """Return a row for each problem and policy, as a CSV file holds them."""
        return [
            {
                "problem": problem,
                "policy": policy,
                "tuned": self.tuned[p],
                "regret_per_round": float(self.means[p, e]),
                "standard_error": float(self.errors[p, e]),
                "ratio": float(self.ratios[p, e]),
            }
            for e, problem in enumerate(self.problems)
            for p, policy in enumerate(self.policies)
        ]

    def text(self) -> str:
        """Return both tables as aligned text; a star marks the best untuned regret of a row."""
        # A header over two lines keeps the columns narrow.
        headers = ["", *(f"{label} ".replace(" ", "\n", 1) for label in self._labels())]
        regret = self._regret_cells(lambda number, best: f"{number}{'*' if best else ' '}")
        return "\n\n".join([aligned(headers, regret), aligned(*self._standing_cells()), self.note()])

    def markdown(self) -> str:
        """Return both tables in Markdown; the best untuned regret of a row is bold."""
        regret = self._regret_cells(lambda number, best: f"**{number}**" if best else number)
        tables = [(["", *self._labels()], regret), self._standing_cells()]
        return "\n\n".join([*(markdown(*table, numbers=True) for table in tables), self.note()])

    def _labels(self) -> list[str]:
        return [mark(policy, tuned) for policy, tuned in zip(self.policies, self.tuned, strict=True)]

    def _regret_cells(self, shown: Callable[[str, bool], str]) -> list[list[str]]:
        """Return a row for each problem: its name and the regret of each policy, given how a number is shown."""
        rows = []
        for e, problem in enumerate(self.problems):
            pairs = zip(self.means[:, e].tolist(), self.best[:, e].tolist(), strict=True)
            rows.append([problem, *(shown(f"{mean:.3f}", best) for mean, best in pairs)])
        return rows

    def note(self) -> str:
        """Explain the numbers."""
        seeds = self.regret.shape[2]
        return (
            f"Mean regret per round over {self.rounds:,} rounds and {seeds} seed{'s' if seeds > 1 else ''}. Ratios are "
            "to the untuned policy of the lowest regret on each problem; a † marks tuned policies, which do not count "
            "as the best. In ratios a regret of 0 counts as half a mistake in all rounds of all seeds."
        )

    def _standing_cells(self) -> tuple[list[str], list[list[str]]]:
        headers = ["", "geometric mean", "worst", "on", "first or within 5 %"]
        return headers, [
            [
                mark(standing.policy, standing.tuned),
                f"{standing.mean:.2f}",
                f"{standing.worst:.2f}",
                standing.where,
                f"{standing.near} of {len(self.problems)}",
            ]
            for standing in self.standings()
        ]


def mark(policy: str, tuned: bool) -> str:
    """Return a label, with a dagger if the policy was tuned."""
    return f"{policy} †" if tuned else policy
