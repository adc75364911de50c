"""Linear maps from one encoder's vectors to another's, learned from items that both have embedded."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from eigenbandits.component import Component
from eigenbandits.inputs import Array

# One in this many pairs is held out, to choose the map and to estimate what it loses.
HELD_OUT = 5
# Ridges to try, in units of the mean variance of the old vectors' coordinates.
RIDGES = 10.0 ** np.arange(-10.0, 2.0)
# The number of directions used to tell the encoders apart, and the most that one of them may contribute, in nats, so
# that a single outlier decides nothing (`eigenbandits calibrate telling`, `eigenbandits calibrate loudest`).
TELLING, LOUDEST = 32, 8.0


@dataclass(frozen=True, eq=False)
class RowMap:
    """A map from lifted rows of the old encoder to those of the new one: ỹ ≈ x̃M, with R the covariance of ỹ − x̃M.

    If the new encoder had embedded the actions of the log, the sums would be Σ ỹỹᵀ and Σ rỹ. Given the old rows, their
    expected values are MᵀΣM + nR and Mᵀb, since rewards depend on the action and not on the part of it that the map
    misses.

    Parameters
    ----------
    matrix : ndarray of shape (D, D′)
        M.
    leftover : ndarray of shape (D′, D′)
        R.
    longest : float
        The largest norm among the new rows.
    intercept, score : float
        κ and the size of the score's coordinate in the new rows, or 0 if they have none.
    """

    matrix: Array
    leftover: Array
    longest: float
    intercept: float
    score: float

    @property
    def dim(self) -> int:
        """D′, the length of a new row."""
        return int(self.matrix.shape[1])

    def gram(self, gram: Array, weight: float) -> Array:
        """Return MᵀΣM + nR in Fortran order, given both halves of Σ."""
        mapped = self.matrix.T @ gram @ self.matrix + weight * self.leftover
        return np.asfortranarray(0.5 * (mapped + mapped.T))

    def draws(self, rows: Array, rng: np.random.Generator) -> Array:
        """Draw new rows given the old ones (n, D)."""
        return np.asarray(rows @ self.matrix + rng.standard_normal((len(rows), self.dim)) @ self._root.T)

    @cached_property
    def _root(self) -> Array:
        values, vectors = np.linalg.eigh(self.leftover)
        return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))


@dataclass(frozen=True, eq=False)
class VectorMap:
    """y ≈ ȳ + (x − x̄)B for vectors x of the old encoder and y of the new one.

    Attributes
    ----------
    matrix : ndarray of shape (d, d′)
        B.
    old_mean, new_mean : ndarray
        x̄ and ȳ.
    method : str
        How the map was fitted.
    residual : float
        The share of the new vectors' variance that the map leaves unexplained, on held-out pairs.
    """

    matrix: Array
    old_mean: Array
    new_mean: Array
    method: str
    residual: float


def fit_map(old: tuple[Array, Array], new: tuple[Array, Array], centered: bool) -> VectorMap:
    """Return the map from old vectors to new ones with the smallest error on held-out pairs.

    The candidates are ridge regressions and, if the vectors have the same length, a scaled rotation (orthogonal
    Procrustes), which has half as many parameters and so a smaller error when there are few pairs.

    Parameters
    ----------
    old, new
        The vectors of the pairs to fit, and of the held-out pairs.
    centered
        Whether the means are subtracted; without an intercept, nothing could make up for that.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> old, turn = rng.standard_normal((50, 3)), np.array([[0.0, 2.0, 0.0], [2.0, 0.0, 0.0], [0.0, 0.0, -2.0]])
    >>> mapping = fit_map((old[:40], old[40:]), (old[:40] @ turn, old[40:] @ turn), centered=True)
    >>> bool(np.allclose(mapping.matrix, turn)), round(mapping.residual, 6)
    (True, 0.0)
    """
    means = [rows[0].mean(axis=0) if centered else np.zeros(rows[0].shape[1]) for rows in (old, new)]
    (x, held_out_x), (y, held_out_y) = (
        [part - mean for part in rows] for rows, mean in zip((old, new), means, strict=True)
    )
    cross = x.T @ y
    values, axes = np.linalg.eigh(x.T @ x)
    unit = max(float(values.sum()) / len(values), np.finfo(float).tiny)
    inside, seen = axes.T @ cross, held_out_x @ axes
    candidates = [
        ("ridge regression", axes, inside / (np.maximum(values, 0.0) + ridge * unit)[:, None]) for ridge in RIDGES
    ]
    if x.shape[1] == y.shape[1]:
        left, sizes, right = np.linalg.svd(cross)
        factor = float(sizes.sum()) / max(float(values.sum()), np.finfo(float).tiny)
        candidates.append(("rotation", axes, axes.T @ (factor * left @ right)))
    errors = [float(np.square(held_out_y - seen @ turned).sum()) for _, _, turned in candidates]
    best = int(np.argmin(errors))
    method, _, turned = candidates[best]
    whole = float(np.square(held_out_y).sum())
    residual = errors[best] / whole if whole > 0.0 else 0.0
    return VectorMap(axes @ turned, means[0], means[1], method, residual)


def fit_values(rows: tuple[Array, Array], values: tuple[Array, Array]) -> Array:
    """Return the model (D,) whose products with new rows are close to the values estimated from the old ones.

    It is the ridge regression with the largest ridge whose error on held-out pairs is at most one standard error above
    the smallest (Breiman et al. 1984): what a smaller ridge would add lies in directions with hardly any variance,
    where a prior's mean should be 0.

    Parameters
    ----------
    rows, values
        Rows and values of the pairs to fit, and of the held-out pairs.

    References
    ----------
    Breiman, Friedman, Olshen, Stone. Classification and Regression Trees. Wadsworth, 1984.

    Examples
    --------
    >>> rows, model = np.random.default_rng(0).standard_normal((50, 3)), np.array([1.0, 0.0, -2.0])
    >>> fitted = fit_values((rows[:40], rows[40:]), (rows[:40] @ model, rows[40:] @ model))
    >>> bool(np.allclose(fitted, model))
    True
    """
    squares, axes = np.linalg.eigh(rows[0].T @ rows[0])
    unit = max(float(squares.sum()) / len(squares), np.finfo(float).tiny)
    inside, seen = axes.T @ (rows[0].T @ values[0]), rows[1] @ axes
    models = [inside / (np.maximum(squares, 0.0) + ridge * unit) for ridge in RIDGES]
    errors = np.array([np.square(values[1] - seen @ model) for model in models])
    # Pair by pair, since all models find the same pairs difficult.
    above = errors - errors[errors.mean(axis=1).argmin()]
    equal = above.mean(axis=1) <= above.std(axis=1) / np.sqrt(above.shape[1])
    return np.asarray(axes @ models[int(np.flatnonzero(equal)[-1])])


class Encoder(Component):
    """The encoder of a policy's vectors: how often it has changed, and how to tell the last two apart.

    After a translation, vectors of the earlier encoder are recognized if the two differ in mean or variance along some
    directions, by the log-likelihood ratio of two normal distributions there. The bound lies halfway between the
    largest ratio among new vectors and the median ratio of old ones, both held out. If the former is the larger, the
    encoders are too similar and there is no bound.
    """

    _state_names: ClassVar[tuple[str, ...]] = ("changes", "since", "axes", "means", "variances", "bound")

    def __init__(self) -> None:
        self.changes = 0
        # The round after which the vectors are the new encoder's.
        self.since = 0
        # The directions (q, d), and along them the means and variances (2, q) of the old and the new vectors.
        self.axes: Array = np.zeros((0, 0))
        self.means: Array = np.zeros((2, 0))
        self.variances: Array = np.zeros((2, 0))
        self.bound: float | None = None

    def change(self, round_: int, old: tuple[Array, Array], new: tuple[Array, Array]) -> None:
        """Record a change of encoder, given vectors of both to compare and held-out ones to calibrate the bound."""
        self.changes, self.since, self.bound = self.changes + 1, round_, None
        if old[0].shape[1] != new[0].shape[1]:
            return
        self.axes = _telling(old[0], new[0])
        seen = [rows[0] @ self.axes.T for rows in (old, new)]
        self.means = np.array([one.mean(axis=0) for one in seen])
        self.variances = np.array([one.var(axis=0) for one in seen])
        self.variances = np.maximum(self.variances, 1e-12 * self.variances.max())
        largest, usual = float(self._ratios(new[1]).max()), float(np.median(self._ratios(old[1])))
        self.bound = 0.5 * (largest + usual) if usual > largest else None

    def check(self, vectors: Array, what: str = "actions") -> None:
        """Refuse vectors that look like those of the earlier encoder."""
        if self.bound is not None and float(self._ratios(vectors).mean()) > self.bound:
            raise ValueError(
                f"{what} looks like vectors of the encoder used before translate(); expected the new encoder's."
            )

    def check_round(self, round_: int) -> None:
        """Refuse a decision that was made before the encoder changed."""
        if round_ <= self.since and self.changes:
            raise ValueError(
                "this decision was made before translate(), on a vector of the earlier encoder; "
                "pass the new encoder's vector for its action instead."
            )

    def same_as(self, other: Encoder) -> bool:
        """Return whether another policy's vectors come from the same encoder, as far as is known."""
        return self.changes == other.changes and np.array_equal(self.axes, other.axes) and self.bound == other.bound

    def _ratios(self, vectors: Array) -> Array:
        """Return log p(x | old)/p(x | new) for each vector."""
        seen = vectors @ self.axes.T
        logs = -0.5 * (np.square(seen[None] - self.means[:, None]) / self.variances[:, None])
        logs -= 0.5 * np.log(self.variances)[:, None]
        return np.asarray(np.clip(logs[0] - logs[1], -LOUDEST, LOUDEST).sum(axis=1))


