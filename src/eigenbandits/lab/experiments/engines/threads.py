"""One BLAS thread for each cell: workers must not fight for cores, and the number of threads changes the last bits."""

from __future__ import annotations

from typing import Any

# Read by the BLAS libraries when they are loaded.
ONE_THREAD = dict.fromkeys(
    ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS", "VECLIB_MAXIMUM_THREADS", "BLIS_NUM_THREADS"), "1"
)


def one_thread() -> Any:
    """Limit BLAS in this process to one thread, until the end or as a context."""
    import numpy.linalg  # the libraries must be loaded to be limited
    import scipy.linalg
    from threadpoolctl import threadpool_limits

    assert numpy.linalg and scipy.linalg
    return threadpool_limits(1)
