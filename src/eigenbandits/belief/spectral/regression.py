"""Rewards and actions without what the intercept, the score and the prior's mean explain: what a prior on θ sees."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from eigenbandits.belief.evidence import Evidence
from eigenbandits.belief.spectral.free import Explained, explained, explained_rows
from eigenbandits.belief.spectral.sample import Sample
from eigenbandits.inputs import Array


@dataclass(frozen=True, eq=False)
class Regression:
    """The regression of the rewards on the actions, from the sums and from the sample.

    Parameters
    ----------
    evidence, sample
        Σ, b and Σr² of lifted actions, and a sample of single rewards.
    mean
        The prior's mean (D,), or None for 0.
    dim
        d; the other D − d coordinates of lifted actions are free (`free.explained`).
    kappa, score
        κ and the size of the score's coordinate; 0 if there is none.
    """

    evidence: Evidence
    sample: Sample
    mean: Array | None
    dim: int
    kappa: float
    score: float

    @cached_property
    def explained(self) -> Explained:
        """The part of the learned actions and their rewards that the intercept and the score explain."""
        moment, squares = self.evidence.residuals(self.mean)
        units = np.eye(len(moment) - self.dim, len(moment), k=self.dim)
        sums = np.array([self.evidence.gram.times(unit) for unit in units]).reshape(units.shape)
        return explained(sums, moment[self.dim :], squares, self.evidence.weight, self.kappa, self.score)

    def sums(self) -> tuple[Array, Array, float, float]:
        """Return Σ, b, Σr² and the degrees of freedom of the residuals."""
        gram = self.evidence.gram.full()[: self.dim, : self.dim]
        moment, squares = self.evidence.residuals(self.mean)
        known = self.explained
        if not len(known.levels):
            return gram, moment[: self.dim], squares, self.evidence.weight
        gram -= known.cross.T.dot(known.slopes)
        return gram, moment[: self.dim] - known.levels @ known.cross, known.residual, known.freedom

    def rows(self) -> tuple[Array, Array, float]:
        """Return the actions of the sample, their rewards and the degrees of freedom, likewise as residuals."""
        if not self.sample.fill:
            return np.zeros((1, self.dim)), np.zeros(1), 0.0
        rows, rewards, total = self.sample.residuals(self.mean)
        if rows.shape[1] == self.dim:
            return rows, rewards, total
        free, known = rows[:, self.dim :], self.explained
        if not self.sample.complete:
            squares = float(rewards @ rewards)
            known = explained(free.T @ rows, free.T @ rewards, squares, total, self.kappa, self.score)
        return *explained_rows(rows[:, : self.dim], free, rewards, known, self.score), known.freedom
