"""How steeply a graded ridge rises along the spectrum, and whether the rewards have an offset of their own."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

# The p of λ_in (ℓ₁/ℓ)^p, the steepest first, and how far the ridge may rise, in units of λ_out.
GRADINGS = ((6, 1e3), (4, 1e3), (3, 1.0), (2, 1.0), (1, 1.0), (0, 1.0))
# A steeper grading is taken in the place of the likeliest if it has this share of its evidence, and if its estimate
# ranks actions as that of the likeliest does, up to this squared correlation.
SHARE, ALIKE = 0.7, 0.9
# The log Bayes factor that opens the intercept: strong evidence, and this much more for each reward.
STRONG, FOR_EACH_REWARD = 4.0, 0.2


@dataclass(frozen=True, eq=False)
class Grading:
    """Ridges inside the subspace, and what the rewards say of them.

    Attributes
    ----------
    power
        p.
    ridges
        One for each coordinate, an intercept's last.
    evidence
        The log likelihood of the rewards under the ridges as a prior, up to a constant that all gradings share.
    values
        The estimate's coordinates, each times the spread of the actions along it: the predicted values of actions
        under two gradings correlate as these do.
    """

    power: int
    ridges: Array
    evidence: float
    values: Array


def gradings(ridges: Array, level: float, spectrum: Array, gram: Array, score: Array, noise: float) -> list[Grading]:
    """Return each way to let the ridges rise along the spectrum, the steepest first.

    Z is taken to have the ridge λ_out in every direction. With U the subspace, G = UᵀZ⁻¹U and g = UᵀZ⁻¹b, ridges that
    differ from λ_out by w change bᵀZ⁻¹b by −gᵀ(I/w + G)⁻¹g and log det Z by log det(I + G w), and the estimate becomes
    (I + G w)⁻¹g inside; the evidence is ½bᵀZ⁻¹b/R² − ½ log(det Z/det W).

    Parameters
    ----------
    ridges
        The even ones, one for each of the q coordinates.
    level
        λ_out.
    spectrum
        The eigenvalues ℓ of the m ≤ q directions whose ridges may rise.
    gram, score
        G (q, q) and g (q,).
    noise
        R.
    """
    rank = len(spectrum)
    shares = np.maximum(spectrum / max(float(spectrum[0]), np.finfo(float).tiny), 1e-6)
    spreads = np.sqrt(np.maximum(spectrum, 0.0))
    found = []
    for power, ceiling in GRADINGS:
        candidate = ridges.copy()
        candidate[:rank] = np.minimum(candidate[:rank] * shares**-power, ceiling * level)
        weights = candidate - level
        matrix = gram * weights
        matrix.flat[:: len(matrix) + 1] += 1.0
        estimate = np.asarray(np.linalg.solve(matrix, score), dtype=np.float64)
        fit = float(score @ (weights * estimate))
        size = float(np.linalg.slogdet(matrix)[1]) - float(np.log(candidate / level).sum())
        found.append(Grading(power, candidate, -0.5 * fit / noise**2 - 0.5 * size, estimate[:rank] * spreads))
    return found


def explores_least(found: Sequence[Grading], base: float) -> Grading:
    """Return the steepest grading that does as well as the likeliest: explains nearly as much and chooses alike.

    The likeliest fits rewards; what matters is choices. Rewards that are not linear in the actions, such as those of 0
    and 1, are fitted better by ever more directions, which are then explored, and choices are none the better for it.

    Parameters
    ----------
    found
        The gradings, the steepest first.
    base
        What turns their evidence into that over a model without any direction: the constant that they share, less
        the evidence of an offset alone. Without it an offset of the rewards would make all gradings seem equal.

    Examples
    --------
    >>> steep = Grading(3, np.ones(2), 9.0, np.array([1.0, 0.1]))
    >>> even = Grading(0, np.ones(2), 10.0, np.array([1.0, 0.2]))
    >>> explores_least([steep, even], base=0.0).power, explores_least([steep, even], base=-8.0).power
    (3, 0)
    """
    best = max(found, key=lambda grading: grading.evidence)
    worth = best.evidence + base
    if worth > 0.0:
        for grading in found:
            if grading.evidence + base >= SHARE * worth and _alike(grading.values, best.values):
                return grading
    return best


def _alike(one: Array, other: Array) -> bool:
    product = float(one @ other)
    return product > 0.0 and product**2 >= ALIKE * float(one @ one) * float(other @ other)


def offset_alone(total: float, count: int, unit: float, ridge: float, noise: float) -> float:
    """Return the evidence of a model that has nothing but an intercept.

    Parameters
    ----------
    total
        κ Σ r, the intercept's entry of b.
    count, unit, ridge, noise
        The number of rewards, κ, the intercept's ridge and R.

    Examples
    --------
    >>> round(offset_alone(total=4.0, count=4, unit=1.0, ridge=1.0, noise=0.5), 3)  # ½ · 16/(¼ · 5) − ½ log 5
    5.595
    """
    information = count * unit**2
    return 0.5 * total**2 / (noise**2 * (information + ridge)) - 0.5 * math.log1p(information / ridge)


def has_offset(score: float, information: float, count: int, ridge: float, noise: float) -> bool:
    """Whether the rewards are much likelier with a free intercept than without one.

    With g the information about its coordinate and h its score, both after all others are accounted for, the log
    Bayes factor is ½h²/(R²(λ + g)) − ½ log(1 + g/λ). Strong evidence is asked for, and more with each reward, since
    where the best action always earns 1, an intercept explains that better than any slope does and the slopes are
    lost: what it removes has to be large beside the noise, not only sure. Smaller offsets are learned slowly,
    against the strong ridge that the intercept has until then.

    Parameters
    ----------
    score, information
        h and g.
    count
        The number of rewards.
    ridge
        The λ of a free intercept.
    noise
        R.
    """
    factor = 0.5 * score**2 / (noise**2 * (ridge + information)) - 0.5 * math.log1p(information / ridge)
    return factor > STRONG + FOR_EACH_REWARD * count
