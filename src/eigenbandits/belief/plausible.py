"""The projection P̃ and the model θ̃ behind a joint maximum, in all d dimensions."""

import math
from dataclasses import dataclass

import numpy as np

from eigenbandits.inputs import Array


@dataclass(frozen=True, eq=False)
class Optimum:
    """One action's joint maximum, in the frame's coordinates.

    Attributes
    ----------
    value
        (P̃x)ᵀθ̃.
    inside
        V̂ᵀP̃x (m,).
    outside, along
        The length of (I − P̂)P̃x, and its inner product with the unit vector along (I − P̂)x.
    parameter
        V̂ᵀθ̃, and the intercept's parameter if there is one.
    rest
        The length of (I − P̂)θ̃, which points along (I − P̂)P̃x; negative if it points the other way.
    """

    value: float
    inside: Array
    outside: float
    along: float
    parameter: Array
    rest: float


@dataclass(frozen=True, eq=False)
class JointPair:
    """The model and the projection of a joint maximum; calling it returns θ̃ (d,)."""

    directions: Array
    action: Array
    optimum: Optimum

    def __call__(self) -> Array:
        """Return θ̃."""
        b = outside_direction(self.directions, self.action, self.optimum)
        length = float(np.linalg.norm(b))
        rest = b * (self.optimum.rest / length) if length > 0.0 else 0.0
        return np.asarray(self.directions @ self.optimum.parameter[: self.directions.shape[1]] + rest)

    def projection(self) -> Array:
        """Return P̃ (d, d)."""
        basis = plausible_basis(self.directions, self.action, self.optimum)
        return basis @ basis.T


def outside_direction(directions: Array, action: Array, optimum: Optimum) -> Array:
    """Return b = (I − P̂)P̃x (d,) for the optimum of `action` (d,), with `directions` (d, m) spanning the subspace."""
    rest = action - directions @ (directions.T @ action)
    length = float(np.linalg.norm(rest))
    unit = rest / length if length > 0.0 else np.zeros_like(rest)
    across = math.sqrt(max(optimum.outside**2 - optimum.along**2, 0.0))
    if across == 0.0:
        return optimum.along * unit
    # Any orthogonal direction will do; the axis with the smallest part in the span is far enough from it.
    taken = np.column_stack([directions, unit])
    axis = int(np.square(taken).sum(axis=1).argmin())
    other = np.eye(len(action))[axis]
    for _ in range(2):
        other = other - taken @ (taken.T @ other)
    return np.asarray(optimum.along * unit + across * other / np.linalg.norm(other))


def plausible_basis(directions: Array, action: Array, optimum: Optimum) -> Array:
    """Return an orthonormal basis (d, m) of the span of P̃, which takes `action` (d,) to the optimum's P̃x.

    span(P̃) is the graph {v + Xv : v in span(V̂)} of a map X to the outside, with ‖P̃ − P̂‖₂ = sin atan ‖X‖₂. P̃x = a +
    b requires Xa = b and, with x − P̃x = c + e, Xᵀe = −c: one column and one row of X, in suitable bases. The rest of X
    is chosen so that its norm is no larger than theirs (Parrott 1978; Davis, Kahan and Weinberger 1982).
    """
    b = outside_direction(directions, action, optimum)
    a = optimum.inside
    c = directions.T @ action - a
    e = action - directions @ (directions.T @ action) - b
    size_a, size_e = float(np.linalg.norm(a)), float(np.linalg.norm(e))
    # Anything shorter is rounding; leaving it out moves P̃x by no more than its own length.
    tiny = 1e-6 * float(np.linalg.norm(action))
    row, column = np.zeros_like(a), np.zeros_like(b)
    unit_a, unit_e = np.zeros_like(a), np.zeros_like(b)
    if size_a > tiny:
        unit_a, column = a / size_a, b / size_a
    if size_e > tiny:
        unit_e, row = e / size_e, -c / size_e
    corner = float(unit_e @ column) if size_e > tiny else 0.0
    down, right = column - corner * unit_e, row - corner * unit_a
    graph = np.outer(column, unit_a) + np.outer(unit_e, right)
    largest = max(float(column @ column), float(row @ row))
    # If the corner is as large as all of it, the remainder is rounding, and so is the rest.
    if largest - corner**2 > 1e-10 * largest:
        graph -= np.outer(down, right) * (corner / (largest - corner**2))
    basis, _ = np.linalg.qr(directions + graph)
    return np.asarray(basis)
