"""The steps of every round, one function each, in NumPy.

Each function calls NumPy and the primitives next to it, keeps no state and uses no objects, so that a compiler can
compile it as a whole: on small problems, the time goes into calling forty functions, not into the work they do. Call
them through `linalg.kernels`, which holds those of the backend in use.
"""

from __future__ import annotations

import math

from eigenbandits.inputs import Array
from eigenbandits.linalg.primitives import (
    add_diagonal,
    add_outer,
    axpy,
    dot,
    largest_eigenvalue,
    project,
    quadratic,
    row_dots,
    take_roots,
    times_plus,
    whitening,
)


def ambient_best(actions: Array, inverse: Array, center: Array, omega: float) -> tuple[int, Array, Array, Array]:
    """Return the row x with the highest xᵀθ̂ + Ω‖x‖_{Z⁻¹}, this and xᵀθ̂ for all rows, and Z⁻¹x of the best row."""
    squares, products = quadratic(actions, inverse)
    uppers, estimates = ambient_bounds(actions, squares, center, omega)
    index = int(uppers.argmax())
    return index, uppers, estimates, products[index] if products.size else inverse @ actions[index]


def rivaled(uppers: Array, estimates: Array, favorite: int, omega: float, deviation: float, count: float) -> bool:
    """Return whether the value of an action may exceed the favorite's once neglected actions are raised.

    A quick bound: all others are raised by as much as the one about which least is known (`theory.marginal.neglect`).
    """
    widths = uppers - estimates
    own, longest = float(widths[favorite]) / omega, float(widths[widths.argmax()]) / omega
    known = own * own
    ratio = longest * longest * (1.0 / known if known * count > 1.0 else count)
    raised = deviation * math.sqrt(2.0 * math.log(max(ratio, 1.0)))
    if raised <= omega:
        return False
    widths *= raised / omega
    widths += estimates
    widths[favorite] = -math.inf
    return bool(widths[widths.argmax()] > uppers[favorite])


def ambient_bound(action: Array, solved: Array, center: Array) -> tuple[float, float]:
    """Return xᵀθ̂ and ‖x‖_{Z⁻¹} for one action x, given Z⁻¹x."""
    return dot(action, center), math.sqrt(max(dot(action, solved), 0.0))


def ambient_step(
    action: Array, solved: Array, center: Array, inverse: Array, reward: float, least: float
) -> tuple[float, bool, Array]:
    """Return xᵀZ⁻¹x, whether that is lost in rounding (below `least`·‖x‖²), and θ̂ after the reward of x.

    Uses the Sherman–Morrison formula; Z⁻¹ is changed in place, unless it is empty.
    """
    gain = dot(action, solved)
    if gain < least * dot(action, action):
        return gain, True, center
    weight = 1.0 / (1.0 + gain)
    if inverse.size:
        add_outer(inverse, solved, solved, -weight)
    surprise = reward - dot(action, center)
    # A new array, not an update in place: earlier decisions may still refer to the old one.
    return gain, False, axpy(solved, center.copy(), a=surprise * weight)


def read(vectors: Array, directions: Array) -> tuple[Array, Array]:
    """Return Vᵀx and, by Pythagoras, ‖(I − VVᵀ)x‖ for each row x."""
    inside = project(vectors, directions)
    outside = row_dots(vectors, vectors)
    outside -= row_dots(inside, inside)
    take_roots(outside)
    return inside, outside


def fit(gram: Array, moment: Array, ridge: float, cross_gram: Array) -> tuple[Array, Array, float, Array, float]:
    """Return B = G + λI, W with WᵀW = B⁻¹, log det B, φ̂ = B⁻¹m, and ‖WN‖₂ = ‖B^{-1/2}N‖₂ given NNᵀ, or 0 given none."""
    shape = gram.copy()
    add_diagonal(shape, ridge)
    root, log_det = whitening(shape, ridge)
    coupling = math.sqrt(max(largest_eigenvalue(root @ cross_gram @ root.T), 0.0)) if cross_gram.size else 0.0
    return shape, root, log_det, (root @ moment) @ root, coupling


def projected_bounds(coordinates: Array, root: Array, center: Array, beta: float, slack: Array) -> tuple[Array, Array]:
    """Return zᵀφ̂ + β‖Wz‖ + slack and zᵀφ̂ for each row z."""
    estimates = coordinates @ center
    white = coordinates @ root.T
    uppers = row_dots(white, white)
    take_roots(uppers)
    uppers *= beta
    uppers += estimates
    uppers += slack
    return uppers, estimates


def projected_step(
    action: Array,
    reward: float,
    basis: Array,
    directions: Array | None,
    offset: Array | None,
    couples: bool,
    gram: Array,
    moment: Array,
    cross: Array,
    cross_gram: Array,
) -> None:
    """Add a reward in place: with z = Fᵀx and y the rest of x, G += zzᵀ, m += rz, and N += zyᵀ if `couples`."""
    z = action @ basis
    add_outer(gram, z, z)
    axpy(z, moment, a=reward)
    if couples:
        y = remainder(action, z, directions, offset)
        pull = times_plus(cross, y, 1.0, z, 0.5 * dot(y, y))
        add_outer(cross_gram, z, pull)
        add_outer(cross_gram, pull, z)
        add_outer(cross, z, y)


def remainder(action: Array, z: Array, directions: Array | None, offset: Array | None) -> Array:
    """Return y, the part of an action that the coordinates z leave out, or the whole action without directions."""
    if directions is None:
        return action
    dim, rank = directions.shape
    rest = times_plus(directions, z[:rank], -1.0, action[:dim], 1.0)
    return rest if offset is None else rest - offset


def ambient_bounds(actions: Array, squares: Array, center: Array, omega: float) -> tuple[Array, Array]:
    """Return xᵀθ̂ + Ω‖x‖_{Z⁻¹} and xᵀθ̂ for each row x, given the squared norms, whose array is overwritten."""
    estimates = actions.dot(center)
    # In place: with few actions, allocating an array costs more than filling it.
    take_roots(squares)
    squares *= omega
    squares += estimates
    return squares, estimates
