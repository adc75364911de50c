"""A ridge estimate whose ridge can turn: θ̂ = Z⁻¹b with Z = Σ + W, W having one level inside a span and one outside."""

from typing import ClassVar, NamedTuple

import numpy as np

from eigenbandits import linalg
from eigenbandits.belief.evidence import Evidence
from eigenbandits.component import Component
from eigenbandits.inputs import Array

_ROUNDING = float(np.finfo(float).eps)


class Prediction(NamedTuple):
    """A ridge's prediction of a reward before it is seen: the mean μ = xᵀθ̂, the gain v = xᵀZ⁻¹x, and Z⁻¹x."""

    mean: float
    gain: float
    solved: Array


class Ridge(Component):
    """Z⁻¹, θ̂ and the residual ‖r‖² − bᵀZ⁻¹b under W = λ_in UUᵀ + λ_out (I − UUᵀ).

    A reward is a rank-one change; a new U with the same λ_out is a change of twice its rank, by the Woodbury formula.
    """

    _state_names: ClassVar[tuple[str, ...]] = (
        *("inverse", "center", "residual", "span", "inside", "outside", "largest", "since_repair"),
    )

    def __init__(self) -> None:
        self.inverse = linalg.SymmetricSum(sign=-1.0)
        self.center: Array = np.zeros(0)
        self.residual = 0.0
        # U (D, q), or None if W = λ_out I.
        self.span: Array | None = None
        self.inside = self.outside = 1.0
        self.largest = 1.0
        self.since_repair = 0

    def start(self, dim: int, level: float) -> None:
        """Set up W = level · I, without rewards."""
        self.inverse.start(dim, linalg.block_for(dim), 1.0 / level)
        self.center = np.zeros(dim)
        self.inside = self.outside = level
        self.largest = 1.0 / level

    def predict(self, action: Array, solved: Array | None = None) -> Prediction:
        """Return the prediction of an action's reward, given Z⁻¹x if it is already known."""
        products = self.inverse.times(action) if solved is None else solved
        gain = max(float(linalg.dot(action, products)), 0.0)
        return Prediction(float(linalg.dot(action, self.center)), gain, products)

    def learn(self, prediction: Prediction, action: Array, reward: float) -> bool:
        """Learn the reward of an action that was predicted; return whether its gain was lost in rounding."""
        gain, surprise = prediction.gain, reward - prediction.mean
        # Z⁻¹ has errors on the scale of the rounding of its largest entry. A gain below them is noise, and updates by
        # noise reinforce each other: such rewards are left to the next factorization.
        if gain < 16.0 * _ROUNDING * self.largest * float(linalg.dot(action, action)):
            return True
        weight = 1.0 / (1.0 + gain)
        self.inverse.add(prediction.solved, weight)
        # A new array, not an update in place: earlier decisions may still refer to the old one.
        self.center = linalg.axpy(prediction.solved, self.center.copy(), a=weight * surprise)
        self.residual += weight * surprise * surprise
        return False

    def upkeep(self, lost: bool, evidence: Evidence) -> None:
        """Count a reward that is now in the evidence, and recompute everything when due.

        A fresh factorization every 4d rewards costs a small part of what the updates themselves cost, and limits their
        rounding errors to those of 4d steps.
        """
        self.since_repair += 1
        patience = max(256, 4 * len(self.center))
        if self.since_repair >= (min(patience, evidence.count // 16) if lost else patience):
            self.repair(evidence)

    def turn(self, span: Array, inside: float, outside: float, evidence: Evidence) -> None:
        """Change W to λ_in inside the span of orthonormal columns and λ_out outside it."""
        if outside != self.outside:
            self.span, self.inside, self.outside = span, inside, outside
            self.repair(evidence)
            return
        # Add before subtracting, so that Z stays positive definite throughout.
        if self.span is not None:
            self._reweigh(self.span, self.outside - self.inside)
        self._reweigh(span, inside - outside)
        self.span, self.inside = span, inside
        self.since_repair += 2 * span.shape[1]
        self._set_center(self.inverse.times(evidence.moment), evidence)
        self.largest = float(np.diagonal(self.inverse.flush()).max())

    def repair(self, evidence: Evidence) -> None:
        """Recompute Z⁻¹ and θ̂ from the sums."""
        half, center, _ = linalg.inverse(self.precision(evidence), self.inside, evidence.moment)
        self.inverse.reset(half)
        self.largest = float(np.diagonal(half).max())
        self.since_repair = 0
        self._set_center(center, evidence)

    def precision(self, evidence: Evidence) -> Array:
        """Return the lower half of Z, as a new matrix."""
        matrix = evidence.gram.flush().copy(order="F")
        linalg.add_diagonal(matrix, self.outside)
        if self.span is not None:
            matrix -= (self.span * (self.outside - self.inside)) @ self.span.T
        return matrix

    def _set_center(self, center: Array, evidence: Evidence) -> None:
        self.center = center
        self.residual = max(evidence.squares - float(linalg.dot(evidence.moment, center)), 0.0)

    def _reweigh(self, columns: Array, weight: float) -> None:
        """Add weight · UUᵀ to Z."""
        if weight == 0.0:
            return
        sign = 1.0 if weight > 0.0 else -1.0
        solved = self.inverse.times_columns(columns) * np.sqrt(abs(weight))
        middle = (sign * np.sqrt(abs(weight))) * (columns.T @ solved)
        linalg.add_diagonal(middle, 1.0)
        root, _ = linalg.whitening(0.5 * (middle + middle.T), _ROUNDING)
        self.inverse.adjust(root @ solved.T, -sign)
