"""Settings that all tests share."""

import scipy.linalg  # noqa: F401 - loaded before the threads of its BLAS are limited
from hypothesis import settings
from threadpoolctl import threadpool_limits

# The same examples on every machine, and no failures because one of them is slow.
settings.register_profile("repeatable", deadline=None, derandomize=True)
settings.load_profile("repeatable")

# Some tests compare to the last bit what a policy, which works in one thread, and the library's parts alone find.
threadpool_limits(1, user_api="blas")
