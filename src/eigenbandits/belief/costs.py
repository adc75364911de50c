"""Cost estimates from the statistics of the rewards: the same Σ, and a second right-hand side."""

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from eigenbandits import linalg
from eigenbandits.belief.evidence import Evidence
from eigenbandits.component import Component
from eigenbandits.inputs import Array
from eigenbandits.merging import Replica

# The estimate is recomputed when the number of rewards has grown by this share, or by this many.
GROWTH, MOST = 0.05, 32


class CostEstimate(Component):
    """ĉ(x) = xᵀ(Σ + λI)⁻¹ Σ c x, at least 0, with Σ the sum gathered from the rewards.

    The ridge is λ = tr Σ/n for n rewards, the weight of one action in each direction, so that units make no difference.
    Costs are known up to factors rather than up to sums: with u = ‖x‖ in the norm of (Σ + λI)⁻¹, which is about 1 for
    an action unlike all before and 1/√n for one that was tried n times, ĉ(x)(1 − u) is the lowest plausible cost of the
    action. An action that has hardly been tried looks cheap, and so is tried. The expected cost is ĉ(x)/(1 − u²), which
    corrects the ridge's shrinkage, n/(n + 1) for an action of the usual size that was tried n times; the correction at
    most doubles it.

    Parameters
    ----------
    evidence
        The sums of the rewards.
    """

    _state_names: ClassVar[tuple[str, ...]] = ("moment", "center", "inverse", "due")

    def __init__(self, evidence: Evidence) -> None:
        self.evidence = evidence
        self.moment: Array = np.zeros(0)
        self.center: Array = np.zeros(0)
        self.inverse: Array = np.zeros((0, 0))
        # The number of rewards at which the estimate is recomputed.
        self.due = 1

    def start(self, dim: int) -> None:
        """Set up the sums."""
        self.moment, self.center = np.zeros(dim), np.zeros(dim)

    def of(self, lifted: Array, known: Array | None) -> tuple[Array, Array]:
        """Return the expected and the lowest plausible cost of lifted actions (K, D); a known cost counts as both."""
        if known is not None and not np.isnan(known).any():
            return known, known
        self.refresh()
        expected = least = np.zeros(len(lifted))
        if self.inverse.size:
            costs = np.maximum(lifted @ self.center, 0.0)
            squares = linalg.row_dots(lifted @ self.inverse, lifted.astype(np.float64, copy=False))
            squares = np.minimum(np.maximum(squares, 0.0), 1.0)  # np.clip takes several times as long
            expected = costs / np.maximum(1.0 - squares, 0.5)
            least = costs * (1.0 - np.sqrt(squares))
        if known is None:
            return expected, least
        return np.where(np.isnan(known), expected, known), np.where(np.isnan(known), least, known)

    def refresh(self) -> None:
        """Recompute the estimate if enough has been learned since the last time."""
        count = self.evidence.count
        if count < self.due:
            return
        gram = self.evidence.gram.copied()
        ridge = float(np.trace(gram)) / max(self.evidence.weight, 1e-300)
        self.due = count + min(max(1, int(GROWTH * count)), MOST)
        if ridge <= 0.0:
            return
        linalg.add_diagonal(gram, ridge)
        half, self.center, _ = linalg.inverse(gram, ridge, self.moment)
        linalg.mirror(half)
        self.inverse = half

    def learn(self, rows: Array, costs: Array, faded: float = 1.0) -> None:
        """Add the costs of lifted actions, using the expected cost for each NaN; then fade as Σ has."""
        unknown = np.isnan(costs)
        if unknown.any():
            costs = np.where(unknown, rows @ self.center, costs)
        self.moment = faded * (self.moment + costs @ rows)

    def learn_one(self, row: Array, cost: float, faded: float = 1.0) -> None:
        """Add the known cost of one lifted action; then fade as Σ has."""
        self.moment = faded * (self.moment + cost * row)

    def merge(self, replicas: Sequence[Replica[Any]]) -> None:
        """Add up the right-hand sides."""
        used = [replica for replica in replicas if replica.part.moment.size]
        if used:
            self.moment = np.zeros(len(used[0].part.moment))
            for replica in used:
                self.moment = self.moment + replica.weight * replica.shift.vector(replica.part.moment)
            if not self.center.size:
                self.center = np.zeros(len(self.moment))
        self.due = 1
