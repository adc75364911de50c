"""What the intercept and the score explain, by least squares, before the rest is left to the actions themselves.

Lifted rows are actions (d numbers) followed by their *free* coordinates: the intercept's κ, then the score, if there
are such. With F the free coordinates of the rewards seen, a flat prior on their coefficients leaves to θ what the
regression on F does not explain: X − FB and r − Fg, with B = (FᵀF)⁻¹FᵀX and g = (FᵀF)⁻¹Fᵀr.
"""

import math
from dataclasses import dataclass

import numpy as np

from eigenbandits.inputs import Array

# The prior on the score's slope counts as this many rewards, as the prior on the noise does (`prior.WEIGHT`). It is
# centered at one standard deviation of the rewards per standard deviation of the scores: a score is taken to be right
# until rewards say otherwise.
SCORE_WEIGHT = 4.0


@dataclass(frozen=True, eq=False)
class Explained:
    """The part explained by the intercept and the score.

    Attributes
    ----------
    slopes : ndarray of shape (f, d)
        B: how the actions learned from depend on the free coordinates.
    levels : ndarray of shape (f,)
        g: how their rewards depend on the free coordinates.
    cross : ndarray of shape (f, d)
        FᵀX.
    covariance : ndarray of shape (f, f)
        The covariance of the free coefficients given θ, in units of the noise variance: (FᵀF)⁻¹.
    residual, freedom : float
        The remaining sum of squares of the rewards, and its degrees of freedom.
    expected : float
        The center of the prior on the score's slope; 0 if there is no score, or none that helps.
    """

    slopes: Array
    levels: Array
    cross: Array
    covariance: Array
    residual: float
    freedom: float
    expected: float = 0.0


def explained(sums: Array, moment: Array, squares: float, count: float, kappa: float, score: float) -> Explained:
    """Return the part explained by the free coordinates, from the sums.

    Parameters
    ----------
    sums : ndarray of shape (f, d + f)
        The rows of Σ that belong to the free coordinates.
    moment : ndarray of shape (f,)
        Their entries of b.
    squares, count
        Σr², and the number of rewards, or the sum of their weights.
    kappa, score
        κ, and the size of one standard deviation of the scores; 0 if there is no intercept or no score.
    """
    free = len(sums)
    dim = sums.shape[1] - free
    cross, inner, moment = sums[:, :dim].copy(), sums[:, dim:].copy(), moment.copy()
    level, expected = float(moment[0]) / kappa / (count or 1.0) if kappa else 0.0, 0.0
    if score:
        about = squares - count * level**2
        expected = math.sqrt(about / count) if about > 1e-14 * squares else 1.0
        inner[-1, -1] += SCORE_WEIGHT * score**2
        moment[-1] += SCORE_WEIGHT * score * expected
    if kappa and count < 1.0:
        # Until there is a reward, the intercept counts as known from one.
        inner[0, 0] = kappa**2
    covariance: Array = np.asarray(np.linalg.inv(inner), dtype=np.float64)
    levels, slopes = covariance @ moment, covariance @ cross
    if score and levels[-1] <= 0.0:
        # A misleading score is left out.
        others, expected = slice(free - 1), 0.0
        levels, slopes = np.zeros(free), np.zeros((free, dim))
        levels[others] = np.linalg.solve(inner[others, others], moment[others])
        slopes[others] = np.linalg.solve(inner[others, others], cross[others])
    whole = squares + SCORE_WEIGHT * expected**2
    residual = whole - float(levels @ moment)
    # If the rewards are all equal, only the score's prior remains, and rounding errors must not become their unit.
    residual = residual if residual > 1e-14 * whole else 0.0
    freedom = max(count - (kappa > 0.0), 0.0)
    return Explained(slopes, levels, cross, covariance, residual, freedom, expected)


def explained_rows(actions: Array, free: Array, rewards: Array, known: Explained, score: float) -> tuple[Array, Array]:
    """Return actions (n, d) and rewards (n,) after regression on their free coordinates (n, f).

    All are multiplied by the square roots of the rewards' weights. The prior on the score's slope is one more row.
    """
    rows = actions - free @ known.slopes
    left = rewards - free @ known.levels if known.residual else np.zeros(len(rewards))
    if known.expected:
        rows = np.concatenate([rows, -math.sqrt(SCORE_WEIGHT) * score * known.slopes[-1:]])
        left = np.append(
            left, math.sqrt(SCORE_WEIGHT) * (known.expected - score * known.levels[-1]) if known.residual else 0.0
        )
    return rows, left


def with_free(covariance: Array, known: Explained) -> Array:
    """Return the covariance of θ and the free coefficients, in Fortran order, given that of θ alone."""
    dim, free = len(covariance), len(known.levels)
    lifted = np.zeros((dim + free, dim + free), order="F")
    # The transpose of the symmetric matrix, in the order of memory of the new one.
    lifted[:dim, :dim] = covariance.T
    if free:
        slopes = known.slopes @ covariance
        lifted[dim:, :dim], lifted[:dim, dim:] = -slopes, -slopes.T
        lifted[dim:, dim:] = slopes @ known.slopes.T + known.covariance
    return lifted


def thin_with_free(scale: float, plus: Array, minus: Array, known: Explained) -> tuple[Array, Array]:
    """Return the rows p and x for which scale·I + Σ p pᵀ − Σ x xᵀ is the covariance of θ and the free coefficients.

    The rows given are those for the covariance of θ alone.
    """
    free, dim = known.slopes.shape
    plus = np.column_stack([plus, -plus @ known.slopes.T])
    minus = np.column_stack([minus, -minus @ known.slopes.T])
    own = np.zeros((free, dim + free))
    own[:, dim:] = np.linalg.cholesky(known.covariance).T
    # The difference between scale · (I, −Bᵀ)ᵀ(I, −Bᵀ) and scale · I lies in the span of B's rows and the free columns.
    directions, size = np.linalg.qr(known.slopes.T)
    corner = np.block([[np.zeros((free, free)), -size], [-size.T, size.T @ size - np.eye(free)]])
    values, vectors = np.linalg.eigh(corner)
    plane = np.zeros((2 * free, dim + free))
    plane[:free, :dim], plane[free:, dim:] = directions.T, np.eye(free)
    sides = vectors.T @ plane * np.sqrt(scale * np.abs(values))[:, None]
    return np.concatenate([plus, own, sides[values > 0.0]]), np.concatenate([minus, sides[values < 0.0]])
