"""The kernels in use: the steps of a round, in NumPy or compiled by numba."""

from __future__ import annotations

from eigenbandits.linalg import native, steps


class Kernels:
    """The steps of a round as provided by one backend; see `eigenbandits.set_backend`.

    Attributes
    ----------
    backend
        "numpy" or "numba".
    """

    def __init__(self) -> None:
        self.backend = "numpy"
        # Listed so that a function comes before the functions that it calls.
        self.ambient_best = steps.ambient_best
        self.ambient_bounds = steps.ambient_bounds
        self.rivaled = steps.rivaled
        self.ambient_bound = steps.ambient_bound
        self.ambient_step = steps.ambient_step
        self.read = steps.read
        self.fit = steps.fit
        self.projected_bounds = steps.projected_bounds
        self.projected_step = steps.projected_step
        self.remainder = steps.remainder

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the functions."""
        return tuple(name for name in vars(self) if name != "backend")

    def switch(self, backend: str) -> None:
        """Switch to the functions of another backend."""
        functions = native.compiled(self.names) if backend == "numba" else vars(Kernels())
        vars(self).update(functions, backend=backend)


kernels = Kernels()
