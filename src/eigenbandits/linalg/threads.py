"""SciPy's BLAS runs in one thread while a policy works.

The NumPy and SciPy wheels each bundle an OpenBLAS with its own thread pool. After a product, the threads of either pool
spin for several milliseconds in case another product follows. When calls alternate between the two, as they do in every
round here, the threads of one pool wait until the scheduler takes a core from the threads of the other: milliseconds
for products that take microseconds. With one pool out of the way, nothing waits. NumPy's pool keeps its threads, since
the largest products, those of decision sets, go through it.

If NumPy and SciPy share one BLAS, there is only one pool, and it is left alone.
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
    """The functions that read and set the number of threads of a BLAS library."""

    count: Callable[[], int]
    limit: Callable[[int], Any]


@cache
def scipy_pool() -> Pool | None:
    """Return the thread pool of an OpenBLAS that only SciPy uses, or None."""
    module = find_spec("scipy.linalg._fblas")
    try:
        # These names exist only in the OpenBLAS of SciPy's wheels, not in one shared with NumPy. The functions are so
        # short that holding the interpreter lock (PyDLL) costs less than releasing it.
        library = ctypes.PyDLL(module.origin if module else None)
        return Pool(library.scipy_openblas_get_num_threads, library.scipy_openblas_set_num_threads)
    except (OSError, AttributeError):
        return None


def one_thread(function: Callable[P, R]) -> Callable[P, R]:
    """Wrap a function to run with one thread in SciPy's pool; the previous number is restored afterward."""

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
