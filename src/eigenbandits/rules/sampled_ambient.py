"""Models on the boundary of an ellipsoid in many dimensions, drawn as far as a decision set can tell them apart."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from eigenbandits.belief.ambient import AmbientView
from eigenbandits.belief.base import Models

Array = NDArray[np.float64]

# Directions of the decision set with less than this part of the largest variance are rounding.
_ROUNDING = 1e-12


def boundary(view: AmbientView, count: int, rng: np.random.Generator) -> Models:
    """Return models spread evenly over the boundary of the ellipsoid: the same law as ``view.boundary``, but cheaper.

    A model is θ̂ + Ω Z^{-1/2}u with u even on the sphere, u = g/‖g‖ for a normal g. The values that it gives to the K
    actions depend only on the part of g in the span of the Z^{-1/2}x, which is normal in at most K dimensions, and on
    ‖g‖, whose other part is a chi-square number. So `count` models cost O(Kd² + count·K²) in the place of
    O(count·d²). The rest of a model is drawn when it is asked for, which costs O(d²).
    """
    size, dim = view.lifted.shape
    if size >= dim:
        return view.boundary(count, rng)
    solved, values, vectors = _seen(view)
    normal = rng.standard_normal((count, len(values)))
    unseen = rng.chisquare(dim - len(values), count)
    lengths = np.sqrt(np.einsum("ij,ij->i", normal, normal) + unseen)
    steps = view.omega * normal / lengths[:, None]
    promised = view.estimates() + steps @ (vectors * np.sqrt(values)).T

    def model(index: int) -> Array:
        # Z⁻¹XᵀE v^{-1/2}: its columns are orthonormal in the metric of Z and span what the actions see.
        frame = solved @ (vectors / np.sqrt(values))
        rest = view.omega * float(np.sqrt(unseen[index])) / float(lengths[index])
        return _lowered(view)(frame @ steps[index] + rest * _unseen(view, frame, rng))

    return Models(promised, model)


def _seen(view: AmbientView) -> tuple[Array, Array, Array]:
    """Return Z⁻¹Xᵀ (D, K), and the eigenvalues and eigenvectors of XZ⁻¹Xᵀ that are more than rounding."""
    actions = view.lifted.astype(np.float64, copy=False)
    solved = view.belief.inverse.times_columns(actions.T)
    shape = actions @ solved
    values, vectors = np.linalg.eigh(0.5 * (shape + shape.T))
    kept = values > _ROUNDING * max(float(values[-1]), np.finfo(float).tiny)
    return solved, values[kept], vectors[:, kept]


def _unseen(view: AmbientView, frame: Array, rng: np.random.Generator) -> Array:
    """Return a direction that no action sees, even in the metric of Z and of length 1 there."""
    draw = view.belief.normal(1, rng)[:, 0]
    deviation = view.belief.inverse.times(draw)
    # frameᵀ Z deviation, with Z deviation = draw.
    inside = draw @ frame
    length = float(draw @ deviation) - float(inside @ inside)
    return np.asarray((deviation - frame @ inside) / np.sqrt(max(length, np.finfo(float).tiny)))


def _lowered(view: AmbientView) -> Callable[[Array], Array]:
    """Return what adds a deviation to the estimate, in the coordinates of the actions as they were offered."""
    center = view.believer()()
    return lambda deviation: np.asarray(center + deviation[: len(center)])
