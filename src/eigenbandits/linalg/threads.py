"""SciPy's BLAS in one thread while a policy works.

The wheels of NumPy and SciPy each bring an OpenBLAS with a pool of threads. After a product, the threads of either pool
keep their cores busy for some milliseconds in case another one follows. When calls of the two alternate, as in every
round here, the threads of one pool wait until the scheduler takes a core from those of the other: milliseconds for
products of microseconds. With one of the pools out of the way nobody waits. NumPy's keeps its threads, since the
largest products, those of decision sets, go through it.

A BLAS that NumPy and SciPy share has one pool, and is left alone.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, wraps
from importlib.util import find_spec
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True)
class Pool:
    """The functions that read and set the number of threads of a BLAS."""

    count: Callable[[], int]
    limit: Callable[[int], Any]


@cache
def scipy_pool() -> Pool | None:
    """Return the pool of an OpenBLAS that is SciPy's alone, or None."""
    module = find_spec("scipy.linalg._fblas")
    try:
        # The names of the OpenBLAS in SciPy's wheels; one that NumPy shares has others. The functions are so short that
        # to hold the lock of the interpreter costs less than to release it.
        library = ctypes.PyDLL(module.origin if module else None)
        return Pool(library.scipy_openblas_get_num_threads, library.scipy_openblas_set_num_threads)
    except (OSError, AttributeError):
        return None


def one_thread(function: Callable[P, R]) -> Callable[P, R]:
    """Run a function with one thread in SciPy's pool, and restore the number afterwards."""

    @wraps(function)
    def limited(*args: P.args, **kwargs: P.kwargs) -> R:
        pool = scipy_pool()
        before = 1 if pool is None else pool.count()
        if pool is None or before == 1:
            return function(*args, **kwargs)
        pool.limit(1)
        try:
            return function(*args, **kwargs)
        finally:
            pool.limit(before)

    return limited