def _telling(old: Array, new: Array) -> Array:
    """Return the directions (q, d) along which the vectors of two encoders differ most in mean or variance."""
    dim = old.shape[1]
    means = [rows.mean(axis=0) for rows in (old, new)]
    covariances = [np.cov(rows, rowvar=False).reshape(dim, dim) for rows in (old, new)]
    # A floor on the variances, so that directions with hardly any variance do not count.
    least = 1e-3 * max(float(np.trace(sum(covariances))) / (2 * dim), np.finfo(float).tiny)
    floored = [one + least * np.eye(dim) for one in covariances]
    values, white = np.linalg.eigh(0.5 * (floored[0] + floored[1]))
    white = white / np.sqrt(values)
    # In these coordinates, the two covariances add up to 2I: a share of 1 means the same variance for both.
    shares, axes = np.linalg.eigh(white.T @ floored[0] @ white)
    shares = np.clip(shares, 1e-6, 2.0 - 1e-6)
    distances = (means[0] - means[1]) @ white @ axes
    # The symmetric Kullback–Leibler divergence of two normal distributions.
    other = 2.0 - shares
    divergence = 0.5 * (shares / other + other / shares) - 1.0 + 0.5 * distances**2 * (1.0 / shares + 1.0 / other)
    return np.ascontiguousarray((white @ axes[:, np.argsort(-divergence)[:TELLING]]).T)
