"""Sampling models around an ellipsoid's center in many dimensions, as far as a decision set can distinguish them."""

from collections.abc import Callable

import numpy as np

from eigenbandits import linalg
from eigenbandits.belief.base import Models
from eigenbandits.inputs import Array

# Directions of the decision set whose variance is below this part of the largest are rounding errors.
_ROUNDING = 1e-12


class Root:
    """Draws from N(0, Z), exactly, in O(d²) each.

    Z = Z_s + Σ x xᵀ over the few actions since a factor of Z_s was computed: a draw is that factor times a normal
    vector, plus the recent actions times normal numbers, so that a factor is computed only once in d rewards.

    Parameters
    ----------
    factor, recent
        A factor of Z_s and the actions since (n, D); or None.
    precision
        A function that returns the lower half of Z, if there is no factor yet.
    floor
        λ: no eigenvalue of Z is below it.
    """

    def __init__(
        self, factor: Array | None, recent: Array | None, precision: Callable[[], Array], floor: float
    ) -> None:
        self._factor = factor
        self._recent = recent
        self._precision = precision
        self._floor = floor
        # A factor computed here, which is worth keeping.
        self.made: Array | None = None

    def draw(self, count: int, rng: np.random.Generator) -> Array:
        """Return (D, count) draws."""
        if self._factor is None:
            # A factor of the current Z, which includes every action up to the last.
            self._factor, self._recent = self._factorize(), None
            self.made = self._factor
        draws = self._factor @ rng.standard_normal((len(self._factor), count))
        if self._recent is not None and len(self._recent):
            draws += self._recent.T @ rng.standard_normal((len(self._recent), count))
        return np.asarray(draws)

    def _factorize(self) -> Array:
        matrix = self._precision()
        try:
            return np.asarray(np.linalg.cholesky(matrix))
        except np.linalg.LinAlgError:
            values, vectors = np.linalg.eigh(matrix, UPLO="L")
            return np.asarray(vectors * np.sqrt(np.maximum(values, self._floor)))


def models(lifted: Array, estimates: Array, center: Array, deviations: Array) -> Models:
    """Return the models center + deviation for each column of deviations."""
    values = estimates + linalg.project(lifted, deviations).T
    return Models(values, lambda index: center + deviations[:, index])


def posterior(
    lifted: Array,
    estimates: Array,
    center: Array,
    products: Array,
    scale: float,
    count: int,
    rng: np.random.Generator,
) -> Models:
    """Return models from the normal distribution N(θ̂, scale² Z⁻¹), as far as the decision set can distinguish them.

    The values of the K actions are normal with covariance scale² XZ⁻¹Xᵀ, so they are drawn in K dimensions: no factor
    of Z is needed, and `count` models cost O(count·K²). Each model is the likeliest of all those that give the values
    drawn.

    Parameters
    ----------
    lifted, estimates
        The actions (K, D), and xᵀθ̂ for each.
    center, products
        θ̂, and Z⁻¹x (K, D) for each action.
    """
    values, vectors = _seen(lifted, products)
    # The symmetric root, because the signs of eigenvectors depend on rounding, and the draws should not.
    steps = scale * rng.standard_normal((count, len(lifted))) @ vectors

    def model(index: int) -> Array:
        return np.asarray(center + (vectors / np.sqrt(values) @ steps[index]) @ products)

    return Models(estimates + steps @ (vectors * np.sqrt(values)).T, model)


def boundary(
    lifted: Array,
    estimates: Array,
    center: Array,
    omega: float,
    inverse: linalg.SymmetricSum,
    root: Root,
    count: int,
    rng: np.random.Generator,
) -> Models:
    """Return models spread uniformly over the boundary of the ellipsoid ‖θ − θ̂‖_Z ≤ Ω.

    A model is θ̂ + Ω Z^{-1/2}u with u uniform on the sphere, u = g/‖g‖ for a normal g. The values that it gives to the
    K actions depend only on the part of g in the span of the Z^{-1/2}x, which is normal in at most K dimensions, and on
    ‖g‖, whose other part is a chi-square variable. So if K < D, `count` models cost O(Kd² + count·K²) instead of
    O(count·d²). The rest of a model is drawn on demand, which costs O(d²).

    Parameters
    ----------
    lifted, estimates
        The actions (K, D), and xᵀθ̂ for each.
    center, omega, inverse, root
        θ̂, Ω, Z⁻¹ and draws from N(0, Z).
    """
    size, dim = lifted.shape
    if size >= dim:
        draws = root.draw(count, rng)
        deviations = inverse.times_columns(draws)
        lengths = np.sqrt(np.maximum(np.einsum("ij,ij->j", draws, deviations), np.finfo(float).tiny))
        return models(lifted, estimates, center, omega * deviations / lengths)
    actions = lifted.astype(np.float64, copy=False)
    products = inverse.times_rows(actions)
    values, vectors = _seen(actions, products)
    normal = rng.standard_normal((count, len(values)))
    unseen = rng.chisquare(dim - len(values), count)
    lengths = np.sqrt(np.einsum("ij,ij->i", normal, normal) + unseen)
    steps = omega * normal / lengths[:, None]
    promised = estimates + steps @ (vectors * np.sqrt(values)).T

    def model(index: int) -> Array:
        # Z⁻¹XᵀE v^{-1/2}: its columns are orthonormal in the metric of Z and span what the actions can distinguish.
        frame = products.T @ (vectors / np.sqrt(values))
        rest = omega * float(np.sqrt(unseen[index])) / float(lengths[index])
        return np.asarray(center + frame @ steps[index] + rest * _unseen(inverse, root, frame, rng))

    return Models(promised, model)


def _seen(actions: Array, products: Array) -> tuple[Array, Array]:
    """Return the eigenvalues of XZ⁻¹Xᵀ above rounding and their eigenvectors, given Z⁻¹x for each action x."""
    shape = actions @ products.T
    values, vectors = np.linalg.eigh(0.5 * (shape + shape.T))
    kept = values > _ROUNDING * max(float(values[-1]), np.finfo(float).tiny)
    return values[kept], vectors[:, kept]


def _unseen(inverse: linalg.SymmetricSum, root: Root, frame: Array, rng: np.random.Generator) -> Array:
    """Return a direction that no action can distinguish, drawn uniformly in the metric of Z, with length 1 there."""
    draw = root.draw(1, rng)[:, 0]
    deviation = inverse.times(draw)
    # frameᵀ Z deviation, with Z deviation = draw.
    inside = draw @ frame
    length = float(draw @ deviation) - float(inside @ inside)
    return np.asarray((deviation - frame @ inside) / np.sqrt(max(length, np.finfo(float).tiny)))
