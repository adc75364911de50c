"""Random vectors of identity covariance: on a sphere, in a cube, heavy-tailed, in near-duplicate pairs."""

import math
from typing import Literal

import numpy as np

from eigenbandits.inputs import Array

VectorKind = Literal["sphere", "cube", "heavy", "duplicates"]

# Three degrees of freedom: a second moment exists, a fourth does not.
_FREEDOM = 3.0
# How far the second vector of a near-duplicate pair strays from the first, relative to its size.
_JITTER = 1e-3


def draw(
    kind: VectorKind,
    rng: np.random.Generator,
    lengths: np.random.Generator,
    shape: tuple[int, int],
    *dims: int,
) -> list[Array]:
    """Draw a block of decision sets of vectors, uncorrelated with each other, one for each of `dims`.

    Parameters
    ----------
    kind : {"sphere", "cube", "heavy", "duplicates"}
        Their distribution.
    rng, lengths : numpy.random.Generator
        Where directions and, for ``"heavy"``, lengths come from. Both are used round by round, so that the
        stream does not depend on how many rounds make a block.
    shape : (int, int)
        Rounds, and vectors in each.
    *dims : int
        The dimension of each vector.

    Returns
    -------
    list of ndarray
        For each n of `dims` an array of shape (rounds, vectors, n), of mean zero and covariance I.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> (x,) = draw("sphere", rng, rng, (5, 2), 9)
    >>> x.shape, bool(np.allclose(np.linalg.norm(x, axis=-1), 3.0))
    ((5, 2, 9), True)
    """
    cuts = np.cumsum(dims)
    if kind == "cube":
        edge = math.sqrt(3.0)
        return np.split(rng.uniform(-edge, edge, (*shape, cuts[-1])), cuts[:-1], axis=-1)
    normals = np.split(rng.standard_normal((*shape, cuts[-1])), cuts[:-1], axis=-1)
    parts = [_on_sphere(part) for part in normals]
    if kind == "heavy":
        # The vector becomes a multivariate t: E (ν−2)/χ²_ν = 1, so its covariance stays the same.
        factors = np.sqrt((_FREEDOM - 2.0) / lengths.chisquare(_FREEDOM, (*shape, len(dims))))
        parts = [part * factors[..., i : i + 1] for i, part in enumerate(parts)]
    if kind == "duplicates":
        paired = shape[1] // 2 * 2
        for part in parts:
            # Weights whose squares add to 1 leave the covariance of the second unchanged.
            part[:, 1:paired:2] *= _JITTER
            part[:, 1:paired:2] += math.sqrt(1.0 - _JITTER**2) * part[:, 0:paired:2]
    return parts


def squared_length(kind: VectorKind, dim: int) -> float:
    """The largest ‖x‖² of a drawn vector of ℝⁿ: n on the sphere, 3n in the cube, infinite if heavy-tailed."""
    if kind == "heavy":
        return math.inf
    if kind == "duplicates":
        return (math.sqrt(1.0 - _JITTER**2) + _JITTER) ** 2 * dim
    return 3.0 * dim if kind == "cube" else float(dim)


def orthonormal(rng: np.random.Generator, dim: int, rank: int) -> Array:
    """Draw an orthonormal basis of a uniformly distributed subspace, of shape (dim, rank)."""
    q, r = np.linalg.qr(rng.standard_normal((dim, rank)))
    # QR leaves the signs to the library; a positive diagonal of R makes the law of Q uniform.
    return np.asarray(q * np.where(np.diagonal(r) < 0.0, -1.0, 1.0), dtype=np.float64)


def _on_sphere(normals: Array) -> Array:
    """Bring normal vectors of ℝⁿ to the sphere of radius √n."""
    norms = np.linalg.norm(normals, axis=-1, keepdims=True)
    return np.asarray(normals * (math.sqrt(normals.shape[-1]) / norms), dtype=np.float64)
