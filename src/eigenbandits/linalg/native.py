"""The numba backend: the functions of `steps`, compiled together with primitives written as loops.

On small problems, with a hundred dimensions and ten actions, most of a round is spent in Python calling NumPy.
Compiling removes that overhead. Only the primitives are written twice: what SciPy's BLAS and LAPACK do for the NumPy
backend is written here as loops that the compiler can inline into the steps.

Compiling takes half a minute, once per machine: the native code is cached next to the package or in the user's cache.
"""

import hashlib
import math
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np

from eigenbandits import extras
from eigenbandits.inputs import Array
from eigenbandits.linalg import steps


@cache
def compiled(names: tuple[str, ...]) -> dict[str, Callable[..., Any]]:
    """Return these functions of `steps` in native code; a function must come before the functions that it calls."""
    extras.need("fast", "numba", what="The backend 'numba'")
    import numba

    # Sums may be reordered, as BLAS does; this is what allows vectorization.
    native = numba.njit(cache=True, fastmath={"reassoc", "contract", "nsz"})
    world = vars(steps) | {plain.__name__: native(plain) for plain in _PRIMITIVES}
    # numba looks up cached code by name, and notices only changes to the function's own file. With this hash in the
    # name, code compiled from other primitives is not mistaken for it.
    sources = b"".join(Path(str(module)).read_bytes() for module in (__file__, steps.__file__))
    mark = hashlib.sha256(sources).hexdigest()[:8]
    for name in reversed(names):
        function = FunctionType(vars(steps)[name].__code__, world, name)
        function.__qualname__ = f"{name}_{mark}"
        world[name] = native(function)
    return {name: world[name] for name in names}


# The functions of `primitives` under the same names; the docstrings there say more.


def dot(x: Array, y: Array) -> float:
    """Return xᵀy."""
    total = 0.0
    for i in range(x.size):
        total += x[i] * y[i]
    return total


def axpy(x: Array, y: Array, a: float) -> Array:
    """Add a x to y in place and return it."""
    for i in range(x.size):
        y[i] += a * x[i]
    return y


def add_outer(matrix: Array, rows: Array, columns: Array, weight: float = 1.0) -> None:
    """Add weight · rows columnsᵀ in place."""
    for i in range(rows.size):
        share = weight * rows[i]
        for j in range(columns.size):
            matrix[i, j] += share * columns[j]


def quadratic(rows: Array, matrix: Array) -> tuple[Array, Array]:
    """Return xᵀMx for each row x, and no products."""
    count, dim = rows.shape
    squares = np.zeros(count)
    # From the lower half alone; two rows of each matrix at a time, which halves the reading of the other matrix.
    for i in range(0, dim, 2):
        n = min(i + 1, dim - 1)
        for k in range(0, count, 2):
            m = min(k + 1, count - 1)
            a = b = c = d = 0.0
            for j in range(i):
                x, y, left, right = rows[k, j], rows[m, j], matrix[i, j], matrix[n, j]
                a += x * left
                b += x * right
                c += y * left
                d += y * right
            squares[k] += rows[k, i] * (matrix[i, i] * rows[k, i] + 2.0 * a)
            if n > i:
                squares[k] += rows[k, n] * (matrix[n, n] * rows[k, n] + 2.0 * (b + matrix[n, i] * rows[k, i]))
            if m > k:
                squares[m] += rows[m, i] * (matrix[i, i] * rows[m, i] + 2.0 * c)
                if n > i:
                    squares[m] += rows[m, n] * (matrix[n, n] * rows[m, n] + 2.0 * (d + matrix[n, i] * rows[m, i]))
    return squares, np.zeros((0, 0))


def add_diagonal(matrix: Array, value: float) -> None:
    """Add a number to the diagonal in place."""
    for i in range(matrix.shape[0]):
        matrix[i, i] += value


def times_plus(matrix: Array, vector: Array, weight: float, other: Array, share: float) -> Array:
    """Return weight · matrix @ vector + share · other."""
    result = np.empty(matrix.shape[0])
    for i in range(matrix.shape[0]):
        total = 0.0
        for j in range(vector.size):
            total += matrix[i, j] * vector[j]
        result[i] = weight * total + share * other[i]
    return result


def project(vectors: Array, columns: Array) -> Array:
    """Return vectors @ columns in float64."""
    few = columns.astype(vectors.dtype)
    return (np.ascontiguousarray(vectors) @ few).astype(np.float64)


def row_dots(first: Array, second: Array) -> Array:
    """Return the product of each row of one matrix with the same row of another."""
    result = np.empty(first.shape[0])
    for i in range(first.shape[0]):
        total = first[i, 0] * second[i, 0]
        for j in range(1, first.shape[1]):
            total += first[i, j] * second[i, j]
        result[i] = total
    return result


def take_roots(squares: Array) -> None:
    """Take the square roots in place."""
    for i in range(squares.size):
        squares[i] = math.sqrt(max(squares[i], 0.0))


def whitening(matrix: Array, floor: float) -> tuple[Array, float]:
    """Return (W, log det A) with WᵀW = A⁻¹."""
    size = matrix.shape[0]
    factor = np.zeros((size, size))
    log_det = 0.0
    for i in range(size):
        for j in range(i + 1):
            left = matrix[i, j]
            for k in range(j):
                left -= factor[i, k] * factor[j, k]
            if i > j:
                factor[i, j] = left / factor[j, j]
            elif left >= (1.0 - 1e-6) * floor:
                factor[i, i] = math.sqrt(left)
                log_det += math.log(left)
            else:
                values, vectors = np.linalg.eigh(matrix)
                values = np.maximum(values, floor)
                return np.ascontiguousarray((vectors / np.sqrt(values)).T), np.log(values).sum()
    root = np.zeros((size, size))
    for j in range(size):
        root[j, j] = 1.0 / factor[j, j]
        for i in range(j + 1, size):
            total = 0.0
            for k in range(j, i):
                total += factor[i, k] * root[k, j]
            root[i, j] = -total / factor[i, i]
    return root, log_det


def largest_eigenvalue(matrix: Array) -> float:
    """Return the largest eigenvalue of a symmetric matrix."""
    largest: float = np.linalg.eigvalsh(matrix)[-1]
    return largest


_PRIMITIVES: tuple[Callable[..., Any], ...] = (
    *(dot, axpy, add_outer, quadratic, add_diagonal, times_plus),
    *(project, row_dots, take_roots, whitening, largest_eigenvalue),
)
