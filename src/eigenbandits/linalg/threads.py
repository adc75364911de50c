"""One thread in BLAS while a policy works.

A policy's products take microseconds, and a BLAS that shares such a product among threads gains little. It can lose
much: where another program uses a core, every product waits until the scheduler gives that core to its thread. The
wheels of NumPy and SciPy make it worse, since each brings an OpenBLAS with a pool of threads of its own, which keep
their cores busy for some milliseconds after each product, in case another one follows: calls of the two alternate in
every round, and wait for each other. With one thread, results also do not depend on the number of cores.
"""

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, wraps
from importlib.util import find_spec
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

# Modules that are linked to the BLAS of NumPy and to that of SciPy, and the names of an OpenBLAS's functions: in the
# wheels of both, with 64-bit integers in NumPy's, and where the two share one.
_MODULES = ("numpy._core._multiarray_umath", "scipy.linalg._fblas")
_NAMES = ("scipy_openblas_{}_num_threads64_", "scipy_openblas_{}_num_threads", "openblas_{}_num_threads")


@dataclass(frozen=True)
class Pool:
    """The functions that read and set the number of threads of an OpenBLAS."""

    count: Callable[[], int]
    limit: Callable[[int], Any]


@cache
def pools() -> tuple[Pool, ...]:
    """Return the pools of each OpenBLAS that NumPy and SciPy use; another BLAS is left alone."""
    found = []
    for module in _MODULES:
        spec = find_spec(module)
        try:
            # The functions are so short that holding the lock of the interpreter costs less than releasing it.
            library = ctypes.PyDLL(spec.origin if spec else None)
        except OSError:
            continue
        for name in _NAMES:
            if hasattr(library, name.format("get")) and hasattr(library, name.format("set")):
                found.append(Pool(library[name.format("get")], library[name.format("set")]))
                break
    return tuple(found)


def one_thread(function: Callable[P, R]) -> Callable[P, R]:
    """Run a function with one thread in BLAS, and restore the number of threads afterwards."""

    @wraps(function)
    def limited(*args: P.args, **kwargs: P.kwargs) -> R:
        for pool in pools():
            if pool.count() > 1:
                break
        else:
            return function(*args, **kwargs)
        before = [(pool, pool.count()) for pool in pools()]
        try:
            for pool, _ in before:
                pool.limit(1)
            return function(*args, **kwargs)
        finally:
            for pool, threads in before:
                pool.limit(threads)

    return limited
