"""The exact optimum over two ellipsoids by a general convex solver, to compare with."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import cvxpy as cp
import numpy as np

from eigenbandits.belief.ellipsoids import Ellipsoid


@dataclass(frozen=True)
class Pair:
    """Two ellipsoids, and by how much they overlap where that is known.

    Both reach a share 1 − overlap of the way to the hyperplane that touches each: with overlap 0 they are tangent,
    and the least max(q₁, q₂) is (1 − overlap)², since the two shrunk by 1 − overlap are.
    """

    first: Ellipsoid
    second: Ellipsoid
    overlap: float | None = None


def solver_support(pair: Pair, direction: np.ndarray) -> float:
    """Return the optimum by a second-order cone solver, −inf where it finds the problem infeasible.

    The solver is given coordinates in which the first ellipsoid is the unit ball and the direction has length one,
    so that its own tolerances mean something.
    """
    first, second = pair.first, pair.second
    to = first.vectors * first.lengths
    weights = to.T @ direction
    length = float(np.linalg.norm(weights))
    y = cp.Variable(len(direction))
    inside = (second.vectors / second.lengths).T
    constraints = [cp.norm(y) <= 1, cp.norm(inside @ to @ y + inside @ (first.center - second.center)) <= 1]
    problem = cp.Problem(cp.Maximize((weights / length) @ y), constraints)
    with warnings.catch_warnings():
        # Asked for more digits than it can promise, the solver says so; the comparison itself is the judge.
        warnings.simplefilter("ignore")
        problem.solve(
            solver=cp.CLARABEL, tol_gap_abs=1e-12, tol_gap_rel=1e-12, tol_feas=1e-12, tol_ktratio=1e-10, max_iter=200
        )
    if problem.status in ("infeasible", "infeasible_inaccurate"):
        return -np.inf
    assert problem.status in ("optimal", "optimal_inaccurate")
    return float(direction @ first.center + length * problem.value)
