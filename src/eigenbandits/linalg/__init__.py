"""Symmetric sums and inverses through BLAS, and the steps of a round with a NumPy and a numba backend."""

from eigenbandits.linalg.compression import rounding
from eigenbandits.linalg.dispatch import Kernels, kernels
from eigenbandits.linalg.primitives import (
    NOTHING,
    add_diagonal,
    add_outer,
    axpy,
    dot,
    inverse,
    largest_eigenvalue,
    project,
    quadratic,
    row_dots,
    square_norms,
    take_roots,
    times_plus,
    to_single,
    whitening,
)
from eigenbandits.linalg.symmetric import LARGE, SymmetricSum, block_for, mirror
from eigenbandits.linalg.threads import Pool, one_thread, pools

__all__ = [
    "LARGE",
    "NOTHING",
    "Kernels",
    "Pool",
    "SymmetricSum",
    "add_diagonal",
    "add_outer",
    "axpy",
    "block_for",
    "dot",
    "inverse",
    "kernels",
    "largest_eigenvalue",
    "mirror",
    "one_thread",
    "pools",
    "project",
    "quadratic",
    "rounding",
    "row_dots",
    "square_norms",
    "take_roots",
    "times_plus",
    "to_single",
    "whitening",
]
